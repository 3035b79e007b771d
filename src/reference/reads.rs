use super::pairs::pair_excludes::Excludes;
use super::pairs::pair_static::StaticPairReads;
use super::pairs::pair_walk::PairReads;
use super::queries::query_walk::QueryReads;
use super::rays::ray_hits::RayReads;
use super::rows::CellTable;
use crate::api::queries::Query;
use crate::api::types::{Aabb, SweptRay};

#[derive(Clone, Copy)]
pub struct StepReads<'a> {
    pub own: TableReads<'a>,
    pub statics: Option<TableReads<'a>>,
    /// All objects, static ones first.
    pub objects: &'a [Aabb],
    pub excludes: Excludes<'a>,
}

#[derive(Clone, Copy)]
pub struct TableReads<'a> {
    pub table: CellTable<'a>,
    pub keys: &'a [u32],
    pub values: &'a [u32],
    /// Number of objects of the table. Their records precede those of the large-object table.
    pub object_count: u32,
}

impl<'a> StepReads<'a> {
    pub fn pairs(&self) -> PairReads<'a> {
        PairReads {
            table: self.own.table,
            objects: self.objects,
            keys: self.own.keys,
            values: self.own.values,
            excludes: self.excludes,
        }
    }

    pub fn static_pairs(&self) -> Option<StaticPairReads<'a>> {
        self.statics.map(|statics| StaticPairReads {
            table: statics.table,
            objects: self.objects,
            values: statics.values,
            own_records: self.own.table.records,
            excludes: self.excludes,
        })
    }

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

    /// Inputs of query walks: `queries` or moving objects through each table, then the static objects of a self-query
    /// through the moving table.
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
