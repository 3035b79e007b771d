//! Twin of `shaders/entry_emit.wgsl`.

use super::blocks::{saturate64, wide};
use super::entry_count::cover;
use crate::counters::word;
use crate::grid::{Class, Grid, HOME_FLAG, NO_LEVEL, Params, classify, key_of, place};
use crate::types::Aabb;

/// Uniform scheme: an entry for every cell that an object covers, x fastest, at the offsets that the scan gave. The
/// first one is the object's home and carries the home flag (bit 31).
///
/// Sets `entry_count` of the grid. Returns keys and values, `entry_capacity` words each; what does not fit is dropped.
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
    let objects = params.objects(objects).iter().zip(offsets);
    for (index, (object, &first)) in objects.enumerate() {
        let world = params.world_of(worlds, index);
        let (index, first) = (index as u32, first as usize);
        let class = classify(object);
        if class == Class::Invalid || class == Class::Excluded {
            continue;
        }
        if class == Class::Finite {
            let placement = place(params, grid, object);
            if placement.level != NO_LEVEL {
                let [x, y, z] = cover(&placement);
                for k in 0..x * y * z {
                    let offset = [k % x, (k / x) % y, k / (x * y)];
                    let cell = std::array::from_fn(|axis| placement.lower[axis] + offset[axis] as i32);
                    let home = if k == 0 { HOME_FLAG } else { 0 };
                    write(first + k as usize, key_of(&grid.levels[0], cell, world), index | home);
                }
                continue;
            }
        }
        write(first, params.large_key(grid, world), index | HOME_FLAG);
    }
    (keys, values)
}
