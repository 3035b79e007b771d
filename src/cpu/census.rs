//! Counts of objects, as a table's passes count them.

use crate::api::counters::word;
use crate::api::types::Aabb;
use crate::layout::blocks::add64;
use crate::layout::grid::{Class, FinestCell, NO_LEVEL, Params, classify, place};
use crate::reference::builder::Inputs;
use crate::reference::table::base_cell::base_cell;
use crate::reference::table::entry_count::cover;
use crate::reference::table::sample_statistics::{extent, sample_statistics};

/// No box within this multiple of the samples' extent, and below the limit, is too large for every level.
const FAR: f32 = 32.0;
const FAR_LIMIT: f32 = f32::from_bits((127 + 64) << 23);
/// The same in units of the finest cell, for the adaptive scheme.
const FAR_CELLS: f32 = (1 << 24) as f32;

/// Counts of the moving or the static objects.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Census {
    invalid: u32,
    excluded: u32,
    /// Of the uniform scheme: all large ones.
    large: u32,
    /// Of the uniform scheme.
    entries: u64,
    /// Largest distance of a finite bound from 0.
    farthest: f32,
}

impl Census {
    /// Returns only the extent of the finite objects.
    pub fn of_extent(objects: &[Aabb]) -> Self {
        let mut census = Self::default();
        let finite = objects.iter().filter(|object| classify(object) == Class::Finite);
        finite.for_each(|object| census.reach(object));
        census
    }

    fn reach(&mut self, object: &Aabb) {
        let bounds = object.min.into_iter().chain(object.max);
        self.farthest = bounds.fold(self.farthest, |farthest, bound| farthest.max(bound.abs()));
    }

    pub fn count(&mut self, params: &Params, object: &Aabb) -> Class {
        let class = classify(object);
        match class {
            Class::Invalid => self.invalid += 1,
            Class::Excluded => self.excluded += 1,
            Class::Infinite => {
                self.large += 1;
                self.entries += 1;
            }
            Class::Finite if params.is_uniform() => {
                let placement = place(params, FinestCell::cube(params.cell_inverse), object);
                let is_large = placement.level == NO_LEVEL;
                self.large += u32::from(is_large);
                self.entries += match is_large {
                    true => 1,
                    false => u64::from(cover(&placement).into_iter().product::<u32>()),
                };
            }
            Class::Finite => self.reach(object),
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

    /// Number of entries of the table.
    pub fn entries(&self, params: &Params) -> u64 {
        match params.is_uniform() {
            true => self.entries,
            false => params.object_count.into(),
        }
    }

    /// Number of objects of the large list.
    pub fn large(&self, params: &Params, objects: &[Aabb], worlds: &[u32]) -> u32 {
        if params.is_uniform() {
            return self.large;
        }
        let is_near = match params.is_hierarchical() {
            true => self.farthest <= FAR_LIMIT.min(FAR * extent(params, params.objects(objects))),
            false => self.farthest * params.cell_inverse <= FAR_CELLS,
        };
        if is_near {
            return self.large;
        }
        let finest = match params.is_hierarchical() {
            true => base_cell(params, &sample_statistics(params, objects, worlds)).0,
            false => FinestCell::cube(params.cell_inverse),
        };
        let is_too_large =
            |object: &&Aabb| classify(object) == Class::Finite && place(params, finest, object).level == NO_LEVEL;
        self.large + params.objects(objects).iter().filter(is_too_large).count() as u32
    }
}

/// Returns the counter words of a step's tables, from the counts of the moving and the static objects.
pub(super) fn counters(inputs: &Inputs, censuses: &[Census; 2]) -> Vec<u32> {
    let mut counters = vec![0; word::COUNT];
    let entries = [word::ENTRIES_NEEDED, word::STATIC_ENTRIES_NEEDED];
    for (table, census) in censuses.iter().enumerate() {
        let params = &inputs.params[table];
        counters[word::INVALID] += census.invalid;
        counters[word::EXCLUDED] += census.excluded;
        if params.object_count > 0 {
            counters[word::LARGE] += census.large(params, &inputs.objects, &inputs.worlds[table]);
            add64(&mut counters, entries[table], census.entries(params));
        }
    }
    counters
}
