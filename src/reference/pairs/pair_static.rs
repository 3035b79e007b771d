use crate::api::types::Aabb;
use crate::layout::blocks::{Overrides, PairBlocks, QueryBlocks};
use crate::layout::grid::{Class, Record, classify};
use crate::reference::pairs::pair_excludes::Excludes;
use crate::reference::queries::query::LoadedQuery;
use crate::reference::queries::query_walk::{QueryReads, walk_query};
use crate::reference::rows::CellTable;

#[derive(Clone, Copy, Debug)]
pub struct StaticPairReads<'a> {
    pub table: CellTable<'a>,
    pub objects: &'a [Aabb],
    /// Sorted; read in the uniform scheme.
    pub values: &'a [u32],
    /// Records of the moving objects, in the order of their own table.
    pub own_records: &'a [Record],
    pub excludes: Excludes<'a>,
}

/// Passes the static partners of the moving object at index `record` to `accept`. Returns the number of box tests, 0 if
/// not counted.
pub fn walk_static(
    params: &PairBlocks,
    input: &StaticPairReads<'_>,
    overrides: Overrides,
    record: u32,
    mut accept: impl FnMut(u32),
) -> u32 {
    let own = &input.own_records[record as usize];
    let object = &input.objects[own.object as usize];
    let query = box_query(object, [own.low, own.high], own.world);
    let walked = QueryReads {
        table: input.table,
        queries: &[],
        self_query: &[],
        objects: input.objects,
        values: input.values,
        excludes: Excludes::default(),
    };
    let blocks = QueryBlocks {
        table: params.table,
        ..QueryBlocks::default()
    };
    walk_query(&blocks, &walked, overrides, &query, |other, _| {
        if !input.excludes.is_excluded(own.object, other) {
            accept(other);
        }
    })
}

/// Returns the query for the partners of an object, with its ordered bounds.
pub(crate) fn box_query(object: &Aabb, [low, high]: [[i32; 3]; 2], world: u32) -> LoadedQuery {
    LoadedQuery {
        low,
        high,
        radius: 0.0,
        layers: object.layers,
        group: object.group,
        world,
        querier: None,
        seeks_corners: false,
        image: [0; 3],
        search_min: [0.0; 3],
        search_max: [0.0; 3],
        valid: true,
        answers: !matches!(classify(object), Class::Invalid | Class::Excluded),
    }
}
