use super::size::{
    DENSITY, EXTENT, OCTAVE_WORDS, OCTAVES, STATISTICS, longest_side_bits, most_pairs, octave_exponent, size_class,
    top_exponent,
};
use crate::api::types::Aabb;
use crate::layout::grid::{CELL_LIMIT, Class, HASH_WORLD, Params, SCHEME_ADAPTIVE, cell_of, classify, flush};

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
    let most_pairs = most_pairs(params);
    for (index, object) in (0..params.sample_count).filter_map(finite) {
        statistics[size_class(object)] += 1;
        let world = params.world_of(worlds, index).wrapping_mul(HASH_WORLD);
        let side = longest_side_bits(object);
        let cells = Cells::new(params, top, object.min.map(flush));
        let words = statistics[DENSITY..].chunks_exact_mut(OCTAVE_WORDS);
        for (octave, (slots, words)) in tables.chunks_exact_mut(slots as usize).zip(words).enumerate() {
            let exponent = octave_exponent(top, octave as u32);
            if side <= ((exponent + 128) as u32) << 23 {
                let [x, y, z] = cells.of(exponent).map(|cell| cell as u32);
                let mut hash = x
                    .wrapping_mul(0x8da6_b343)
                    .wrapping_add(y.wrapping_mul(0xd816_3841))
                    .wrapping_add(z.wrapping_mul(0xcb1a_b31f))
                    .wrapping_add(world);
                hash = (hash ^ (hash >> 15)).wrapping_mul(0x2c1b_3c6d);
                hash ^= hash >> 13;
                let slot = &mut slots[hash as usize & (slots.len() - 1)];
                words[0] += 1;
                words[1] += *slot;
                words[2] += most_pairs.min(*slot);
                *slot += 1;
            }
        }
    }
    statistics
}

/// Cells of a position. Those of the finest octave give the others by shifts.
struct Cells {
    scheme: u32,
    position: [f32; 3],
    finest: i32,
    /// `None` if negative components become denormal.
    finest_cells: Option<[i64; 3]>,
}

fn inverse_of(exponent: i32) -> f32 {
    f32::from_bits(((127 - exponent) as u32) << 23)
}

impl Cells {
    fn new(params: &Params, top: i32, position: [f32; 3]) -> Self {
        let [coarsest, finest] = [0, OCTAVES - 1].map(|octave| octave_exponent(top, octave));
        let vanishes = |component: f32| component < 0.0 && flush(component * inverse_of(coarsest)) == 0.0;
        let floor = |component: f32| {
            let towards_zero = component as i64;
            towards_zero.saturating_sub((towards_zero as f32 > component).into())
        };
        Self {
            scheme: params.scheme,
            position,
            finest,
            finest_cells: (!position.into_iter().any(vanishes))
                .then(|| position.map(|component| floor(component * inverse_of(finest)))),
        }
    }

    #[inline(always)]
    fn of(&self, exponent: i32) -> [i32; 3] {
        let limit = i64::from(CELL_LIMIT);
        let half = i32::from(self.scheme == SCHEME_ADAPTIVE);
        match self.finest_cells {
            Some(cells) => cells.map(|cell| {
                let cell = (cell >> (exponent - self.finest)).clamp(-limit, limit) as i32;
                (cell + half) >> half
            }),
            None => cell_of(self.scheme, self.position, [inverse_of(exponent); 3]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifted_cells_are_those_of_the_position() {
        let positions = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.3,
            -7.9,
            1e-20,
            -1e-20,
            -1e-37,
            3e5,
            -3e5,
            1e30,
            -1e30,
            f32::MAX,
        ];
        for scheme in 0..3 {
            let params = Params {
                scheme,
                ..Params::default()
            };
            for top in [-140, -20, 0, 3, 40, 127] {
                for position in positions.map(|component| [component, -component, 0.5 * component]) {
                    let cells = Cells::new(&params, top, position);
                    for exponent in (0..OCTAVES).map(|octave| octave_exponent(top, octave)) {
                        let expected = cell_of(scheme, position, [inverse_of(exponent); 3]);
                        assert_eq!(cells.of(exponent), expected, "{scheme} {top} {position:?} {exponent}");
                    }
                }
            }
        }
    }
}
