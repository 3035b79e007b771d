//! Twin of `shaders/entry_count.wgsl`.

use crate::grid::{Class, Grid, NO_LEVEL, Params, Placement, classify, place};
use crate::types::Aabb;

/// Cells an axis that a placed object covers.
pub(crate) fn cover(placement: &Placement) -> [u32; 3] {
    std::array::from_fn(|axis| (placement.upper[axis] - placement.lower[axis]) as u32 + 1)
}

/// Uniform scheme: how many cells each object covers; one for the large list, none for what takes no part.
///
/// Returns a word an object, which the scan turns into the offsets of [`entry_emit`](super::entry_emit::entry_emit).
pub fn entry_count(params: &Params, objects: &[Aabb], grid: &Grid) -> Vec<u32> {
    let count = |object: &Aabb| match classify(object) {
        Class::Invalid | Class::Excluded => 0,
        Class::Infinite => 1,
        Class::Finite => match place(params, grid, object) {
            placement if placement.level == NO_LEVEL => 1,
            placement => cover(&placement).into_iter().product(),
        },
    };
    params.objects(objects).iter().map(count).collect()
}
