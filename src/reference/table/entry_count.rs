use crate::api::types::Aabb;
use crate::layout::grid::{
    Class, ENTRY_GROUPS, FinestCell, NO_LEVEL, Params, Placement, classify, enters_cells, place,
};

const GROUPS: usize = ENTRY_GROUPS as usize;
const LARGE: [u32; GROUPS] = [1, 0, 0, 0, 0];

pub(crate) fn cover(placement: &Placement) -> [u32; 3] {
    std::array::from_fn(|axis| (placement.upper[axis] - placement.lower[axis]) as u32 + 1)
}

/// Returns the number of entries of each object, `[group][object]`. Groups are the primary cell, the cells next to it
/// along x, y and z, and all others.
pub fn entry_count(params: &Params, objects: &[Aabb], worlds: &[u32]) -> Vec<u32> {
    let count = |(index, object)| match classify(object) {
        Class::Invalid | Class::Excluded => [0; GROUPS],
        class if !enters_cells(class, params.world_of(worlds, index)) => LARGE,
        _ => match place(params, FinestCell::cube(params.cell_inverse), object) {
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
    let counts: Vec<_> = params.objects(objects).iter().enumerate().map(count).collect();
    (0..GROUPS)
        .flat_map(|group| counts.iter().map(move |counts| counts[group]))
        .collect()
}
