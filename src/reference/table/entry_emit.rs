use super::entry_count::cover;
use crate::api::counters::word;
use crate::api::types::Aabb;
use crate::layout::blocks::{saturate64, wide};
use crate::layout::grid::{
    Class, ENTRY_GROUPS, FinestCell, Grid, NO_LEVEL, PRIMARY_FLAGS, Params, classify, enters_cells, entry_group,
    key_of, place,
};

/// Returns keys and values of entries, `entry_capacity` words each, and sets the grid's `entry_count`. Entries that do
/// not fit are dropped. A value is the object's index with the entry's primary flags (bits 29 to 31).
pub fn entry_emit(
    params: &Params,
    objects: &[Aabb],
    grid: &mut Grid,
    offsets: &[u32],
    counters: &[u32],
    worlds: &[u32],
) -> (Vec<u32>, Vec<u32>) {
    grid.entry_count = saturate64(wide(counters, word::ENTRIES_NEEDED)).min(params.entry_capacity);
    let capacity = params.entry_capacity as usize;
    let mut keys = vec![0; capacity];
    let mut values = vec![0; capacity];
    let mut write = |place: usize, key: u32, value: u32| {
        if place < capacity {
            keys[place] = key;
            values[place] = value;
        }
    };
    let objects = params.objects(objects);
    for (index, object) in objects.iter().enumerate() {
        let world = params.world_of(worlds, index);
        let offset_of = |group: u32| offsets[group as usize * objects.len() + index] as usize;
        let index = index as u32;
        let class = classify(object);
        if class == Class::Invalid || class == Class::Excluded {
            continue;
        }
        if enters_cells(class, world) {
            let placement = place(params, FinestCell::cube(params.cell_inverse), object);
            if placement.level != NO_LEVEL {
                let [x, y, z] = cover(&placement);
                let mut written = [0; ENTRY_GROUPS as usize];
                for k in 0..x * y * z {
                    let offset = [k % x, (k / x) % y, k / (x * y)];
                    let cell = std::array::from_fn(|axis| placement.lower[axis] + offset[axis] as i32);
                    let flags: u32 = (0..3).map(|axis| u32::from(offset[axis] == 0) << (29 + axis)).sum();
                    let group = entry_group(flags);
                    let place = &mut written[group as usize];
                    write(
                        offset_of(group) + *place,
                        key_of(&grid.levels[0], cell, world),
                        index | flags,
                    );
                    *place += 1;
                }
                continue;
            }
        }
        write(offset_of(0), params.large_key(grid, world), index | PRIMARY_FLAGS);
    }
    (keys, values)
}
