use super::lists::WalkRows;
use super::ray_search;
use super::trees::Trees;
use crate::api::types::{Pair, RayHit};
use crate::layout::blocks::{Overrides, PairBlocks, RayBlocks};
use crate::reference::pairs::pair_static::{StaticPairReads, walk_static};
use crate::reference::pairs::pair_walk::{PairReads, walk_pairs};
use crate::reference::rays::ray::{LARGEST_FLOAT, load_ray};
use crate::reference::rays::ray_hits::{HitVisitor, RayReads, rays_of};
use crate::shared::runs::Walked;

pub(super) struct PairWalks<'a> {
    pub params: &'a PairBlocks,
    pub input: PairReads<'a>,
    pub overrides: Overrides,
}

impl WalkRows for PairWalks<'_> {
    type Found = Pair;

    fn walk(&self, row: u32, mut accept: impl FnMut(Pair)) -> Walked {
        let found = |own: u32, other: u32| accept(Pair::new(own, other));
        Walked {
            candidates: walk_pairs(self.params, &self.input, self.overrides, row, found),
            ..Walked::default()
        }
    }
}

pub(super) struct StaticPairWalks<'a> {
    pub params: &'a PairBlocks,
    pub input: StaticPairReads<'a>,
    pub overrides: Overrides,
}

impl WalkRows for StaticPairWalks<'_> {
    type Found = Pair;

    fn walk(&self, row: u32, mut accept: impl FnMut(Pair)) -> Walked {
        let own = self.input.own_records[row as usize].object;
        let found = |other: u32| accept(Pair::new(own, other));
        Walked {
            candidates: walk_static(self.params, &self.input, self.overrides, row, found),
            ..Walked::default()
        }
    }
}

pub(super) struct RayWalks<'a> {
    pub params: &'a RayBlocks,
    pub tables: &'a [RayReads<'a>],
    /// As in [`ray_search::walk`].
    pub trees: &'a [&'a Trees],
    pub overrides: Overrides,
}

impl WalkRows for RayWalks<'_> {
    type Found = RayHit;

    fn walk(&self, row: u32, accept: impl FnMut(RayHit)) -> Walked {
        let ray = load_ray(self.params, &rays_of(self.tables)[row as usize]);
        let each = &mut Each(accept);
        ray_search::walk(self.params, self.tables, self.trees, self.overrides, &ray, each)
    }
}

struct Each<F>(F);

impl<F: FnMut(RayHit)> HitVisitor for Each<F> {
    fn search_limit(&self) -> f32 {
        LARGEST_FLOAT
    }

    fn accept_hit(&mut self, object: u32, t: f32) {
        self.0(RayHit { object, t });
    }
}
