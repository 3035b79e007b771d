use gpu_broad_phase::Aabb;

use crate::Rng;

/// Scale and place of a scene.
pub(crate) struct Space {
    pub unit: f64,
    pub cell: f64,
    pub middle: [f64; 3],
    /// Axis on which all objects have the same coordinate.
    pub flat: Option<usize>,
    /// Limit of the half extents of rays, which a few odd rays exceed.
    pub widest: f64,
}

impl Space {
    /// Narrow rays keep crowded scenes within llvmpipe's limit of loop iterations.
    pub fn crowded(unit: f64) -> Self {
        Self {
            unit,
            cell: unit,
            middle: [0.0; 3],
            flat: None,
            widest: 2.0 * unit,
        }
    }
}

pub(crate) fn float(value: f64) -> f32 {
    (value as f32).clamp(f32::MIN, f32::MAX)
}

pub(crate) fn nudged(value: f32, rng: &mut Rng) -> f32 {
    match rng.below(5) {
        0 => value.next_up().min(f32::MAX),
        1 => value.next_down().max(f32::MIN),
        2 if value == 0.0 => -value,
        _ => value,
    }
}

/// Returns the box of two opposite corners. Unlike `f32::min`, it orders zeros alike on all platforms.
pub(crate) fn between(a: [f32; 3], b: [f32; 3]) -> Aabb {
    let sides = [0, 1, 2].map(|axis| match (a[axis], b[axis]) {
        (a, b) if a <= b => [a, b],
        (a, b) => [b, a],
    });
    Aabb::new(sides.map(|side| side[0]), sides.map(|side| side[1]))
}

pub(crate) fn around(centre: [f64; 3], edges: [f64; 3]) -> Aabb {
    let corner = |side: f64| std::array::from_fn(|axis| float(centre[axis] + side * edges[axis]));
    between(corner(-0.5), corner(0.5))
}

pub(crate) const KINDS: [&str; 18] = [
    "lattice",
    "borders of cells",
    "spread",
    "octaves",
    "all floats",
    "crowd with giants",
    "rods",
    "nested",
    "far apart",
    "denormal",
    "equal",
    "points",
    "bits",
    "map",
    "line",
    "powers of two",
    "halves",
    "points of a plane",
];

pub(crate) fn boxes(kind: &str, count: usize, space: &Space, rng: &mut Rng) -> Vec<Aabb> {
    let unit = space.unit;
    let at = |rng: &mut Rng, side: f64| [0; 3].map(|_| rng.between(-side, side));
    let side = unit * (count as f64 + 1.0).cbrt();
    let longest = rng.one_of(&[1usize, 2, 3]);
    let (step, cells) = (unit as f32, 2 + (count as f64).cbrt() as usize);
    let ratio: f64 = rng.one_of(&[2.0, 1.1, 10.0, 1.0 + 1e-7]);
    let rod = rng.one_of(&[0.0, 1e-6, 1e-3, 0.1, 1.0]);
    let long = rng.magnitude(0.0, 8.0);
    let [axis, giants, rarity, octaves] = [rng.below(3), rng.below(4), 20 << rng.below(5), 3 << rng.below(3)];
    let originals: Vec<_> = (0..3)
        .map(|_| around(at(rng, unit), [0; 3].map(|_| unit * rng.between(0.0, 2.0))))
        .collect();
    (0..count)
        .map(|index| match kind {
            "lattice" | "borders of cells" | "halves" => {
                let step = match kind {
                    "lattice" => step,
                    "borders of cells" => space.cell as f32,
                    _ => 0.5 * space.cell as f32,
                };
                let low = [0; 3].map(|_| rng.below(cells) as f32 - (cells / 2) as f32);
                let high = low.map(|low| low + rng.below(longest) as f32);
                let [a, b] = [low, high].map(|corner| corner.map(|cell| nudged(cell * step, rng)));
                between(a, b)
            }
            "octaves" => {
                let length = |rng: &mut Rng| unit * 2f64.powf(rng.between(-15.0, 15.0));
                let (reach, edge, is_cube) = (length(rng), length(rng), rng.once_in(2));
                let edges = [0; 3].map(|_| if is_cube { edge } else { length(rng) });
                around(at(rng, reach), edges)
            }
            "all floats" => {
                let mut length = || rng.one_of(&[0.0, 1.0, 1.0, 1.0]) * rng.magnitude(-45.0, 38.5);
                let (centre, edges) = ([0; 3].map(|_| length()), [0; 3].map(|_| length()));
                around(centre.map(|along| along * rng.sign()), edges)
            }
            "crowd with giants" if index < giants => around(at(rng, unit), [unit * rng.magnitude(1.0, 30.0); 3]),
            "crowd with giants" => around(at(rng, unit), [unit * rng.between(0.0, 0.5); 3]),
            "rods" => {
                // Cells are shaped like the boxes if few have another shape.
                let is_stray = giants > 1 && rng.once_in([100, 4][giants - 2]);
                let along = if is_stray { rng.below(3) } else { axis };
                let mut edges = [unit * rod; 3];
                edges[along] = unit * long * rng.between(0.5, 1.0);
                if octaves == 12 {
                    edges[(along + 1) % 3] = edges[along];
                }
                around(at(rng, side), edges)
            }
            "nested" => {
                let edge = unit * ratio.powi(index as i32 - count as i32 / 2);
                around(at(rng, unit * 1e-3), [edge; 3])
            }
            "far apart" | "islands" => {
                let places = match kind {
                    "islands" => [-150.0 * unit, 0.0, 130.0 * unit, 0.0],
                    _ => [1e30, -1e30, 1e15, unit * 1e6],
                };
                let near = at(rng, 3.0 * unit);
                around(
                    near.map(|near| near + if rng.once_in(2) { 0.0 } else { rng.one_of(&places) }),
                    [unit * rng.between(0.0, 2.0); 3],
                )
            }
            "mixed sizes" => {
                let octave = if rng.once_in(rarity) { 1 + rng.below(octaves) } else { 0 };
                let edges = [0; 3].map(|_| unit * rng.one_of(&[0.0, 0.5, 1.0, 2f64.powi(octave as i32)]));
                let lattice = |along: f64| 0.5 * unit * (along / unit).round();
                around(at(rng, 1.5 * side).map(lattice), edges)
            }
            "denormal" => {
                let mut small = || [0; 3].map(|_| rng.sign() as f32 * f32::from_bits(rng.below(1 << 24) as u32));
                between(small(), small())
            }
            "equal" => rng.one_of(&originals),
            "points" => Aabb::point(at(rng, side).map(float)),
            "bits" => {
                let mut any = || [0; 3].map(|_| f32::from_bits(rng.bits() as u32));
                between(any(), any())
            }
            "map" => {
                let mut centre = at(rng, 50.0 * unit);
                centre[axis] = 0.0;
                let mut edges = [unit * 1e-5; 3];
                edges[axis] = 0.0;
                around(centre, edges)
            }
            "line" => {
                let mut low = [0.0f32; 3];
                low[axis] = index as f32 * step;
                let mut high = [step; 3];
                high[axis] = (index + 1 + rng.below(longest)) as f32 * step;
                between(low.map(|low| nudged(low, rng)), high.map(|high| nudged(high, rng)))
            }
            "powers of two" => {
                let power = |rng: &mut Rng| float(rng.sign() * 2f64.powi(rng.below(60) as i32 - 30) * space.cell);
                let mut corner = || [0; 3].map(|_| nudged(power(rng), rng));
                between(corner(), corner())
            }
            "points of a plane" => {
                let mut place = [0; 3].map(|_| float(unit * rng.below(9) as f64));
                place[axis] = float(unit * long);
                Aabb::point(place)
            }
            _ => around(at(rng, side), [0; 3].map(|_| unit * rng.between(0.5, 1.5))),
        })
        .collect()
}

pub(crate) fn settle(objects: &mut [Aabb], space: &Space) {
    for object in objects {
        if space.middle != [0.0; 3] {
            let moved = |corner: [f32; 3]| [0, 1, 2].map(|axis| float(f64::from(corner[axis]) + space.middle[axis]));
            (object.min, object.max) = (moved(object.min), moved(object.max));
        }
        if let Some(axis) = space.flat {
            object.min[axis] = float(space.middle[axis]);
            object.max[axis] = object.min[axis];
        }
    }
}

pub(crate) fn spoil(object: &mut Aabb, rng: &mut Rng) {
    let axis = rng.below(3);
    match rng.below(11) {
        10 => (object.min[axis], object.max[axis]) = (f32::INFINITY, f32::INFINITY),
        0 => object.min[axis] = f32::NAN,
        1 => object.max[axis] = f32::NAN,
        2 => object.max[axis] = f32::INFINITY,
        3 => object.min[axis] = f32::NEG_INFINITY,
        4 => (object.min, object.max) = (object.max, object.min),
        5 => (object.min[axis], object.max[axis]) = (f32::MIN, f32::MAX),
        6 => (object.min, object.max) = ([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]),
        7 => object.min[axis] = f32::INFINITY,
        8 => (object.min[axis], object.max[axis]) = (-0.0, 0.0),
        _ => (object.min[axis], object.max[axis]) = (-1e-40, 1e-45),
    }
}

pub(crate) fn filter(object: &mut Aabb, rng: &mut Rng) {
    match rng.below(8) {
        0 => *object = object.with_layers(rng.below(16) as u16, rng.below(16) as u16),
        1 | 4 => object.group = 1 + rng.below(2) as u32,
        2 => object.group |= Aabb::STATIC,
        3 if rng.once_in(3) => object.group |= Aabb::EXCLUDED,
        _ => {}
    }
}
