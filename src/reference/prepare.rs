//! Twin of `shaders/prepare.wgsl`.

use crate::grid::{Class, Params, classify, flush, ordered, unordered};
use crate::types::Aabb;

/// `value` moved outward by the margin and by one float more, which outweighs the rounding.
fn grown(value: f32, margin: f32, direction: i32) -> f32 {
    let infinity = ordered(f32::INFINITY);
    let moved = ordered(flush(flush(value) + direction as f32 * margin));
    unordered((moved + direction).clamp(-infinity, infinity))
}

/// Objects as the other passes read them: z put out of play in two dimensions, boxes grown by the margin, objects of a
/// world that does not exist made invalid.
pub fn prepare(params: &Params, given_objects: &[Aabb], worlds: &[u32]) -> Vec<Aabb> {
    let objects = given_objects.iter().take(params.object_count as usize);
    let prepared = |(index, &given): (usize, &Aabb)| {
        let mut object = given;
        let flatten = |object: &mut Aabb| {
            if params.dimensions == 2 {
                (object.min[2], object.max[2]) = (0.0, 0.0);
            }
        };
        flatten(&mut object);
        if params.margin > 0.0 && classify(&object) == Class::Finite {
            object.min = object.min.map(|low| grown(low, params.margin, -1));
            object.max = object.max.map(|high| grown(high, params.margin, 1));
            flatten(&mut object);
        }
        if params.world_of(worlds, index) >= params.world_count {
            object.min[0] = f32::from_bits(0x7fc0_0000);
        }
        object
    };
    objects.enumerate().map(prepared).collect()
}
