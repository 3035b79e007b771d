use super::size::{
    ASPECT, Aspect, DENSITY, EXTENT, MAX_ASPECT, MAX_EXPONENT, OCTAVE_WORDS, OCTAVES, SHAPE_WORDS, STATISTICS,
    half_side_bits, longest_of, most_pairs, octave_exponent, side_bits, size_class, top_exponent,
};
use crate::api::types::Aabb;
use crate::layout::grid::{CELL_LIMIT, HASH_WORLD, Params, SCHEME_ADAPTIVE, cell_of, classify, enters_cells, flush};
use crate::shared::wgsl::number;

const EXTENT_SAMPLES: u32 = 256;
const NEARLY_CUBES: i32 = number("table/sample_statistics", "NEARLY_CUBES") as i32;
const LENGTHS: u32 = number("table/sample_statistics", "LENGTHS");
const FEW_LONGER: u32 = number("table/sample_statistics", "FEW_LONGER");

fn aspect_of<'a>(params: &Params, objects: impl Iterator<Item = &'a Aabb>) -> Aspect {
    let exponents: Vec<_> = objects
        .map(|object| half_side_bits(object).map(|bits| bits >> 23))
        .collect();
    let largest = |exponents: &[u32; 3]| exponents.iter().copied().fold(0, u32::max);
    let longest = exponents.iter().map(largest).fold(0, u32::max);
    let few = exponents.len() / FEW_LONGER as usize;
    let typical = [0, 1, 2].map(|axis| {
        let reach = |shorter: u32| {
            let shorter_by = |all: &&[u32; 3]| longest - all[axis] <= shorter;
            exponents.iter().filter(shorter_by).count() > few
        };
        (0..LENGTHS)
            .find(|&shorter| reach(shorter))
            .map_or(0, |shorter| longest.saturating_sub(shorter))
    });
    let axes = params.dimensions as usize;
    let least = typical[..axes].iter().copied().fold(u32::MAX, u32::min) as i32;
    let shortest = least.max(largest(&typical) as i32 - MAX_ASPECT);
    let octaves = typical.map(|exponent| (exponent as i32 - shortest).max(0));
    Aspect {
        octaves: octaves.map(|octaves| if octaves > NEARLY_CUBES { octaves } else { 0 }),
        shortest: shortest - 126,
    }
}

fn few_samples<'a>(params: &Params, objects: &'a [Aabb], worlds: &[u32]) -> impl Iterator<Item = &'a Aabb> {
    (0..EXTENT_SAMPLES)
        .map(|sample| params.sampled_object(sample * params.sample_count / EXTENT_SAMPLES))
        .filter(|&index| enters_cells(classify(&objects[index]), params.world_of(worlds, index)))
        .map(|index| &objects[index])
}

/// Returns the largest distance of a bound of few samples from 0. `objects` are those of the table, at least one.
pub(crate) fn extent(params: &Params, objects: &[Aabb], worlds: &[u32]) -> f32 {
    let bounds = few_samples(params, objects, worlds).flat_map(|object| object.min.into_iter().chain(object.max));
    bounds.map(f32::abs).fold(0.0, f32::max)
}

/// Returns 2194 words in the layout of `shaders/table/octave.wgsl`.
pub fn sample_statistics(params: &Params, objects: &[Aabb], worlds: &[u32]) -> Vec<u32> {
    let slots = params.octave_buckets();
    let mut tables = vec![0u32; (2 * OCTAVES * slots) as usize];
    let mut statistics = vec![0u32; STATISTICS];
    let objects = params.objects(objects);
    let finite = |sample| {
        let index = params.sampled_object(sample);
        let is_counted = enters_cells(classify(&objects[index]), params.world_of(worlds, index));
        is_counted.then(|| (index, &objects[index]))
    };
    let mut aspect = aspect_of(params, std::iter::empty());
    if params.sample_count > 0 {
        aspect = aspect_of(params, few_samples(params, objects, worlds));
        statistics[EXTENT] = extent(params, objects, worlds).to_bits();
    }
    statistics[ASPECT] = aspect.packed();
    let top = top_exponent(statistics[EXTENT]);
    let most_pairs = most_pairs(params);
    let shapes = if aspect.is_long() {
        &[Aspect::default(), aspect][..]
    } else {
        &[Aspect::default()]
    };
    for (shape, (index, object)) in (0..shapes.len()).flat_map(|shape| {
        (0..params.sample_count)
            .filter_map(finite)
            .map(move |sample| (shape, sample))
    }) {
        let aspect = shapes[shape];
        let statistics = &mut statistics[shape * SHAPE_WORDS..][..SHAPE_WORDS];
        let tables = &mut tables[shape * (OCTAVES * slots) as usize..];
        let sides = side_bits(object);
        statistics[size_class(longest_of(sides, aspect.octaves))] += 1;
        let world = params.world_of(worlds, index).wrapping_mul(HASH_WORLD);
        let cells = Cells::new(params, top, object.min.map(flush));
        let words = statistics[DENSITY..].chunks_exact_mut(OCTAVE_WORDS);
        for (octave, (slots, words)) in tables.chunks_exact_mut(slots as usize).zip(words).enumerate() {
            let exponents = aspect.cell_exponents(octave_exponent(top, octave as u32));
            if (0..3).all(|axis| sides[axis] <= ((exponents[axis] + 128) as u32) << 23) {
                let [x, y, z] = cells.of(exponents).map(|cell| cell as u32);
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
    /// `None` if negative components become denormal in the coarsest cells, or 64 bits do not hold the finest.
    finest_cells: Option<[i64; 3]>,
}

fn inverse_of(exponent: i32) -> f32 {
    f32::from_bits(((127 - exponent) as u32) << 23)
}

impl Cells {
    fn new(params: &Params, top: i32, position: [f32; 3]) -> Self {
        let [coarsest, finest] = [0, OCTAVES - 1].map(|octave| octave_exponent(top, octave));
        let longest = (coarsest + MAX_ASPECT).min(MAX_EXPONENT);
        let vanishes = |component: f32| component < 0.0 && flush(component * inverse_of(longest)) == 0.0;
        let saturates = |component: f32| component.abs() * inverse_of(finest) >= i64::MAX as f32;
        let floor = |component: f32| {
            let towards_zero = component as i64;
            towards_zero.saturating_sub((towards_zero as f32 > component).into())
        };
        Self {
            scheme: params.scheme,
            position,
            finest,
            finest_cells: (!position
                .into_iter()
                .any(|component| vanishes(component) || saturates(component)))
            .then(|| position.map(|component| floor(component * inverse_of(finest)))),
        }
    }

    #[inline(always)]
    fn of(&self, exponents: [i32; 3]) -> [i32; 3] {
        let limit = i64::from(CELL_LIMIT);
        let half = i32::from(self.scheme == SCHEME_ADAPTIVE);
        match self.finest_cells {
            Some(cells) => [0, 1, 2].map(|axis| {
                let cell = (cells[axis] >> (exponents[axis] - self.finest)).clamp(-limit, limit) as i32;
                (cell + half) >> half
            }),
            None => cell_of(self.scheme, self.position, exponents.map(inverse_of)),
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
                    for octave in 0..OCTAVES {
                        let shortest = octave_exponent(top, octave);
                        let exponents = [2, 0, MAX_ASPECT].map(|longer| (shortest + longer).min(MAX_EXPONENT));
                        let expected = cell_of(scheme, position, exponents.map(inverse_of));
                        assert_eq!(
                            cells.of(exponents),
                            expected,
                            "{scheme} {top} {position:?} {exponents:?}"
                        );
                    }
                }
            }
        }
    }
}
