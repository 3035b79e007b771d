//! Long thin boxes and plates, in a cube of side [`SIDE`] whatever their number.

use super::Random;

/// In thicknesses, the side is that of a hall with pipes of four centimetres.
pub const SIDE: f64 = 100.0;
const THICKNESS: f64 = 0.04;

/// Rods through the whole cube, each along one of the first `directions` axes.
pub fn rods(count: u32, axes: usize, directions: usize, random: &mut Random) -> Vec<f32> {
    let mut index = 0;
    centred(count, axes, random, |edges, _| {
        *edges = [THICKNESS; 3];
        edges[index % directions.min(axes)] = SIDE;
        index += 1;
    })
}

/// Rods along x, of lengths from 1 to [`SIDE`] by a Pareto law of shape 1.5.
pub fn pareto(count: u32, axes: usize, random: &mut Random) -> Vec<f32> {
    centred(count, axes, random, |edges, random| {
        let length = 1.0 / (1.0 - random.unit()).powi(2).cbrt();
        *edges = [length.min(SIDE), THICKNESS, THICKNESS];
    })
}

/// Equal plates, thin along the last axis.
pub fn plates(count: u32, axes: usize, random: &mut Random) -> Vec<f32> {
    centred(count, axes, random, |edges, _| {
        *edges = [4.0; 3];
        edges[axes - 1] = 0.004;
    })
}

/// Cubes of edge 1, and as many rods of length 40 on random axes.
pub fn cubes_and_rods(count: u32, axes: usize, random: &mut Random) -> Vec<f32> {
    let mut index = 0;
    centred(count, axes, random, |edges, random| {
        *edges = [1.0; 3];
        if index % 2 > 0 {
            *edges = [THICKNESS; 3];
            edges[random.below(axes as u32) as usize] = 40.0;
        }
        index += 1;
    })
}

const TRACKS: u32 = 2000;

/// Bars of a schedule: lengths uniform in 1 to 1,000, height 1, on 2,000 tracks. Bars of neighbouring tracks touch.
pub fn bars(count: u32, axes: usize, random: &mut Random) -> Vec<f32> {
    let end = 0.5 * f64::from(count);
    super::boxes::rows(count, axes, |centre, edges| {
        *edges = [random.between(1.0, 1000.0), 1.0, 1.0];
        centre[0] = random.between(0.0, end);
        centre[1] = f64::from(random.below(TRACKS)) + 0.5;
    })
}

/// Boxes of straight hairs of random directions, a hundred times longer than thick.
pub fn hair(count: u32, axes: usize, random: &mut Random) -> Vec<f32> {
    centred(count, axes, random, |edges, random| {
        let direction = random.direction(axes);
        *edges = direction.map(|along| 100.0 * THICKNESS * along.abs() + THICKNESS);
    })
}

const FACETS: u32 = 12;
/// Sines of multiples of 30 degrees, the same on every machine.
const CIRCLE: [f64; 16] = {
    let high = 0.866_025_403_784_438_6;
    [
        0.0, 0.5, high, 1.0, high, 0.5, 0.0, -0.5, -high, -1.0, -high, -0.5, 0.0, 0.5, high, 1.0,
    ]
};
/// Of the boxes of one pipe, two per facet.
const PER_PIPE: u32 = 2 * FACETS;

/// Boxes of the triangles of pipes: 24 long ones each, along random axes; one pipe in four has a random direction.
pub fn triangles(count: u32, axes: usize, random: &mut Random) -> Vec<f32> {
    let mut pipe = Pipe::new(random, axes);
    let mut index = 0;
    super::boxes::rows(count, axes, |centre, edges| {
        if index > 0 && index % PER_PIPE == 0 {
            pipe = Pipe::new(random, axes);
        }
        let corners = pipe.triangle(index % PER_PIPE);
        for axis in 0..axes {
            let along = corners.map(|corner| corner[axis]);
            let [low, high] = [
                along.into_iter().fold(f64::MAX, f64::min),
                along.into_iter().fold(f64::MIN, f64::max),
            ];
            (centre[axis], edges[axis]) = (0.5 * (low + high), high - low);
        }
        index += 1;
    })
}

struct Pipe {
    begin: [f64; 3],
    /// From end to end, then two radii across.
    along: [f64; 3],
    across: [[f64; 3]; 2],
}

impl Pipe {
    fn new(random: &mut Random, axes: usize) -> Self {
        let radius = random.between(0.02, 0.2);
        let mut direction = random.direction(axes);
        if random.below(4) > 0 {
            direction = [0.0; 3];
            direction[random.below(axes as u32) as usize] = 1.0;
        }
        let [x, y, z] = direction;
        // The axis that is least along the pipe gives one across it.
        let other = if x.abs() < 0.6 {
            [1.0, 0.0, 0.0]
        } else {
            [0.0, 1.0, 0.0]
        };
        let first = unit(cross([x, y, z], other));
        let second = cross(direction, first);
        let length = random.between(2.0, 20.0);
        Self {
            begin: [(); 3].map(|()| random.between(0.0, SIDE)),
            along: direction.map(|component| length * component),
            across: [first, second].map(|axis| axis.map(|component| radius * component)),
        }
    }

    fn triangle(&self, index: u32) -> [[f64; 3]; 3] {
        let facet = index / 2;
        let corner = |facet: u32, end: f64| {
            let (cosine, sine) = (CIRCLE[facet as usize + 3], CIRCLE[facet as usize]);
            let [first, second] = self.across;
            [0, 1, 2].map(|axis| self.begin[axis] + end * self.along[axis] + cosine * first[axis] + sine * second[axis])
        };
        let end = f64::from(index % 2);
        [
            corner(facet, 0.0),
            corner(facet + 1, 1.0),
            corner(facet + index % 2, 1.0 - end),
        ]
    }
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn unit(vector: [f64; 3]) -> [f64; 3] {
    let squared: f64 = vector.iter().map(|component| component * component).sum();
    vector.map(|component| component / squared.sqrt())
}

/// Boxes of any edges with uniform centres.
fn centred(
    count: u32,
    axes: usize,
    random: &mut Random,
    mut edges_of: impl FnMut(&mut [f64; 3], &mut Random),
) -> Vec<f32> {
    super::boxes::rows(count, axes, |centre, edges| {
        *centre = [(); 3].map(|()| random.between(0.0, SIDE));
        edges_of(edges, random);
    })
}
