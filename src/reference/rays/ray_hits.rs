//! Reference passes of `shaders/rays/ray_hits.wgsl`, `shaders/rays/ray_entry.wgsl`, `shaders/rays/ray_pays.wgsl` and
//! `shaders/common/entry.wgsl`.

use std::ops::Range;

use super::ray::{LoadedRay, enter_box};
use super::ray_walk::{MAX_RAY_STEPS, SlabVisitor, Visit, per_axis, walk_levels};
use crate::api::types::{Aabb, SweptRay};
use crate::layout::blocks::{Iterations, Overrides, RayBlocks};
use crate::layout::grid::{
    DENSE, ID_MASK, Level, Record, SCHEME_UNIFORM, cell_of, flush, key_of, unordered, worlds_meet,
};
use crate::reference::pairs::pair_walk::passes_layers;
use crate::reference::rows::{CellTable, Listing};
use crate::shared::runs::Walked;

const ITERATIONS_PER_SLAB: f32 = 2.0;
const TESTS_PER_STEP: f32 = 8.0;
const MAX_MEETINGS_PER_OBJECT: u32 = 4;

#[derive(Clone, Copy, Debug)]
pub struct RayReads<'a> {
    pub table: CellTable<'a>,
    pub rays: &'a [SweptRay],
    pub objects: &'a [Aabb],
    /// Sorted; read in the uniform scheme.
    pub values: &'a [u32],
}

/// Receives the hits of a pass.
pub trait HitVisitor {
    /// True to begin the hierarchical scheme with the coarsest level.
    const COARSE_FIRST: bool = false;
    /// True if accepting a hit twice does no harm.
    const ACCEPTS_AGAIN: bool = false;
    /// Largest parameter of hits that matter; negative to end the walk.
    fn search_limit(&self) -> f32;
    /// Returns false if a hit would not be accepted. Searches of trees call it before the exact test of a box. `passes`
    /// is the test of layers.
    fn may_accept(&mut self, _object: u32, _passes: impl Fn() -> bool) -> bool {
        true
    }
    /// Accepts a hit. Called once per object of a walk, unless [`ACCEPTS_AGAIN`](Self::ACCEPTS_AGAIN).
    fn accept_hit(&mut self, object: u32, t: f32);
    /// Called before each range of entries that the walk reads.
    fn reads_range(&mut self) {}
}

struct Walk<'a, V> {
    params: &'a RayBlocks,
    input: &'a RayReads<'a>,
    overrides: Overrides,
    ray: &'a LoadedRay,
    visitor: &'a mut V,
    candidates: u32,
    iterations: Iterations,
    meetings: u32,
    most_meetings: u32,
    is_ahead: bool,
}

pub(crate) fn rays_of<'a>(tables: &[RayReads<'a>]) -> &'a [SweptRay] {
    tables.first().map(|input| input.rays).unwrap_or_default()
}

pub(crate) fn ray_count_of(params: &RayBlocks, tables: &[RayReads<'_>]) -> u32 {
    params.rays.count.min(rays_of(tables).len() as u32)
}

pub(crate) fn walk_tables(
    params: &RayBlocks,
    tables: &[RayReads<'_>],
    overrides: Overrides,
    ray: &LoadedRay,
    visitor: &mut impl HitVisitor,
) -> Walked {
    let candidates = tables
        .iter()
        .map(|input| walk_ray(params, input, overrides, ray, visitor));
    Walked {
        candidates: candidates.fold(0, u32::wrapping_add),
        is_invalid: !ray.valid,
    }
}

/// Walks a ray and passes its hits to the visitor. Returns the number of box tests, 0 if not counted.
pub fn walk_ray(
    params: &RayBlocks,
    input: &RayReads<'_>,
    overrides: Overrides,
    ray: &LoadedRay,
    visitor: &mut impl HitVisitor,
) -> u32 {
    if !ray.valid || ray.t_max < 0.0 {
        return 0;
    }
    let mut walk = Walk {
        params,
        input,
        overrides,
        ray,
        visitor,
        candidates: 0,
        iterations: Iterations::default(),
        meetings: 0,
        most_meetings: u32::MAX,
        is_ahead: false,
    };
    for entries in input.table.large(params, ray.world) {
        walk.visitor.reads_range();
        walk.test_all(Listing::Entries(entries));
    }
    walk_levels(params, input.table.grid, ray, &mut walk);
    if overrides.count_candidates { walk.candidates } else { 0 }
}

impl<V: HitVisitor> Walk<'_, V> {
    fn is_uniform(&self) -> bool {
        self.params.scheme == SCHEME_UNIFORM
    }

    fn is_done(&self) -> bool {
        self.visitor.search_limit() < 0.0
    }

    fn accept(&mut self, object: u32, t: f32) {
        let passes = || passes_layers(self.ray.layers, self.input.objects[object as usize].layers);
        if !self.overrides.filters || passes() {
            self.visitor.accept_hit(object, t);
        }
    }

    fn record(&self, entry: u32) -> &Record {
        let record = if self.is_uniform() {
            self.input.values[entry as usize] & ID_MASK
        } else {
            entry
        };
        &self.input.table.records[record as usize]
    }

    fn is_first_visit(&self, level: &Level, entry: u32, visit: &Visit, y: i32, z: i32) -> bool {
        let record = self.record(entry);
        let inverse = self.params.axis_inverse(level.inverse, self.input.table.grid.stretch);
        let cell = |corner: [i32; 3]| cell_of(self.params.scheme, corner.map(|bound| flush(unordered(bound))), inverse);
        let lower = cell(record.low);
        if !self.is_uniform() {
            return lower[1] == y && lower[2] == z && (visit.lower[0]..=visit.upper[0]).contains(&lower[0]);
        }
        let upper = cell(record.high);
        if (0..3).all(|axis| lower[axis] <= visit.previous_upper[axis] && visit.previous_lower[axis] <= upper[axis]) {
            return false;
        }
        let first = per_axis(|axis| lower[axis].max(visit.lower[axis]));
        (0..3).all(|axis| first[axis] <= upper[axis].min(visit.upper[axis])) && first[1] == y && first[2] == z && {
            let key = key_of(level, first, self.ray.world) as usize;
            let starts = self.input.table.starts;
            (starts[key]..starts[key + 1]).contains(&entry)
        }
    }

    fn test_entries(&mut self, entries: Range<u32>, is_looked_for: impl Fn(&Self, u32) -> bool) {
        let table = self.input.table;
        for (cluster, members) in table.clustered(entries) {
            if self.is_done() {
                return;
            }
            if let Some(cluster) = cluster {
                self.candidates = self.candidates.wrapping_add(1);
                let limit = self.visitor.search_limit();
                if enter_box(self.ray, &cluster.low, &cluster.high).is_none_or(|t| t > limit) {
                    continue;
                }
            }
            for entry in members {
                if self.is_done() {
                    return;
                }
                self.test_record(*self.record(entry), |walk| is_looked_for(walk, entry));
            }
        }
    }

    fn test_all(&mut self, listing: Listing) {
        let RayReads {
            table, objects, values, ..
        } = self.input;
        if let (false, Listing::Entries(entries)) = (self.is_uniform(), &listing) {
            self.test_entries(entries.clone(), |_, _| true);
            return;
        }
        for record in table.records_of(self.params, listing, objects, values) {
            if self.is_done() {
                break;
            }
            self.test_record(*record, |_| true);
        }
    }

    fn test_record(&mut self, record: Record, is_looked_for: impl Fn(&Self) -> bool) {
        self.candidates = self.candidates.wrapping_add(1);
        if let Some(t) = enter_box(self.ray, &record.low, &record.high)
            && worlds_meet(record.world, self.ray.world)
            && is_looked_for(self)
        {
            self.accept(record.object, t);
        }
    }
}

impl<V: HitVisitor> SlabVisitor for Walk<'_, V> {
    const COARSE_FIRST: bool = V::COARSE_FIRST;

    fn search_limit(&self) -> f32 {
        self.visitor.search_limit()
    }

    fn walk_pays(&mut self, level: &Level, steps: i32, breadth: [f32; 3], most: [f32; 3]) -> bool {
        let listing = self.input.table.listing(self.params, level, self.ray.world);
        let places = self.input.table.places(&listing);
        let rows = steps as f32 * breadth[1] * breadth[2];
        let is_wide = self.ray.half_extents.iter().any(|&extent| extent > 0.0) && level.table_mask != DENSE;
        let meets_all = is_wide && rows * breadth[0] >= level.table_size as f32;
        let tests_fewer = places as f32 > TESTS_PER_STEP * rows && !meets_all;
        self.meetings = 0;
        self.most_meetings = match listing {
            Listing::Entries(_) => u32::MAX,
            Listing::Records => MAX_MEETINGS_PER_OBJECT * places,
        };
        self.is_ahead = !V::ACCEPTS_AGAIN && self.input.table.grid.entry_count > self.most_meetings;
        let iterations_ahead = if self.is_ahead { 1.5 } else { 1.0 };
        let iterations =
            iterations_ahead * steps as f32 * (2.0 * (most[1] + 1.0) * (most[2] + 1.0) + ITERATIONS_PER_SLAB);
        steps <= MAX_RAY_STEPS && tests_fewer && self.iterations.take(iterations)
    }

    fn without_cells(&mut self, level: &Level) {
        self.visitor.reads_range();
        self.test_all(self.input.table.listing(self.params, level, self.ray.world));
    }

    fn visit_slab(&mut self, level: &Level, visit: &Visit) {
        for z in visit.lower[2].max(level.lower_z)..=visit.upper[2].min(level.upper_z) {
            for y in visit.lower[1].max(level.lower_y)..=visit.upper[1].min(level.upper_y) {
                let row = self
                    .input
                    .table
                    .row(level, visit.lower[0], visit.upper[0], y, z, self.ray.world);
                let count = row.iter().map(|range| range.end - range.start).sum();
                self.meetings = self.meetings.saturating_add(count);
                if self.drops_level() {
                    return;
                }
                if self.is_ahead {
                    continue;
                }
                for entries in row {
                    self.visitor.reads_range();
                    self.test_entries(entries, |walk, entry| walk.is_first_visit(level, entry, visit, y, z));
                    if self.is_done() {
                        return;
                    }
                }
            }
        }
    }

    fn drops_level(&self) -> bool {
        self.meetings > self.most_meetings
    }

    fn walks_again(&mut self) -> bool {
        let again = self.is_ahead && !self.drops_level();
        self.is_ahead = false;
        if again {
            self.meetings = 0;
        }
        again
    }
}
