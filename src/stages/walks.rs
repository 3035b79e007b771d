use super::shape::variable::ROUND;
use super::sort::KeyValueBuffers;
use super::table::{PARAMS, statics};
use crate::gpu::passes::Binds;
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

/// Blocks of the moving and the static table.
#[derive(Clone, Copy)]
pub(crate) struct TableBlocks {
    pub moving: Block,
    pub statics: Option<Block>,
}

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
        tables: TableBlocks,
        own: &Params,
        count: u32,
        is_self_query: bool,
        rounds: impl Fn(u32) -> Vec<Round>,
    ) -> Vec<Self> {
        let (moving, statics) = (TableOf::Moving, TableOf::Static);
        let by_moving = if is_self_query { own.object_count } else { count };
        let has_statics = tables.statics.is_some();
        let mut walks = vec![(tables.moving, moving, moving, by_moving, [false, has_statics])];
        if let Some(block) = tables.statics {
            walks.push((block, statics, moving, by_moving, [true, false]));
            if is_self_query {
                walks.push((tables.moving, moving, statics, own.static_count, [false, false]));
            }
        }
        let mut all = Vec::new();
        for (params, table, queried_by, walks, [continues, is_continued]) in walks {
            all.extend(rounds(walks).into_iter().enumerate().map(|(index, round)| Self {
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

    pub fn binds(&self, is_uniform: bool, sorted: KeyValueBuffers) -> Vec<Binds> {
        let mut binds = vec![PARAMS.is_block(self.params), ROUND.is_block(self.round)];
        match self.table {
            TableOf::Moving => binds.extend(sorted.binds()),
            TableOf::Static => binds.extend(statics::binds(is_uniform)),
        }
        binds
    }
}
