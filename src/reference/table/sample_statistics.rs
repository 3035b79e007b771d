use super::size::{
    DENSITY, EXTENT, OCTAVE_WORDS, OCTAVES, STATISTICS, longest_side_bits, most_pairs, octave_exponent, size_class,
    top_exponent,
};
use crate::api::types::Aabb;
use crate::layout::grid::{Class, HASH_WORLD, Params, cell_of, classify, flush};

const EXTENT_SAMPLES: u32 = 256;

/// Returns 1097 words in the layout of `shaders/table/octave.wgsl`.
pub fn sample_statistics(params: &Params, objects: &[Aabb], worlds: &[u32]) -> Vec<u32> {
    let slots = params.octave_buckets();
    let mut tables = vec![0u32; (OCTAVES * slots) as usize];
    let mut statistics = vec![0u32; STATISTICS];
    let objects = params.objects(objects);
    let finite = |sample| {
        let index = params.sampled_object(sample);
        (classify(&objects[index]) == Class::Finite).then(|| (index, &objects[index]))
    };
    if params.sample_count > 0 {
        let few = (0..EXTENT_SAMPLES).map(|sample| sample * params.sample_count / EXTENT_SAMPLES);
        let bounds = few
            .filter_map(finite)
            .flat_map(|(_, object)| object.min.into_iter().chain(object.max));
        statistics[EXTENT] = bounds.map(|bound| bound.abs().to_bits()).max().unwrap_or(0);
    }
    let top = top_exponent(statistics[EXTENT]);
    for (index, object) in (0..params.sample_count).filter_map(finite) {
        statistics[size_class(object)] += 1;
        let world = params.world_of(worlds, index);
        let side = longest_side_bits(object);
        for octave in 0..OCTAVES {
            let exponent = octave_exponent(top, octave);
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
                let slot = &mut tables[(octave * slots + (hash & (slots - 1))) as usize];
                let words = &mut statistics[DENSITY + OCTAVE_WORDS * octave as usize..][..OCTAVE_WORDS];
                words[0] += 1;
                words[1] += *slot;
                words[2] += most_pairs(params).min(*slot);
                *slot += 1;
            }
        }
    }
    statistics
}
