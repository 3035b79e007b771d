//! Twin of `shaders/prepare.wgsl`.

use crate::grid::{Class, Params, classify, grown, unordered};
use crate::types::Aabb;

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
            object.min = object.min.map(|low| unordered(grown(low, params.margin, -1)));
            object.max = object.max.map(|high| unordered(grown(high, params.margin, 1)));
            flatten(&mut object);
        }
        if params.world_of(worlds, index) >= params.world_count {
            object.min[0] = f32::from_bits(0x7fc0_0000);
        }
        object
    };
    objects.enumerate().map(prepared).collect()
}
