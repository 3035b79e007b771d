//! Reference pass of `shaders/table/layout.wgsl` and `shaders/table/levels.wgsl`.

use super::level_statistics::{BASE_INVERSE, BIAS, CROWDED_LEVELS, STRETCH};
use crate::api::counters::word;
use crate::layout::blocks::PairBlocks;
use crate::layout::grid::{
    DENSE, Grid, HASH_WORLD, HASH_Y, HASH_Z, Level, MAX_LEVELS, NO_LEVEL, Params, SCHEME_ADAPTIVE, SCHEME_UNIFORM,
    TABLE_CELLS_PER_LEVEL, TABLE_CELLS_PER_OBJECT, VARIANT_CROWDED, VARIANT_SPARSE, level_inverse,
};
use crate::shared::wgsl::number;

/// Maximum share of objects too large to look up the large-object table: one in FEW_LARGER.
pub(crate) const FEW_LARGER: u32 = number("table/levels", "FEW_LARGER");

/// Returns the grid without a large-object table. Writes the numbers of levels and table cells to the counters.
pub fn layout(params: &Params, level_statistics: &[u32], counters: &mut [u32]) -> Grid {
    let uniform = params.scheme == SCHEME_UNIFORM;
    let mut grid = Grid {
        base_inverse: f32::from_bits(level_statistics[BASE_INVERSE]),
        stretch: level_statistics[STRETCH],
        crowded_levels: level_statistics[CROWDED_LEVELS],
        fullest_level: NO_LEVEL,
        ..Grid::default()
    };
    let mut next = NO_LEVEL;
    let mut table_base = 0u32;
    let mut occupied = 0;
    let mut most = 0;
    // From the coarsest, so that each level can name the next coarser one.
    for index in (0..MAX_LEVELS).rev() {
        let words = &level_statistics[8 * index as usize..][..8];
        let count = words[0];
        if count == 0 {
            continue;
        }
        let mut level = Level {
            next,
            inverse: level_inverse(grid.base_inverse, index),
            ..level_of(words)
        };
        set_cells(params, &mut level);
        level.table_base = table_base;
        table_base = table_base.wrapping_add(level.table_size);
        occupied += 1;
        next = index;
        grid.occupied |= 1 << index;
        if count > most {
            (most, grid.fullest_level) = (count, index);
        }
        grid.levels[index as usize] = level;
    }
    grid.first_level = next;
    grid.is_crowded = u32::from(is_crowded(params, &grid));
    if params.has_clusters == 1 {
        counters[word::CROWDED] = grid.is_crowded;
    }
    grid.table_cells = table_base;
    grid.key_count = params.ignored_key(&grid) + 1;
    grid.large_table_below = level_below_large_table(params, level_statistics, grid.occupied);
    grid.large_table_shift = 0;
    if grid.large_table_below > 0 {
        set_large_table_bounds(&mut grid);
    }
    if !uniform {
        grid.entry_count = params.object_count;
        counters[word::ENTRIES_NEEDED] = params.object_count;
    }
    counters[word::LEVELS] += occupied;
    counters[word::TABLE_CELLS] += table_base;
    grid
}

fn level_of(words: &[u32]) -> Level {
    let lower = |axis: usize| BIAS.wrapping_sub(words[1 + axis]) as i32;
    let upper = |axis: usize| words[4 + axis].wrapping_sub(BIAS) as i32;
    Level {
        count: words[0],
        lower_x: lower(0),
        lower_y: lower(1),
        lower_z: lower(2),
        upper_x: upper(0),
        upper_y: upper(1),
        upper_z: upper(2),
        ..Level::default()
    }
}

fn set_cells(params: &Params, level: &mut Level) {
    let allowed = match params.scheme {
        SCHEME_UNIFORM => params.table_capacity,
        _ => TABLE_CELLS_PER_OBJECT
            .wrapping_mul(level.count)
            .wrapping_add(TABLE_CELLS_PER_LEVEL),
    };
    let cells = |lower: i32, upper: i32| (upper.wrapping_sub(lower) as u32).wrapping_add(1);
    let cells_y = cells(level.lower_y, level.upper_y);
    let cells_z = cells(level.lower_z, level.upper_z);
    let dense = (0..=params.x_detail()).find_map(|shift| {
        let cells_x = cells(level.lower_x >> shift, level.upper_x >> shift);
        let size = cells_x.saturating_mul(cells_y).saturating_mul(cells_z);
        (size.saturating_mul(params.world_count) <= allowed).then_some((shift, cells_x, size))
    });
    if let Some((shift, cells_x, size)) = dense {
        level.table_size = size * params.world_count;
        level.x_shift = shift;
        level.table_mask = DENSE;
        level.stride_y = cells_x;
        level.stride_z = cells_x.wrapping_mul(cells_y);
        level.stride_world = size;
    } else {
        level.table_size = 1 << (31 - allowed.max(1).leading_zeros());
        level.x_shift = params.x_detail();
        level.table_mask = level.table_size - 1;
        level.stride_y = HASH_Y;
        level.stride_z = HASH_Z;
        level.stride_world = HASH_WORLD;
    }
}

/// Returns true if `pair_count_crowded` counts the pairs. Reference of `keeps_bits` in
/// `shaders/pairs/pair_emit_cached.wgsl`.
pub fn keeps_bits(params: &PairBlocks, grid: &Grid) -> bool {
    let is_chosen =
        params.pairs.variant == VARIANT_CROWDED || grid.is_crowded != 0 && params.pairs.variant != VARIANT_SPARSE;
    is_chosen || params.pairs.bit_words > 0 || params.scheme == SCHEME_ADAPTIVE
}

fn is_crowded(params: &Params, grid: &Grid) -> bool {
    let is_full = || grid.fullest_level != NO_LEVEL && grid.crowded_levels >> grid.fullest_level & 1 == 1;
    params.has_clusters == 1 && (params.scheme == SCHEME_ADAPTIVE || is_full())
}

fn level_below_large_table(params: &Params, level_statistics: &[u32], occupied: u32) -> u32 {
    if params.large_table_capacity == 0 {
        return 0;
    }
    let placed: u32 = level_statistics.iter().step_by(8).sum();
    let mut objects = 0;
    let mut below = 0;
    while below < MAX_LEVELS && objects < placed - placed / FEW_LARGER {
        objects += level_statistics[8 * below as usize];
        below += 1;
    }
    if below < MAX_LEVELS && occupied >> below > 0 {
        below
    } else {
        0
    }
}

fn set_large_table_bounds(grid: &mut Grid) {
    let (mut lower, mut upper) = ([i32::MAX; 3], [-i32::MAX; 3]);
    let below = grid.large_table_below;
    for (index, level) in grid.occupied_levels().filter(|&(index, _)| index < below) {
        let octaves = below - 1 - index;
        let [lowest, highest] = level.bounds();
        for axis in 0..3 {
            lower[axis] = lower[axis].min(lowest[axis] >> octaves);
            let highest = match highest[axis] >> octaves {
                -1 => 0,
                highest => highest,
            };
            upper[axis] = upper[axis].max(highest);
        }
    }
    let cover = &mut grid.large_table;
    [cover.lower_x, cover.lower_y, cover.lower_z] = lower;
    [cover.upper_x, cover.upper_y, cover.upper_z] = upper;
}
