//! A knotted tube over a floor, and a camera.

use std::f32::consts::TAU;

pub type Point = [f32; 3];

/// Number of triangles of the floor, which come first.
pub const FLOOR: usize = 2;
const RINGS: usize = 800;
const SIDES: usize = 64;

pub const EYE: Point = [4.0, -7.5, 5.5];
/// Direction towards the light.
pub const LIGHT: Point = [0.36, -0.48, 0.8];

pub fn sum(a: Point, b: Point) -> Point {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

pub fn scaled(a: Point, by: f32) -> Point {
    a.map(|x| x * by)
}

pub fn difference(a: Point, b: Point) -> Point {
    sum(a, scaled(b, -1.0))
}

pub fn dot(a: Point, b: Point) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub fn cross(a: Point, b: Point) -> Point {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

pub fn unit(a: Point) -> Point {
    scaled(a, 1.0 / dot(a, a).sqrt())
}

/// The middle of the tube: a trefoil knot.
fn middle(turn: f32) -> Point {
    let (knot, way) = (TAU * turn * 2.0, TAU * turn * 3.0);
    let radius = 2.0 + 0.9 * way.cos();
    [radius * knot.cos(), radius * knot.sin(), 1.9 + 0.9 * way.sin()]
}

pub fn triangles() -> Vec<[Point; 3]> {
    let ring = |ring: usize| {
        let turn = ring as f32 / RINGS as f32;
        let along = unit(difference(middle(turn + 1e-3), middle(turn - 1e-3)));
        let across = unit(cross(along, [0.3, 0.2, 1.0]));
        let up = cross(along, across);
        let corner = |side: usize| {
            let angle = TAU * side as f32 / SIDES as f32;
            let bumps = (6.0 * angle + TAU * 40.0 * turn).sin();
            let radius = 0.45 + 0.04 * bumps;
            let out = sum(scaled(across, angle.cos()), scaled(up, angle.sin()));
            sum(middle(turn), scaled(out, radius))
        };
        (0..SIDES).map(corner).collect::<Vec<_>>()
    };
    let rings: Vec<_> = (0..RINGS).map(ring).collect();
    let floor = [[-9.0, -9.0, 0.0], [9.0, -9.0, 0.0], [9.0, 9.0, 0.0], [-9.0, 9.0, 0.0]];
    let mut all = vec![[floor[0], floor[1], floor[2]], [floor[0], floor[2], floor[3]]];
    for (index, ring) in rings.iter().enumerate() {
        let next = &rings[(index + 1) % RINGS];
        for side in 0..SIDES {
            let after = (side + 1) % SIDES;
            all.push([ring[side], next[side], next[after]]);
            all.push([ring[side], next[after], ring[after]]);
        }
    }
    all
}

/// Lower and upper corner of a triangle's box.
pub fn bounds([a, b, c]: &[Point; 3]) -> [Point; 2] {
    let of = |pick: fn(f32, f32) -> f32| [0, 1, 2].map(|axis| pick(pick(a[axis], b[axis]), c[axis]));
    [of(f32::min), of(f32::max)]
}

/// Origin of the shadow ray of a hit: a little off the surface.
pub fn shadow_origin(origin: Point, direction: Point, t: f32) -> Point {
    sum(sum(origin, scaled(direction, t)), scaled(LIGHT, 0.002))
}

/// Direction of the ray through a pixel of a square picture.
pub fn view([column, row]: [usize; 2], pixels: usize) -> Point {
    let ahead = unit(difference([0.0, 0.0, 1.4], EYE));
    let right = unit(cross(ahead, [0.0, 0.0, 1.0]));
    let up = cross(right, ahead);
    let place = |pixel: usize| ((pixel as f32 + 0.5) / pixels as f32 - 0.5) * 0.9;
    unit(sum(ahead, sum(scaled(right, place(column)), scaled(up, -place(row)))))
}

/// Points near the mesh.
pub fn cloud(mesh: &[[Point; 3]], count: usize) -> Vec<Point> {
    // Pseudorandom numbers after Lehmer (1949), modulo 2^31 - 1.
    let mut state = 1u64;
    let mut random = || {
        state = state * 48_271 % ((1 << 31) - 1);
        state as f32 / (1u64 << 31) as f32
    };
    let point = |_| {
        let corner = mesh[(random() * mesh.len() as f32) as usize][0];
        corner.map(|x| x + 0.4 * random() - 0.2)
    };
    (0..count).map(point).collect()
}

/// Ray parameter at which a ray meets a triangle; `t_max` without a hit. The test of Möller and Trumbore, "Fast, Minimum
/// Storage Ray/Triangle Intersection" (1997).
pub fn hit_triangle([a, b, c]: &[Point; 3], origin: Point, direction: Point, t_max: f32) -> f32 {
    let [ab, ac] = [difference(*b, *a), difference(*c, *a)];
    let p = cross(direction, ac);
    let inverse = 1.0 / dot(ab, p);
    let from_a = difference(origin, *a);
    let u = dot(from_a, p) * inverse;
    let q = cross(from_a, ab);
    let v = dot(direction, q) * inverse;
    let t = dot(ac, q) * inverse;
    if u >= 0.0 && v >= 0.0 && u + v <= 1.0 && t >= 0.0 {
        t
    } else {
        t_max
    }
}

/// Distance from a point to a triangle, after Ericson, "Real-Time Collision Detection" (2005), 5.1.5.
pub fn triangle_distance([a, b, c]: &[Point; 3], point: Point) -> f32 {
    let [ab, ac, bc] = [difference(*b, *a), difference(*c, *a), difference(*c, *b)];
    let [from_a, from_b, from_c] = [a, b, c].map(|corner| difference(point, *corner));
    let to_edge = |from: Point, edge: Point| {
        let share = (dot(from, edge) / dot(edge, edge)).clamp(0.0, 1.0);
        let apart = difference(from, scaled(edge, share));
        dot(apart, apart)
    };
    let normal = cross(ab, ac);
    let edges = [[ab, from_a], [bc, from_b], [scaled(ac, -1.0), from_c]];
    if edges.iter().all(|&[edge, from]| dot(cross(edge, from), normal) >= 0.0) {
        return dot(from_a, normal).abs() / dot(normal, normal).sqrt();
    }
    to_edge(from_a, ab)
        .min(to_edge(from_a, ac))
        .min(to_edge(from_b, bc))
        .sqrt()
}
