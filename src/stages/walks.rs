use super::shape::Shape;
use super::shape::variable::ROUND;
use super::sort::KeyValueBuffers;
use super::table::statics;
use crate::gpu::recorder::{Binds, PARAMS};
use crate::gpu::upload::{Block, Blocks};
use crate::layout::blocks::Round;
use crate::layout::grid::Params;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableOf {
    Moving,
    Static,
}

/// Maximum walks per ray or query: self-queries with static objects need three.
pub(crate) const MAX_WALKS: usize = 3;

pub(crate) struct WalkRound {
    params: Block,
    round: Block,
    table: TableOf,
    pub queried_by: TableOf,
    pub walks: u32,
    pub is_first: bool,
}

impl WalkRound {
    /// Rounds through the moving, then the static table. In a self-query, static objects walk only the moving table.
    pub fn all(
        blocks: &mut Blocks,
        shape: &Shape,
        count: u32,
        test_iterations: u32,
        kept: u32,
        is_self_query: bool,
    ) -> Vec<Self> {
        let own = shape.params;
        let static_walks = Params {
            querier_count: own.static_count,
            ..own
        };
        let (has_statics, moving, statics) = (own.has_statics(), TableOf::Moving, TableOf::Static);
        let by_moving = if is_self_query { own.object_count } else { count };
        let mut walks = vec![(own, moving, moving, by_moving, [false, has_statics])];
        if has_statics {
            walks.push((own.of_statics(), statics, moving, by_moving, [true, false]));
            if is_self_query {
                walks.push((static_walks, moving, statics, own.static_count, [false, false]));
            }
        }
        let mut all = Vec::new();
        for (params, table, queried_by, walks, [continues, is_continued]) in walks {
            let params = blocks.push(&params);
            let rounds = shape.rounds_of(walks, test_iterations, kept).enumerate();
            all.extend(rounds.map(|(index, round)| Self {
                params,
                round: blocks.push(&Round {
                    continues: continues.into(),
                    is_continued: is_continued.into(),
                    ..round
                }),
                table,
                queried_by,
                walks,
                is_first: index == 0,
            }));
        }
        all
    }

    pub fn binds(&self, params: &Params, sorted: KeyValueBuffers) -> Vec<Binds> {
        let mut binds = vec![PARAMS.is_block(self.params), ROUND.is_block(self.round)];
        match self.table {
            TableOf::Moving => binds.extend(sorted.binds()),
            TableOf::Static => binds.extend(statics::binds(params)),
        }
        binds
    }
}
