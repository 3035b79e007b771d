//! Points in periodic cells, and the pairs of them that may be near each other.

use gpu_broad_phase::{Aabb, Pair};
use rayon::prelude::*;

use crate::lattice::Lattice;
use crate::links::SHARE;
use crate::ruler::Ruler;
use crate::{Vector, dot, round_down, round_up};

/// Bound of the number of images, and of their shifts.
const MOST_IMAGES: f64 = (1 << 26) as f64;
/// Tests per point up to which brute force is faster than the CPU engine, measured on 2 cores.
const MOST_TESTS: usize = 800;
/// Half extent in radii up to which rounding is below a sixteenth of the radius.
const MOST_RADII: f64 = (1 << 19) as f64;
/// Covers the rounding of distances.
const SPARE: f64 = 1.0 / (1 << 20) as f64;
/// Low word of a [`Spaces::link`] without an image.
const DIRECT: u32 = 1 << 31;

/// Extent of a world's points, moved into their cells.
#[derive(Clone, Copy)]
struct Extent {
    /// In cells.
    low: Vector,
    high: Vector,
    min: Vector,
    max: Vector,
    /// As of [`Spaces::scaled`].
    size: f64,
}

impl Extent {
    const EMPTY: Self = Self {
        low: [f64::INFINITY; 3],
        high: [f64::NEG_INFINITY; 3],
        min: [f64::INFINITY; 3],
        max: [f64::NEG_INFINITY; 3],
        size: 0.0,
    };

    fn add(&mut self, other: &Self) {
        for axis in 0..3 {
            self.low[axis] = self.low[axis].min(other.low[axis]);
            self.high[axis] = self.high[axis].max(other.high[axis]);
            self.min[axis] = self.min[axis].min(other.min[axis]);
            self.max[axis] = self.max[axis].max(other.max[axis]);
        }
        self.size = self.size.max(other.size);
    }

    /// The whole extent might overflow.
    fn half(&self, axis: usize) -> f64 {
        (self.max[axis] / 2.0 - self.min[axis] / 2.0).max(0.0)
    }
}

/// Map from positions of a world to places for f32.
struct Frame {
    middle: Vector,
    /// Axes on which f32 is coarse beside the radius.
    rulers: [Option<Ruler>; 3],
    /// Bound of the rounding of places.
    error: Vector,
    /// Makes places and the radius normal numbers in f32.
    scale: f64,
}

impl Frame {
    fn new(extent: &Extent, rulers: [Option<Ruler>; 3], radius: f64) -> Self {
        let half = |axis: usize| {
            rulers[axis]
                .as_ref()
                .map_or(extent.half(axis), |ruler| ruler.extent() / 2.0)
        };
        let halves = [0, 1, 2].map(half);
        let largest = halves.into_iter().fold(radius, f64::max);
        let exponent = if largest > 0.0 { largest.log2().round() } else { 0.0 };
        Self {
            middle: std::array::from_fn(|axis| extent.min[axis] / 2.0 + extent.max[axis] / 2.0),
            error: halves.map(|half| 8.0 * f64::EPSILON * half),
            scale: match exponent.abs() > 60.0 {
                true => (20.0 - exponent).clamp(-1000.0, 1000.0).exp2(),
                false => 1.0,
            },
            rulers,
        }
    }

    fn place(&self, position: Vector) -> Vector {
        std::array::from_fn(|axis| match &self.rulers[axis] {
            Some(ruler) => ruler.place(position[axis]),
            None => position[axis] - self.middle[axis],
        })
    }
}

/// A point shifted by cells. The first nonzero shift is positive: opposite images give the same pairs.
struct Image {
    owner: u32,
    shift: [i32; 3],
}

#[derive(Clone, Default)]
struct Rows {
    points: Vec<u32>,
    images: Vec<u32>,
}

pub enum Refused {
    /// Row of a point too many cells away.
    Far(usize),
    /// Number of images, above 2^29.
    Images(f64),
}

pub struct Boxes {
    /// Points, then images, which are static.
    pub boxes: Vec<Aabb>,
    /// World of each box. Empty with one world.
    pub worlds: Vec<u32>,
    pub world_count: u32,
}

pub struct Spaces<'a> {
    points: &'a [Vector],
    worlds: Option<&'a [u32]>,
    /// One per world, or one for all.
    lattices: &'a [Lattice],
    radius: f64,
    /// Shifts into the cell, whole numbers. Empty without periods.
    homes: Vec<Vector>,
    images: Vec<Image>,
    /// One per world.
    frames: Vec<Frame>,
}

impl<'a> Spaces<'a> {
    /// Points must be finite. Fails for points `most_cells` or more cells away; this must be at most 2^36.
    pub fn new(
        points: &'a [Vector],
        worlds: Option<&'a [u32]>,
        lattices: &'a [Lattice],
        radius: f64,
        most_cells: u64,
    ) -> Result<Self, Refused> {
        let mut spaces = Self {
            points,
            worlds,
            lattices,
            radius,
            homes: Vec::new(),
            images: Vec::new(),
            frames: Vec::new(),
        };
        let is_periodic = lattices.iter().any(|lattice| lattice.vectors != [[0.0; 3]; 3]);
        if is_periodic {
            spaces.move_home(most_cells as f64)?;
        }
        let extents = spaces.extents();
        if is_periodic {
            spaces.add_images(&extents)?;
        }
        spaces.add_frames(&extents);
        Ok(spaces)
    }

    pub fn rows(&self) -> usize {
        self.points.len()
    }

    pub fn is_periodic(&self) -> bool {
        !self.homes.is_empty()
    }

    fn world(&self, row: usize) -> usize {
        self.worlds.map_or(0, |worlds| worlds[row] as usize)
    }

    fn lattice(&self, row: usize) -> &Lattice {
        &self.lattices[if self.lattices.len() == 1 { 0 } else { self.world(row) }]
    }

    fn home(&self, row: usize) -> Vector {
        if self.homes.is_empty() {
            [0.0; 3]
        } else {
            self.homes[row]
        }
    }

    /// Coordinates in cells, and the largest sum of their terms' magnitudes, which bounds rounding.
    #[inline(always)]
    fn scaled(&self, row: usize) -> (Vector, f64) {
        let (point, lattice) = (self.points[row], self.lattice(row));
        let size = |axis: Vector| dot(axis.map(f64::abs), point.map(f64::abs));
        let sizes = lattice.reciprocal.map(size);
        (lattice.scaled(point), sizes.into_iter().fold(0.0, f64::max))
    }

    /// Position of a point or image, and the bound of its rounding.
    #[inline(always)]
    fn moved(&self, row: usize, by: [i32; 3]) -> (Vector, Vector) {
        let point = self.points[row];
        let (mut position, mut size) = (point, [0.0; 3]);
        if !self.homes.is_empty() {
            let home = self.homes[row];
            for (of, vector) in self.lattice(row).vectors.iter().enumerate() {
                let cells = home[of] + f64::from(by[of]);
                for axis in 0..3 {
                    let step = cells * vector[axis];
                    position[axis] += step;
                    size[axis] += step.abs();
                }
            }
        }
        let error = std::array::from_fn(|axis| match size[axis] > 0.0 {
            true => 16.0 * f64::EPSILON * (size[axis] + point[axis].abs()),
            false => 0.0,
        });
        (position, error)
    }

    fn move_home(&mut self, most_cells: f64) -> Result<(), Refused> {
        let rows = || (0..self.points.len()).into_par_iter();
        let is_far = |cells: &f64| cells.is_nan() || cells.abs() >= most_cells;
        match rows().find_first(|&row| self.scaled(row).0.iter().any(is_far)) {
            Some(row) => Err(Refused::Far(row)),
            None => {
                let home = |row| self.scaled(row).0.map(|cells| 0.0 - cells.floor());
                self.homes = rows().map(home).collect();
                Ok(())
            }
        }
    }

    fn extents(&self) -> Vec<Extent> {
        let worlds = self.worlds.and_then(|worlds| worlds.iter().max().copied());
        let empty = || vec![Extent::EMPTY; worlds.unwrap_or(0) as usize + 1];
        let add = |mut extents: Vec<Extent>, row: usize| {
            let home = self.home(row);
            let (mut scaled, size) = self.scaled(row);
            for axis in 0..3 {
                scaled[axis] += home[axis];
            }
            let (position, _) = self.moved(row, [0; 3]);
            extents[self.world(row)].add(&Extent {
                low: scaled,
                high: scaled,
                min: position,
                max: position,
                size,
            });
            extents
        };
        let merge = |mut extents: Vec<Extent>, others: Vec<Extent>| {
            for (extent, other) in extents.iter_mut().zip(&others) {
                extent.add(other);
            }
            extents
        };
        let rows = (0..self.points.len()).into_par_iter().with_min_len(1 << 16);
        rows.fold(empty, add).reduce(empty, merge)
    }

    /// First and last shifts of images that may be within the radius of a point.
    fn shifts(&self, row: usize, extents: &[Extent]) -> [[f64; 2]; 3] {
        let extent = &extents[self.world(row)];
        let (scaled, home) = (self.scaled(row).0, self.home(row));
        std::array::from_fn(|axis| {
            let at = scaled[axis] + home[axis];
            let rounding = 1e-9 + 16.0 * f64::EPSILON * extent.size;
            let reach = self.radius * self.lattice(row).density[axis] * (1.0 + 1e-9) + rounding;
            let [first, last] = [extent.low[axis] - reach - at, extent.high[axis] + reach - at];
            [first.ceil(), last.floor()]
        })
    }

    fn add_images(&mut self, extents: &[Extent]) -> Result<(), Refused> {
        let rows = || (0..self.points.len()).into_par_iter().with_min_len(SHARE);
        let count = |row| -> f64 {
            let shifts = self.shifts(row, extents);
            shifts.map(|[first, last]| last - first + 1.0).into_iter().product()
        };
        let most = rows().map(count).sum::<f64>() / 2.0;
        if most.is_nan() || most >= MOST_IMAGES {
            return Err(Refused::Images(most));
        }
        let of_row = |row: usize| {
            let [x, y, z] = self.shifts(row, extents).map(|range| range.map(|shift| shift as i32));
            let from = move |range: [i32; 2], is_positive: bool, least: i32| {
                (if is_positive { range[0] } else { range[0].max(least) })..=range[1]
            };
            from(x, false, 0).flat_map(move |x| {
                from(y, x > 0, 0).flat_map(move |y| {
                    from(z, x > 0 || y > 0, 1).map(move |z| Image {
                        owner: row as u32,
                        shift: [x, y, z],
                    })
                })
            })
        };
        self.images = rows().flat_map_iter(of_row).collect();
        Ok(())
    }

    fn add_frames(&mut self, extents: &[Extent]) {
        let is_coarse = |extent: &Extent| [0, 1, 2].map(|axis| extent.half(axis) > MOST_RADII * self.radius);
        let plain = |extent: &Extent| Frame::new(extent, [None, None, None], self.radius);
        self.frames = match extents.iter().flat_map(is_coarse).any(|is_coarse| is_coarse) {
            false => extents.iter().map(plain).collect(),
            true => {
                let frame = |(extent, rows): (&Extent, Rows)| {
                    let is_coarse = is_coarse(extent);
                    let ruler = |axis: usize| is_coarse[axis].then(|| Ruler::new(self.ends(&rows, axis), self.radius));
                    let rulers = [0, 1, 2].map(ruler);
                    Frame::new(extent, rulers, self.radius)
                };
                let rows = self.rows_of_worlds(extents.len());
                extents.par_iter().zip(rows).map(frame).collect()
            }
        };
    }

    /// Points and images on an axis, grown by half the radius.
    fn ends(&self, rows: &Rows, axis: usize) -> Vec<[f64; 2]> {
        let end = |row: usize, by: [i32; 3]| {
            let (position, error) = self.moved(row, by);
            let half = self.half_radius() + error[axis];
            [position[axis] - half, position[axis] + half]
        };
        let points = rows.points.par_iter().map(|&row| end(row as usize, [0; 3]));
        let image = |&image: &u32| {
            let image = &self.images[image as usize];
            end(image.owner as usize, image.shift)
        };
        points.chain(rows.images.par_iter().map(image)).collect()
    }

    fn half_radius(&self) -> f64 {
        self.radius * (0.5 + SPARE)
    }

    fn rows_of_worlds(&self, worlds: usize) -> Vec<Rows> {
        let mut rows = vec![Rows::default(); worlds];
        for row in 0..self.points.len() {
            rows[self.world(row)].points.push(row as u32);
        }
        for (number, image) in self.images.iter().enumerate() {
            rows[self.world(image.owner as usize)].images.push(number as u32);
        }
        rows
    }

    /// Place of a point or image, and the bound of its rounding.
    #[inline(always)]
    fn place(&self, row: usize, by: [i32; 3]) -> (Vector, Vector) {
        let (position, error) = self.moved(row, by);
        let frame = &self.frames[self.world(row)];
        let errors = std::array::from_fn(|axis| error[axis] + frame.error[axis]);
        (frame.place(position), errors)
    }

    /// Boxes whose pairs include all points, and points and images, within the radius.
    pub fn boxes(&self) -> Boxes {
        let around = |row: usize, by: [i32; 3]| {
            let (place, error) = self.place(row, by);
            let scale = self.frames[self.world(row)].scale;
            let half = |axis: usize| self.half_radius() + error[axis];
            Aabb::new(
                std::array::from_fn(|axis| round_down((place[axis] - half(axis)) * scale)),
                std::array::from_fn(|axis| round_up((place[axis] + half(axis)) * scale)),
            )
        };
        let points = (0..self.points.len()).into_par_iter().map(|row| around(row, [0; 3]));
        let images = self
            .images
            .par_iter()
            .map(|image| around(image.owner as usize, image.shift).into_static());
        let owners = (0..self.points.len()).chain(self.images.iter().map(|image| image.owner as usize));
        Boxes {
            boxes: points.chain(images).collect(),
            worlds: match self.frames.len() {
                1 => Vec::new(),
                _ => owners.map(|row| self.world(row) as u32).collect(),
            },
            world_count: self.frames.len() as u32,
        }
    }

    /// True for radii so far above the periods that most pairs with images are near, and all boxes of images overlap.
    pub fn has_mostly_images(&self) -> bool {
        self.images.len() > 8 * self.points.len()
    }

    /// Such pairs by brute force. `None` if the CPU engine is faster.
    pub fn tested_pairs(&self) -> Option<Vec<Pair>> {
        let is_small = self.points.len() <= 2 * MOST_TESTS * self.frames.len();
        if !is_small && !self.has_mostly_images() {
            return None;
        }
        let worlds = self.rows_of_worlds(self.frames.len());
        let tests = |rows: &Rows| rows.points.len() * (rows.points.len() / 2 + rows.images.len());
        let is_fast = worlds.iter().map(tests).sum::<usize>() <= MOST_TESTS * self.points.len();
        let is_fast = is_fast || self.has_mostly_images();
        is_fast.then(|| worlds.par_iter().flat_map_iter(|rows| self.test_all(rows)).collect())
    }

    fn test_all(&self, rows: &Rows) -> Vec<Pair> {
        const LANES: usize = 8;
        let images = rows.images.iter().map(|&image| &self.images[image as usize]);
        let points = rows.points.iter().map(|&row| (row as usize, [0; 3]));
        let mut places = [const { Vec::new() }; 3];
        let mut error = 0.0f64;
        for (row, by) in points.chain(images.map(|image| (image.owner as usize, image.shift))) {
            let (place, errors) = self.place(row, by);
            for axis in 0..3 {
                places[axis].push(place[axis]);
                error = error.max(errors[axis]);
            }
        }
        let reach = (self.radius + 4.0 * error) * (1.0 + 64.0 * f64::EPSILON);
        let limit = reach * reach;
        let all = rows
            .points
            .iter()
            .copied()
            .chain(rows.images.iter().map(|image| self.points.len() as u32 + image));
        let all: Vec<_> = all.collect();
        for axis in &mut places {
            axis.resize(all.len().next_multiple_of(LANES), f64::NAN);
        }
        let [x, y, z] = &places;
        let add = |mut pairs: Vec<Pair>, place: usize| {
            let a = rows.points[place];
            let first = (place + 1) / LANES * LANES;
            let own = [x[place], y[place], z[place]];
            let blocks = x[first..]
                .chunks_exact(LANES)
                .zip(y[first..].chunks_exact(LANES))
                .zip(z[first..].chunks_exact(LANES));
            for (block, ((x, y), z)) in blocks.enumerate() {
                let mut squares = [0.0; LANES];
                for lane in 0..LANES {
                    let [x, y, z] = [x[lane] - own[0], y[lane] - own[1], z[lane] - own[2]];
                    squares[lane] = x * x + y * y + z * z;
                }
                let mut near = 0;
                for (lane, &square) in squares.iter().enumerate() {
                    near |= u32::from(square <= limit) << lane;
                }
                while near != 0 {
                    let other = first + block * LANES + near.trailing_zeros() as usize;
                    near &= near - 1;
                    if other > place {
                        pairs.push(Pair { a, b: all[other] });
                    }
                }
            }
            pairs
        };
        let every = (0..rows.points.len()).into_par_iter().with_min_len(64);
        every.fold(Vec::new, add).reduce(Vec::new, |mut pairs, others| {
            pairs.extend(others);
            pairs
        })
    }

    /// Points of a pair, and number of the second one's image, or 0.
    pub(crate) fn points_of(&self, pair: Pair) -> ([u32; 2], u32) {
        match (pair.b as usize).checked_sub(self.points.len()) {
            None => ([pair.a, pair.b], 0),
            Some(image) => ([pair.a, self.images[image].owner], image as u32 + 1),
        }
    }

    /// Number of a neighbour and its image, which ascends by row, then by shift.
    pub(crate) fn link(other: u32, image: u32, is_reversed: bool) -> u64 {
        let low = if is_reversed { DIRECT - image } else { DIRECT + image };
        u64::from(other) << 32 | u64::from(low)
    }

    /// Neighbour, shift in whole cells, and offset.
    #[inline(always)]
    pub fn follow(&self, row: usize, link: u64) -> (u32, Vector, Vector) {
        let (other, low) = ((link >> 32) as u32, link as u32);
        let [from, to] = [row, other as usize].map(|row| self.points[row]);
        let mut offset: Vector = std::array::from_fn(|axis| to[axis] - from[axis]);
        if self.homes.is_empty() {
            return (other, [0.0; 3], offset);
        }
        let [home, away] = [row, other as usize].map(|row| self.homes[row]);
        let mut shift: Vector = std::array::from_fn(|axis| away[axis] - home[axis]);
        if low != DIRECT {
            let by = self.images[low.abs_diff(DIRECT) as usize - 1].shift;
            for axis in 0..3 {
                shift[axis] += f64::from(if low > DIRECT { by[axis] } else { -by[axis] });
            }
        }
        if shift != [0.0; 3] {
            let vectors = &self.lattice(row).vectors;
            for axis in 0..3 {
                let by = |of: usize| shift[of] * vectors[of][axis];
                offset[axis] += by(0) + by(1) + by(2);
            }
        }
        (other, shift, offset)
    }
}
