//! Points in periodic cells, and the pairs of them that may be near each other.

use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, OutputOptions, Pair, PairOrder, Scene};
use numpy::ndarray::ArrayView1;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::boxes::{round_down, round_up};
use crate::engine::Finder;

/// Points per parallel task.
const SHARE: usize = 1024;
/// Bound of shifts, so that their sums fit `i32`.
const MOST_CELLS: f64 = (1 << 29) as f64;
/// Tests per point up to which brute force is faster than the CPU engine, measured on 2 cores.
const MOST_TESTS: usize = 800;
/// Low word of a [`Spaces::link`] without an image.
const DIRECT: u32 = 1 << 31;

pub type Vector = [f64; 3];

pub fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Vector, b: Vector) -> Vector {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

/// Avoids squares, which may overflow or become 0.
pub fn length(vector: Vector) -> f64 {
    vector.into_iter().fold(0.0, f64::hypot)
}

fn unit(vector: Vector) -> Vector {
    vector.map(|number| number / length(vector))
}

/// Vectors of a cell, zero on axes without a period.
#[derive(Clone, Copy, Default)]
pub struct Lattice {
    pub vectors: [Vector; 3],
    /// Times a position: its coordinates in cells.
    reciprocal: [Vector; 3],
    /// Cells per distance.
    density: Vector,
}

impl Lattice {
    /// Returns `None` if the vectors are in one plane, or the reciprocal overflows.
    pub fn new(vectors: [Vector; 3]) -> Option<Self> {
        let mut axes = vectors.map(|vector| if length(vector) > 0.0 { unit(vector) } else { vector });
        for axis in 0..3 {
            let [next, last] = [axes[(axis + 1) % 3], axes[(axis + 2) % 3]];
            // Axes without a period are perpendicular to the others.
            if length(axes[axis]) == 0.0 {
                let other = if length(last) > 0.0 { last } else { next };
                let least = (0..3).min_by(|&a, &b| other[a].abs().total_cmp(&other[b].abs()))?;
                let aside = std::array::from_fn(|at| f64::from(u8::from(at == least)));
                axes[axis] = match (length(next) > 0.0, length(last) > 0.0) {
                    (true, true) => unit(cross(next, last)),
                    (false, false) => [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]][axis],
                    _ => unit(cross(other, aside)),
                };
            }
        }
        let volume = dot(axes[0], cross(axes[1], axes[2]));
        let mut reciprocal = [[0.0; 3]; 3];
        for axis in 0..3 {
            let size = length(vectors[axis]);
            if size > 0.0 {
                let normal = cross(axes[(axis + 1) % 3], axes[(axis + 2) % 3]);
                reciprocal[axis] = normal.map(|number| number / volume / size);
            }
        }
        let is_flat = volume.is_nan() || volume.abs() < 1e-13;
        let is_good = !is_flat && reciprocal.iter().flatten().all(|number| number.is_finite());
        let density = reciprocal.map(length);
        is_good.then_some(Self {
            vectors,
            reciprocal,
            density,
        })
    }
}

/// Extent of a world's points, moved into their cells.
#[derive(Clone, Copy)]
pub struct Extent {
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
}

/// A point shifted by cells. The first nonzero shift is positive: opposite images give the same pairs.
pub struct Image {
    owner: u32,
    shift: [i32; 3],
}

/// Points and images of a world.
#[derive(Clone, Default)]
struct Rows {
    points: Vec<u32>,
    images: Vec<u32>,
}

impl Rows {
    fn of_worlds(spaces: &Spaces<'_>, worlds: usize) -> Vec<Self> {
        let mut rows = vec![Self::default(); worlds];
        for row in 0..spaces.points.len() {
            rows[spaces.world(row)].points.push(row as u32);
        }
        for (number, image) in spaces.images.iter().enumerate() {
            rows[spaces.world(image.owner as usize)].images.push(number as u32);
        }
        rows
    }
}

pub struct Spaces<'a> {
    pub points: Vec<Vector>,
    pub worlds: Option<ArrayView1<'a, u32>>,
    /// One per world, or one for all.
    pub lattices: Vec<Lattice>,
    /// Shifts into the cell. Empty without periods.
    pub homes: Vec<[i32; 3]>,
    pub images: Vec<Image>,
}

impl Spaces<'_> {
    fn world(&self, row: usize) -> usize {
        self.worlds.map_or(0, |worlds| worlds[row] as usize)
    }

    fn lattice(&self, row: usize) -> &Lattice {
        &self.lattices[if self.lattices.len() == 1 { 0 } else { self.world(row) }]
    }

    fn home(&self, row: usize) -> [i32; 3] {
        if self.homes.is_empty() { [0; 3] } else { self.homes[row] }
    }

    /// Coordinates in cells, and the largest sum of their terms' magnitudes, which bounds rounding.
    fn scaled(&self, row: usize) -> (Vector, f64) {
        let point = self.points[row];
        let reciprocal = self.lattice(row).reciprocal;
        let size = |axis: Vector| dot(axis.map(f64::abs), point.map(f64::abs));
        let sizes = reciprocal.map(size);
        (
            reciprocal.map(|axis| dot(axis, point)),
            sizes.into_iter().fold(0.0, f64::max),
        )
    }

    /// Position of a shifted point, and sums of its terms' magnitudes.
    fn moved(&self, row: usize, shift: [i32; 3]) -> (Vector, Vector) {
        let point = self.points[row];
        let (mut position, mut size) = (point, point.map(f64::abs));
        if !self.homes.is_empty() {
            for (vector, cells) in self.lattice(row).vectors.iter().zip(shift) {
                for axis in 0..3 {
                    let by = f64::from(cells) * vector[axis];
                    position[axis] += by;
                    size[axis] += by.abs();
                }
            }
        }
        (position, size)
    }

    /// Moves points into their cells. Fails with the first row that is too far away.
    pub fn move_home(&mut self) -> Result<(), usize> {
        let rows = || (0..self.points.len()).into_par_iter();
        let is_far = |cells: &f64| cells.is_nan() || cells.abs() >= MOST_CELLS;
        match rows().find_first(|&row| self.scaled(row).0.iter().any(is_far)) {
            Some(row) => Err(row),
            None => {
                let home = |row| self.scaled(row).0.map(|cells| -cells.floor() as i32);
                self.homes = rows().map(home).collect();
                Ok(())
            }
        }
    }

    pub fn extents(&self) -> Vec<Extent> {
        let worlds = self.worlds.and_then(|worlds| worlds.iter().max().copied());
        let empty = || vec![Extent::EMPTY; worlds.unwrap_or(0) as usize + 1];
        let add = |mut extents: Vec<Extent>, row: usize| {
            let home = self.home(row);
            let (mut scaled, size) = self.scaled(row);
            for axis in 0..3 {
                scaled[axis] += f64::from(home[axis]);
            }
            let (position, _) = self.moved(row, home);
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
    fn shifts(&self, row: usize, extents: &[Extent], radius: f64) -> [[f64; 2]; 3] {
        let extent = &extents[self.world(row)];
        let (scaled, home) = (self.scaled(row).0, self.home(row));
        std::array::from_fn(|axis| {
            let at = scaled[axis] + f64::from(home[axis]);
            let rounding = 1e-9 + 16.0 * f64::EPSILON * extent.size;
            let reach = radius * self.lattice(row).density[axis] * (1.0 + 1e-9) + rounding;
            let [first, last] = [extent.low[axis] - reach - at, extent.high[axis] + reach - at];
            [first.ceil(), last.floor()]
        })
    }

    /// Adds images. Fails with their number if there are too many.
    pub fn add_images(&mut self, extents: &[Extent], radius: f64) -> Result<(), f64> {
        let rows = || (0..self.points.len()).into_par_iter().with_min_len(SHARE);
        let count = |row| -> f64 {
            let shifts = self.shifts(row, extents, radius);
            shifts.map(|[first, last]| last - first + 1.0).into_iter().product()
        };
        let most = rows().map(count).sum::<f64>() / 2.0;
        if most.is_nan() || most >= MOST_CELLS {
            return Err(most);
        }
        let of_row = |row: usize| {
            let [x, y, z] = self
                .shifts(row, extents, radius)
                .map(|range| range.map(|shift| shift as i32));
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

    /// Position from the middle of the world, where single precision is finer, and its rounding error.
    fn place(&self, extents: &[Extent], row: usize, by: [i32; 3]) -> (Vector, Vector) {
        let home = self.home(row);
        let shift = std::array::from_fn(|axis| home[axis] + by[axis]);
        let (position, size) = self.moved(row, shift);
        let extent = &extents[self.world(row)];
        let middle = |axis: usize| extent.min[axis] / 2.0 + extent.max[axis] / 2.0;
        let place = std::array::from_fn(|axis| position[axis] - middle(axis));
        (place, size.map(|size| 16.0 * f64::EPSILON * size))
    }

    /// Finds pairs that may be within the radius: a point, and a point or image.
    pub fn pairs(&self, finder: &mut Finder, extents: &[Extent], radius: f64) -> PyResult<Vec<Pair>> {
        if finder.broad_phase.gpu().is_none() && self.points.len() <= 2 * MOST_TESTS * extents.len() {
            let worlds = Rows::of_worlds(self, extents.len());
            let tests = |rows: &Rows| rows.points.len() * (rows.points.len() / 2 + rows.images.len());
            if worlds.iter().map(tests).sum::<usize>() <= MOST_TESTS * self.points.len() {
                // As after a step.
                finder.has_table = false;
                let find = |rows: &Rows| self.test_all(rows, extents, radius);
                return Ok(worlds.par_iter().flat_map_iter(find).collect());
            }
        }
        let around = |row: usize, by: [i32; 3]| {
            let (place, error) = self.place(extents, row, by);
            let half = |axis: usize| radius / 2.0 + error[axis] + 16.0 * f64::EPSILON * radius;
            Aabb::new(
                std::array::from_fn(|axis| round_down(place[axis] - half(axis))),
                std::array::from_fn(|axis| round_up(place[axis] + half(axis))),
            )
        };
        let points = (0..self.points.len()).into_par_iter().map(|row| around(row, [0; 3]));
        let images = self
            .images
            .par_iter()
            .map(|image| around(image.owner as usize, image.shift).into_static());
        let boxes: Vec<_> = points.chain(images).collect();
        let owners = (0..self.points.len()).chain(self.images.iter().map(|image| image.owner as usize));
        let worlds: Vec<_> = match extents.len() {
            1 => Vec::new(),
            _ => owners.map(|row| self.world(row) as u32).collect(),
        };
        let scene = Scene {
            objects: boxes[..].into(),
            worlds: worlds[..].into(),
            ..Scene::default()
        };
        let descriptor = BroadPhaseDescriptor {
            margin: 0.0,
            worlds: (extents.len() as u32).next_power_of_two(),
            outputs: OutputOptions {
                pair_order: PairOrder::Deterministic,
                ..finder.plain.outputs
            },
            ..finder.plain
        };
        Ok(finder.step_aside(&descriptor, &scene, None)?.pairs)
    }

    fn test_all(&self, rows: &Rows, extents: &[Extent], radius: f64) -> Vec<Pair> {
        const LANES: usize = 8;
        let images = rows.images.iter().map(|&image| &self.images[image as usize]);
        let points = rows.points.iter().map(|&row| (row as usize, [0; 3]));
        let mut places = [const { Vec::new() }; 3];
        let mut error = 0.0f64;
        for (row, by) in points.chain(images.map(|image| (image.owner as usize, image.shift))) {
            let (place, errors) = self.place(extents, row, by);
            for axis in 0..3 {
                places[axis].push(place[axis]);
                error = error.max(errors[axis]);
            }
        }
        let reach = (radius + 4.0 * error) * (1.0 + 64.0 * f64::EPSILON);
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
    pub fn points_of(&self, pair: Pair) -> ([u32; 2], u32) {
        match (pair.b as usize).checked_sub(self.points.len()) {
            None => ([pair.a, pair.b], 0),
            Some(image) => ([pair.a, self.images[image].owner], image as u32 + 1),
        }
    }

    /// Number of a neighbour and its image, which ascends by row, then by shift.
    pub fn link(other: u32, image: u32, is_reversed: bool) -> u64 {
        let low = if is_reversed { DIRECT - image } else { DIRECT + image };
        u64::from(other) << 32 | u64::from(low)
    }

    /// Neighbour, shift and offset.
    #[inline(always)]
    pub fn follow(&self, row: usize, link: u64) -> (u32, [i32; 3], Vector) {
        let (other, low) = ((link >> 32) as u32, link as u32);
        let [from, to] = [row, other as usize].map(|row| self.points[row]);
        let mut offset: Vector = std::array::from_fn(|axis| to[axis] - from[axis]);
        if self.homes.is_empty() {
            return (other, [0; 3], offset);
        }
        let [home, away] = [row, other as usize].map(|row| self.homes[row]);
        let mut shift = std::array::from_fn(|axis| away[axis] - home[axis]);
        if low != DIRECT {
            let by = self.images[low.abs_diff(DIRECT) as usize - 1].shift;
            for axis in 0..3 {
                shift[axis] += if low > DIRECT { by[axis] } else { -by[axis] };
            }
        }
        if shift != [0; 3] {
            let vectors = &self.lattice(row).vectors;
            for axis in 0..3 {
                let by = |of: usize| f64::from(shift[of]) * vectors[of][axis];
                offset[axis] += by(0) + by(1) + by(2);
            }
        }
        (other, shift, offset)
    }
}

pub fn distance(offset: Vector) -> f64 {
    let squared = dot(offset, offset);
    if squared.is_normal() {
        squared.sqrt()
    } else {
        length(offset)
    }
}
