use super::plane::is_outside;
use crate::api::frustum::Frustum;
use crate::api::types::Aabb;
use crate::layout::blocks::CullParams;
use crate::layout::grid::{Class, Grid, Params, Record, classify, unordered, worlds_meet};

/// Sets bit `o % 32` of word `v * words + o / 32` for each object `o` that view `v` sees. `views` are the output of
/// [`cull_views`](super::cull_views::cull_views()).
#[allow(clippy::too_many_arguments, reason = "what the pass binds")]
pub fn cull_objects(
    params: &Params,
    cull: &CullParams,
    views: &[Frustum],
    records: &[Record],
    starts: &[u32],
    grid: &Grid,
    objects: &[Aabb],
    visible: &mut [u32],
) {
    let ignored_key = params.ignored_key(grid);
    for (place, record) in (0..params.object_count).zip(records) {
        let object = &objects[record.object as usize];
        let is_in_table = if params.is_uniform() {
            matches!(classify(object), Class::Finite | Class::Infinite)
        } else {
            place < starts[ignored_key as usize]
        };
        if !is_in_table {
            continue;
        }
        let (low, high) = (record.low.map(unordered), record.high.map(unordered));
        for (index, view) in views.iter().enumerate() {
            if sees(view, low, high, record.world) && (cull.filters == 0 || layers_meet(view.layers, object.layers)) {
                visible[index * cull.words as usize + record.object as usize / 32] |= 1 << (record.object % 32);
            }
        }
    }
}

/// Layers are not compared.
pub(crate) fn sees(view: &Frustum, low: [f32; 3], high: [f32; 3], world: u32) -> bool {
    let planes = view.planes.get(..view.plane_count as usize);
    let is_inside = |planes: &[[f32; 4]]| planes.iter().all(|&plane| !is_outside(plane, low, high));
    worlds_meet(view.world, world) && planes.is_some_and(is_inside)
}

pub(crate) fn layers_meet(a: u32, b: u32) -> bool {
    a & 0xffff & (b >> 16) != 0 && b & 0xffff & (a >> 16) != 0
}
