use super::base_cell::base_cell;
use crate::api::counters::word;
use crate::api::types::Aabb;
use crate::layout::grid::{Class, FinestCell, NO_LEVEL, Params, SCHEME_UNIFORM, classify, enters_cells, place};
use crate::shared::runs::in_runs;
use crate::shared::wgsl::number;

pub(crate) const BIAS: u32 = number("common/grid", "BIAS");
pub(crate) const BASE_INVERSE: usize = number("common/grid", "BASE_INVERSE") as usize;
pub(crate) const STRETCH: usize = number("common/grid", "STRETCH") as usize;
pub(crate) const CROWDED_LEVELS: usize = number("common/grid", "CROWDED_LEVELS") as usize;

/// Returns 256 words in the layout of `shaders/common/grid.wgsl`. Adds the numbers of invalid, excluded and large
/// objects to the counters. Only the hierarchical scheme reads `sample_statistics`.
pub fn level_statistics(
    params: &Params,
    objects: &[Aabb],
    worlds: &[u32],
    sample_statistics: &[u32],
    counters: &mut [u32],
) -> Vec<u32> {
    let (finest, crowded_levels) = if params.is_hierarchical() {
        base_cell(params, sample_statistics)
    } else {
        (FinestCell::cube(params.cell_inverse), 0)
    };
    let objects = params.objects(objects);
    let of_runs = in_runs(objects.len() as u32, |run| {
        let mut counters = [0; word::COUNT];
        let run = run.map(|index| {
            let world = params.world_of(worlds, index as usize);
            (&objects[index as usize], world)
        });
        (of_run(params, run, finest, &mut counters), counters)
    });
    let mut statistics = vec![0u32; 256];
    for (of_run, more) in of_runs {
        for (place, (all, word)) in statistics.iter_mut().zip(of_run).enumerate() {
            *all = if place % 8 == 0 { *all + word } else { word.max(*all) };
        }
        for place in [word::INVALID, word::EXCLUDED, word::LARGE] {
            counters[place] += more[place];
        }
    }
    statistics[BASE_INVERSE] = finest.inverse.to_bits();
    statistics[STRETCH] = finest.stretch;
    statistics[CROWDED_LEVELS] = crowded_levels;
    statistics
}

fn of_run<'a>(
    params: &Params,
    objects: impl Iterator<Item = (&'a Aabb, u32)>,
    finest: FinestCell,
    counters: &mut [u32],
) -> [u32; 256] {
    let mut statistics = [0u32; 256];
    for (object, world) in objects {
        match classify(object) {
            Class::Invalid => counters[word::INVALID] += 1,
            Class::Excluded => counters[word::EXCLUDED] += 1,
            class if !enters_cells(class, world) => counters[word::LARGE] += 1,
            _ => {
                let placement = place(params, finest, object);
                if placement.level == NO_LEVEL {
                    counters[word::LARGE] += 1;
                    continue;
                }
                let last = if params.scheme == SCHEME_UNIFORM {
                    placement.upper
                } else {
                    placement.lower
                };
                let words = &mut statistics[8 * placement.level as usize..][..8];
                words[0] += 1;
                for axis in 0..3 {
                    words[1 + axis] = words[1 + axis].max(BIAS.wrapping_sub(placement.lower[axis] as u32));
                    words[4 + axis] = words[4 + axis].max(BIAS.wrapping_add(last[axis] as u32));
                }
            }
        }
    }
    statistics
}
