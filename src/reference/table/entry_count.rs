//! Twin of `shaders/table/entry_count.wgsl`.

use crate::api::types::Aabb;
use crate::layout::grid::{Class, ENTRY_GROUPS, NO_LEVEL, Params, Placement, classify, place};

const GROUPS: usize = ENTRY_GROUPS as usize;
/// Of an object of the large list.
const LARGE: [u32; GROUPS] = [1, 0, 0, 0, 0];

/// Cells per axis that a placed object covers.
pub(crate) fn cover(placement: &Placement) -> [u32; 3] {
    std::array::from_fn(|axis| (placement.upper[axis] - placement.lower[axis]) as u32 + 1)
}

/// Uniform scheme: how many cells each object covers; one for the large list, none for what takes no part.
///
/// Returns a word per object for each group of entries, one group behind the other. The scan turns them into the
/// offsets of [`entry_emit`](super::entry_emit::entry_emit). The groups are the home cell, the other cells of its row
/// along x, along y and along z, and the rest.
pub fn entry_count(params: &Params, objects: &[Aabb]) -> Vec<u32> {
    let count = |object: &Aabb| match classify(object) {
        Class::Invalid | Class::Excluded => [0; GROUPS],
        Class::Infinite => LARGE,
        Class::Finite => match place(params, params.cell_inverse, object) {
            placement if placement.level == NO_LEVEL => LARGE,
            placement => {
                let cover @ [x, y, z] = cover(&placement);
                [
                    1,
                    x - 1,
                    y - 1,
                    z - 1,
                    cover.into_iter().product::<u32>() + 2 - (x + y + z),
                ]
            }
        },
    };
    let counts: Vec<_> = params.objects(objects).iter().map(count).collect();
    (0..GROUPS)
        .flat_map(|group| counts.iter().map(move |counts| counts[group]))
        .collect()
}
