use std::sync::{Arc, OnceLock};

use super::boxes::{Boxes, have_filters};
use super::trees::{Purpose, Trees};
use crate::api::descriptor::{BroadPhaseDescriptor, SortStrategy};
use crate::api::error::BroadPhaseError;
use crate::reference::builder::{self, Inputs, Tables};

/// Boxes that enter a tree in the time that it saves a search.
const BOXES_PER_SEARCH: u32 = 16;

#[derive(Clone, Debug)]
pub(super) struct Table {
    pub tables: Tables,
    pub have_filters: bool,
    /// Of the moving, then the static objects.
    indices: [Index; 2],
    /// Number of rays and queries of earlier calls.
    pub searches: u32,
    /// True if only trees and records are those of the objects, and nothing may read cells.
    has_only_trees: bool,
}

/// Search structures of a table, built on first use.
#[derive(Clone, Debug, Default)]
struct Index {
    boxes: OnceLock<Boxes>,
    trees: OnceLock<Arc<Trees>>,
}

impl Table {
    pub fn build(descriptor: &BroadPhaseDescriptor<'_>, inputs: Inputs) -> Result<Self, BroadPhaseError> {
        // All sort strategies give the same order.
        let descriptor = BroadPhaseDescriptor {
            sort: SortStrategy::Portable,
            ..*descriptor
        };
        let tables = Tables::build(&descriptor, inputs, false)?;
        Ok(Self {
            have_filters: have_filters(&tables.objects),
            tables,
            indices: Default::default(),
            searches: 0,
            has_only_trees: false,
        })
    }

    /// Creates a table without cells, from one tree per table.
    pub fn of_trees(tables: Tables, have_filters: bool, trees: Vec<Arc<Trees>>) -> Self {
        let mut indices = <[Index; 2]>::default();
        for (index, trees) in indices.iter_mut().zip(trees) {
            index.trees = trees.into();
        }
        Self {
            tables,
            have_filters,
            indices,
            searches: 0,
            has_only_trees: true,
        }
    }

    fn indices(&self) -> impl Iterator<Item = (&builder::Table, &Index)> {
        let tables = [Some(&self.tables.own), self.tables.statics.as_ref()];
        tables.into_iter().flatten().zip(&self.indices)
    }

    /// One per table.
    pub fn boxes(&self) -> Vec<&Boxes> {
        self.indices()
            .map(|(table, index)| {
                let build = || Boxes::new(table.cells(), self.have_filters);
                index.boxes.get_or_init(build)
            })
            .collect()
    }

    /// One per table. Empty in the uniform scheme, and if building takes longer than `count` and earlier searches save.
    pub fn trees(&self, count: u32) -> Vec<&Trees> {
        let params = &self.tables.own.params;
        let pays = params.all_objects() / BOXES_PER_SEARCH <= self.searches.saturating_add(count);
        if params.is_uniform() || !(pays || self.has_only_trees) {
            return Vec::new();
        }
        self.query_trees().map(|trees| &**trees).collect()
    }

    /// Trees for queries, one per table, not of the uniform scheme.
    pub fn query_trees(&self) -> impl Iterator<Item = &Arc<Trees>> {
        self.indices().map(|(table, index)| {
            let build = || Arc::new(self.new_trees(table, Purpose::Queries));
            index.trees.get_or_init(build)
        })
    }

    /// Trees for pairs, one per table, not of the uniform scheme.
    pub fn pair_trees(&self) -> impl Iterator<Item = Trees> {
        self.indices().map(|(table, _)| self.new_trees(table, Purpose::Pairs))
    }

    fn new_trees(&self, table: &builder::Table, purpose: Purpose) -> Trees {
        Trees::new(&table.params, table.cells(), self.have_filters, purpose)
    }
}
