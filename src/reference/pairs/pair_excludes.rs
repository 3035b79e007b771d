//! Reference passes of `shaders/pairs/pair_excludes.wgsl` and `shaders/pairs/exclusions.wgsl`.

use std::fmt::{Debug, Formatter};

use crate::layout::blocks::Exclusions;
use crate::shared::murmur::hash;

/// Function that returns true if two objects may be a pair, the smaller index first. See
/// [`pair_filter`](crate::BroadPhaseDescriptor::pair_filter).
pub type Admits<'a> = dyn Fn(u32, u32) -> bool + Sync + 'a;

/// Exclusions other than layer and group filters. The default excludes nothing.
#[derive(Clone, Copy, Default)]
pub struct Excludes<'a> {
    pub exclusions: Exclusions,
    /// Hash table of the listed pairs, from [`pair_exclude`](super::pair_exclude::pair_exclude).
    pub table: &'a [[u32; 2]],
    pub admits: Option<&'a Admits<'a>>,
}

impl Debug for Excludes<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { exclusions, table, .. } = self;
        let mut fields = formatter.debug_struct("Excludes");
        fields.field("exclusions", exclusions).field("table", table);
        fields.finish_non_exhaustive()
    }
}

pub(crate) fn slots_of(exclusions: &Exclusions, pair: [u32; 2]) -> impl Iterator<Item = usize> {
    let (first, mask) = (hash(&pair), exclusions.table_mask);
    (0..exclusions.slots()).map(move |probe| (first.wrapping_add(probe) & mask) as usize)
}

impl Excludes<'_> {
    pub fn is_listed(&self, a: u32, b: u32) -> bool {
        if self.table.is_empty() {
            return false;
        }
        slots_of(&self.exclusions, [a, b])
            .map(|slot| self.table[slot])
            .take_while(|held| held[1] != 0)
            .any(|held| held == [a, b])
    }

    pub fn is_excluded(&self, a: u32, b: u32) -> bool {
        let [a, b] = [a.min(b), a.max(b)];
        self.is_listed(a, b) || self.admits.is_some_and(|admits| !admits(a, b))
    }
}
