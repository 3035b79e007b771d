//! Numbers of objects, as the passes of a table count them.

use std::ops::Range;

use crate::api::counters::word;
use crate::api::types::Aabb;
use crate::layout::blocks::add64;
use crate::layout::grid::{Class, FinestCell, MAX_LEVELS, NO_LEVEL, Params, classify, enters_cells, place};
use crate::reference::builder::Inputs;
use crate::reference::table::base_cell::base_cell;
use crate::reference::table::entry_count::cover;
use crate::reference::table::sample_statistics::{extent, sample_statistics};
use crate::reference::table::size::OCTAVES;
use crate::shared::runs::in_runs;

/// Boxes within this multiple of the samples' extent fit the cells of the last level: the finest cell has at least
/// 2^-`OCTAVES` of the extent. Exponents of cells end above the limit.
const FAR: f32 = 32.0;
const FAR_LIMIT: f32 = f32::from_bits((127 + 64) << 23);
const _: () = assert!(1 << (MAX_LEVELS - OCTAVES) >= 2 * FAR as u32);
/// The same for the adaptive scheme, in units of its finest cell.
const FAR_CELLS: f32 = (1 << 24) as f32;

/// Counts of the moving or the static objects.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ObjectCounts {
    invalid: u32,
    excluded: u32,
    /// Infinite objects and those of all worlds; in the uniform scheme, all large ones.
    large: u32,
    /// Only in the uniform scheme.
    entries: u64,
    /// Largest distance of a finite object's bound from 0. Not in the uniform scheme.
    farthest: f32,
}

impl ObjectCounts {
    /// Counts the moving and the static objects of a step.
    pub fn of(inputs: &Inputs) -> [Self; 2] {
        [0, 1].map(|table| {
            let params = &inputs.params[table];
            let objects = params.objects(&inputs.objects);
            let of_run = |run: Range<u32>| {
                let mut counts = Self::default();
                for index in run {
                    let world = params.world_of(&inputs.worlds[table], index as usize);
                    counts.add_object(params, &objects[index as usize], world);
                }
                counts
            };
            let mut counts = Self::default();
            for of_run in in_runs(objects.len() as u32, of_run) {
                counts.add(&of_run);
            }
            counts
        })
    }

    /// Returns only the extent of the finite objects.
    pub fn extent(self) -> Self {
        Self {
            farthest: self.farthest,
            ..Self::default()
        }
    }

    /// Counts an object, and returns its class.
    pub fn add_object(&mut self, params: &Params, object: &Aabb, world: u32) -> Class {
        let class = classify(object);
        match class {
            Class::Invalid => self.invalid += 1,
            Class::Excluded => self.excluded += 1,
            class if !enters_cells(class, world) => {
                self.large += 1;
                self.entries += 1;
            }
            _ if params.is_uniform() => {
                let placement = place(params, FinestCell::cube(params.cell_inverse), object);
                let is_large = placement.level == NO_LEVEL;
                self.large += u32::from(is_large);
                self.entries += match is_large {
                    true => 1,
                    false => u64::from(cover(&placement).into_iter().product::<u32>()),
                };
            }
            _ => self.farthest = self.farthest.max(reach(object)),
        }
        class
    }

    pub fn add(&mut self, more: &Self) {
        self.invalid += more.invalid;
        self.excluded += more.excluded;
        self.large += more.large;
        self.entries += more.entries;
        self.farthest = self.farthest.max(more.farthest);
    }

    fn entries(&self, params: &Params) -> u64 {
        match params.is_uniform() {
            true => self.entries,
            false => params.object_count.into(),
        }
    }

    /// Number of objects of the large list, of a table with objects.
    fn large(&self, params: &Params, objects: &[Aabb], worlds: &[u32]) -> u32 {
        if params.is_uniform() {
            return self.large;
        }
        let near = match params.is_hierarchical() {
            true => FAR_LIMIT.min(FAR * extent(params, params.objects(objects), worlds)),
            false => FAR_CELLS / params.cell_inverse,
        };
        if self.farthest <= near {
            return self.large;
        }
        let finest = match params.is_hierarchical() {
            true => base_cell(params, &sample_statistics(params, objects, worlds)).0,
            false => FinestCell::cube(params.cell_inverse),
        };
        let is_too_large = |&(index, object): &(usize, &Aabb)| {
            let is_far = enters_cells(classify(object), params.world_of(worlds, index)) && reach(object) > near;
            is_far && place(params, finest, object).level == NO_LEVEL
        };
        let objects = params.objects(objects).iter().enumerate();
        self.large + objects.filter(is_too_large).count() as u32
    }
}

fn reach(object: &Aabb) -> f32 {
    let bounds = object.min.into_iter().chain(object.max);
    bounds.map(f32::abs).fold(0.0, f32::max)
}

/// Returns the counter words of a step's tables, from the counts of the moving and the static objects.
pub(super) fn counters(inputs: &Inputs, counts: &[ObjectCounts; 2]) -> Vec<u32> {
    let mut counters = vec![0; word::COUNT];
    let entries = [word::ENTRIES_NEEDED, word::STATIC_ENTRIES_NEEDED];
    for (table, counts) in counts.iter().enumerate() {
        let params = &inputs.params[table];
        counters[word::INVALID] += counts.invalid;
        counters[word::EXCLUDED] += counts.excluded;
        if params.object_count > 0 {
            counters[word::LARGE] += counts.large(params, &inputs.objects, &inputs.worlds[table]);
            add64(&mut counters, entries[table], counts.entries(params));
        }
    }
    counters
}
