use glam::camera::rh::proj::directx as projection;
use gpu_broad_phase::{Aabb, Frustum};

use super::Rng;

/// View-projection matrix. The far plane may be infinite, and depth may be reversed.
pub fn camera(eye: [f32; 3], far: f32, rng: &mut Rng) -> [[f32; 4]; 4] {
    let direction = [0; 3].map(|_| rng.unit() - 0.5);
    let view = glam::camera::rh::view::look_to_mat4(
        eye.into(),
        glam::Vec3::from(direction).normalize_or(glam::Vec3::X),
        glam::Vec3::new(0.1, 1.0, 0.2),
    );
    let (angle, near) = (0.3 + rng.unit(), 0.01 * far);
    let projection = match rng.below(4) {
        0 => projection::perspective(angle, 1.5, near, far),
        1 => projection::perspective(angle, 1.5, far, near),
        2 => projection::perspective_infinite(angle, 1.5, near),
        _ => projection::perspective_infinite_reverse(angle, 1.5, near),
    };
    (projection * view).to_cols_array_2d()
}

/// Some are beside the corners by one float.
fn planes(objects: &[Aabb], rng: &mut Rng) -> [[f32; 4]; 8] {
    let scale = rng.one_of(&[1.0, 1.0, 0.3, 1e-20, 1e18, 1e30, 1e-38]);
    let is_lattice = rng.once_in(2);
    let unit = Aabb::new([0.0; 3], [1.0; 3]);
    [0; 8].map(|_| {
        let object = if objects.is_empty() { unit } else { rng.one_of(objects) };
        let mut normal = [0; 3].map(|_| match is_lattice {
            true => scale * rng.one_of(&[-1.0, 0.0, 1.0]),
            false => scale * (rng.unit() - 0.5),
        });
        if rng.once_in(3) {
            normal[rng.below(3)] = rng.one_of(&[0.0, -0.0, 1e-42, -1e-42]);
        }
        let corner = rng.one_of(&[object.min, object.max]);
        let finite = |value: f32| if value.is_finite() { value } else { 0.0 };
        let d = -finite((0..3).map(|axis| normal[axis] * finite(corner[axis])).sum());
        let d = match rng.below(4) {
            0 => d.next_up(),
            1 => d.next_down(),
            2 => d + scale * rng.unit(),
            _ => d,
        };
        [normal[0], normal[1], normal[2], finite(d)]
    })
}

pub fn views(objects: &[Aabb], worlds: u32, count: usize, rng: &mut Rng) -> Vec<Frustum> {
    let view = |_| {
        let mut view = match rng.below(6) {
            0 => Frustum::default(),
            1 | 2 => {
                let object = objects.get(rng.below(objects.len()));
                let at = object.map_or([0.0; 3], |object| object.min);
                let eye = at.map(|at| if at.abs() < 1e9 { at } else { 0.0 });
                Frustum::from_view_projection(camera(eye, [3.0, 50.0, 1e4][rng.below(3)], rng))
            }
            _ => Frustum {
                plane_count: rng.below(9) as u32,
                ..Frustum::new(planes(objects, rng))
            },
        };
        match rng.below(20) {
            0 => view.planes[rng.below(8)][rng.below(4)] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY][rng.below(3)],
            1 => view.plane_count = [9, 33, u32::MAX][rng.below(3)],
            2 => view.world = [worlds, u32::MAX][rng.below(2)],
            3 => view.layers = [0x0001_0003, 0, 0x0002_0002][rng.below(3)],
            _ => {}
        }
        if view.world == 0 {
            view.world = rng.below(worlds as usize) as u32;
        }
        view.reserved = rng.bits() as u32;
        view
    };
    (0..count).map(view).collect()
}
