//! Buffers that the walks of a step read.

use super::pairs::pair_excludes::Excludes;
use super::pairs::pair_static::StaticPairReads;
use super::pairs::pair_walk::PairReads;
use super::queries::query_walk::QueryReads;
use super::rays::ray_hits::RayReads;
use super::rows::CellTable;
use crate::api::queries::Query;
use crate::api::types::{Aabb, SweptRay};

/// The tables of a step, and what excludes pairs.
#[derive(Clone, Copy)]
pub struct StepReads<'a> {
    /// The table of the moving objects.
    pub own: TableReads<'a>,
    /// The table of the static objects, if there are any.
    pub statics: Option<TableReads<'a>>,
    /// All objects, static ones first.
    pub objects: &'a [Aabb],
    /// What excludes pairs beside filters.
    pub excludes: Excludes<'a>,
}

/// One table.
#[derive(Clone, Copy)]
pub struct TableReads<'a> {
    /// Levels, records and cell table.
    pub table: CellTable<'a>,
    /// Sorted keys.
    pub keys: &'a [u32],
    /// Sorted values.
    pub values: &'a [u32],
    /// Objects of the table. Their records come first, ahead of those of the cover table.
    pub object_count: u32,
}

impl<'a> StepReads<'a> {
    /// Returns what the passes of pairs read.
    pub fn pairs(&self) -> PairReads<'a> {
        PairReads {
            table: self.own.table,
            objects: self.objects,
            keys: self.own.keys,
            values: self.own.values,
            excludes: self.excludes,
        }
    }

    /// Returns what the passes of pairs with static objects read, if there are any.
    pub fn static_pairs(&self) -> Option<StaticPairReads<'a>> {
        self.statics.map(|statics| StaticPairReads {
            table: statics.table,
            objects: self.objects,
            values: statics.values,
            own_records: self.own.table.records,
            excludes: self.excludes,
        })
    }

    /// Returns the tables that rays walk, one after the other.
    pub fn rays(&self, rays: &'a [SweptRay]) -> Vec<RayReads<'a>> {
        let tables = [Some(self.own), self.statics].into_iter().flatten();
        tables
            .map(|of| RayReads {
                table: of.table,
                rays,
                objects: self.objects,
                values: of.values,
            })
            .collect()
    }

    /// Returns the walks of queries, one after the other. With `is_self_query` the objects ask in place of `queries`, and
    /// static ones walk the table of the moving ones alone.
    pub fn queries(&self, queries: &'a [Query], is_self_query: bool) -> Vec<QueryReads<'a>> {
        let walk = |of: TableReads<'a>, self_query: TableReads<'a>| QueryReads {
            table: of.table,
            queries,
            self_query: if is_self_query {
                &self_query.table.records[..self_query.object_count as usize]
            } else {
                &[]
            },
            objects: self.objects,
            values: of.values,
            excludes: self.excludes,
        };
        let mut walks = vec![walk(self.own, self.own)];
        if let Some(statics) = self.statics {
            walks.push(walk(statics, self.own));
            walks.extend(is_self_query.then(|| walk(self.own, statics)));
        }
        walks
    }
}
