//! Twin of `shaders/table/density.wgsl`.

use super::size::{OCTAVES, SLOTS, longest_side_bits, octave_exponent, top_exponent};
use crate::api::types::Aabb;
use crate::shared::grid::{Class, HASH_WORLD, Params, cell_of, classify, flush};

/// How crowded the cells of each of 24 octaves would be, from a sample of the objects.
///
/// Returns 48 words, two an octave: samples entered, and pairs of them that share a slot of a small hash table.
pub fn density(params: &Params, objects: &[Aabb], size_statistics: &[u32], worlds: &[u32]) -> Vec<u32> {
    let mut slots = vec![0u32; (OCTAVES * SLOTS) as usize];
    let mut density = vec![0u32; 2 * OCTAVES as usize];
    let top = top_exponent(size_statistics[1024]);
    let objects = params.objects(objects);
    let samples = params.sampled_objects().map(|index| (index, &objects[index]));
    for (index, object) in samples.filter(|(_, object)| classify(object) == Class::Finite) {
        let world = params.world_of(worlds, index);
        let side = longest_side_bits(object);
        for octave in 0..OCTAVES {
            let exponent = octave_exponent(top, octave);
            // Objects up to twice the cell: with a cell side of 1.75 units they still lie in the base level.
            if side <= ((exponent + 128) as u32) << 23 {
                let inverse = f32::from_bits(((127 - exponent) as u32) << 23);
                let [x, y, z] = cell_of(params.scheme, object.min.map(flush), [inverse; 3]).map(|cell| cell as u32);
                let mut hash = x
                    .wrapping_mul(0x8da6_b343)
                    .wrapping_add(y.wrapping_mul(0xd816_3841))
                    .wrapping_add(z.wrapping_mul(0xcb1a_b31f))
                    .wrapping_add(world.wrapping_mul(HASH_WORLD));
                hash = (hash ^ (hash >> 15)).wrapping_mul(0x2c1b_3c6d);
                hash ^= hash >> 13;
                let slot = &mut slots[(octave * SLOTS + (hash & (SLOTS - 1))) as usize];
                density[2 * octave as usize] += 1;
                density[2 * octave as usize + 1] += *slot;
                *slot += 1;
            }
        }
    }
    density
}
