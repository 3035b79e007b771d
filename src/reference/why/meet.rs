//! Where the passes put objects and bring two together: read off a trace, and off the walks of the passes themselves.

use super::answer::{Meeting, Party, Placed, Seat};
use crate::api::types::SweptRay;
use crate::layout::blocks::Overrides;
use crate::layout::grid::{HOME_FLAGS, ID_MASK, SCHEME_ADAPTIVE, place};
use crate::reference::look::Look;
use crate::reference::pairs::pair_static::walk_static_looks;
use crate::reference::pairs::pair_walk::{Test, walk_tests};
use crate::reference::queries::query_walk::{QueryReads, walk_query_looks};
use crate::reference::rays::ray::load_ray;
use crate::reference::rays::ray_hits::{HitVisitor, walk_ray};
use crate::reference::trace::Trace;

/// What the walks say about two.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Walked {
    pub meeting: Option<Meeting>,
    /// Whether a walk lets the two meet.
    pub is_accepted: bool,
    /// Their place in the list.
    pub place: Option<u64>,
    /// How many come before it by distance.
    pub rank: u32,
    /// At which parameter a ray hits.
    pub t: Option<f32>,
}

impl Walked {
    /// An accepted meeting counts more than one that is not.
    fn note(&mut self, meeting: Meeting, place: u64) {
        if self.is_accepted || (self.meeting.is_some() && !meeting.is_accepted) {
            return;
        }
        if meeting.is_accepted {
            self.is_accepted = true;
            self.place = Some(place);
        }
        self.meeting = Some(meeting);
    }
}

/// The sorted entries of an object of this table, without those of the cover table.
pub(super) fn entries_of(trace: &Trace, object: u32) -> Vec<u32> {
    let params = &trace.params;
    let own = object.wrapping_sub(params.first_object);
    let (count, wanted) = match params.is_uniform() {
        true => (trace.grid.entry_count, ID_MASK),
        false => (params.object_count, u32::MAX),
    };
    let named = if params.is_uniform() { own } else { own | HOME_FLAGS };
    let values = (0..count).zip(&trace.values);
    values
        .filter(|(_, value)| **value & wanted == named)
        .map(|(entry, _)| entry)
        .collect()
}

/// The table that an object lies in.
fn table_of(trace: &Trace, object: u32) -> &Trace {
    match trace.statics.as_deref() {
        Some(statics) if object < trace.params.static_count => statics,
        _ => trace,
    }
}

/// Where the table has an object.
pub(super) fn placed(trace: &Trace, object: u32) -> Placed {
    let table = table_of(trace, object);
    Placed {
        object,
        is_static: object < trace.params.static_count,
        seat: seat(table, object),
    }
}

fn seat(table: &Trace, object: u32) -> Seat {
    let (params, grid) = (&table.params, &table.grid);
    let entries = entries_of(table, object);
    let Some(&entry) = entries.first() else {
        return Seat::Nowhere;
    };
    let slot = table.keys[entry as usize];
    if slot >= params.absent_key(grid) {
        return Seat::Nowhere;
    }
    if slot >= grid.table_cells {
        return Seat::LargeList;
    }
    // As the pass `keys` or `entry_emit` has it.
    let placement = place(params, grid.base_inverse, &table.objects[object as usize]);
    let inverse = match grid.levels.get(placement.level as usize) {
        Some(level) => level.inverse,
        None => return Seat::LargeList,
    };
    let side = if params.scheme == SCHEME_ADAPTIVE { 2.0 } else { 1.0 } / inverse;
    if params.is_uniform() {
        return Seat::Cells {
            first: placement.lower,
            last: placement.upper,
            side,
        };
    }
    let [x, y, z] = placement.lower;
    Seat::Cell {
        level: placement.level,
        cell: [x >> grid.x_detail, y, z],
        side,
        slot,
    }
}

/// What the walks of two objects say, of which the first has the smaller index.
pub(super) fn pair(trace: &Trace, overrides: Overrides, a: u32, b: u32) -> Walked {
    if a < trace.params.static_count {
        return static_pair(trace, overrides, a, b);
    }
    let mut walked = Walked::default();
    let input = trace.reads().pairs();
    for (walker, met) in [(a, b), (b, a)] {
        for entry in entries_of(trace, walker) {
            let mut place = u64::from(trace.pair_offsets.get(entry as usize).copied().unwrap_or(0));
            walk_tests(&trace.params, &input, overrides, entry, |test| {
                let (is_there, is_pair, look) = match test {
                    Test::Of {
                        other, is_pair, look, ..
                    } => (other == met, is_pair, look),
                    Test::OfCluster { passed_over, look, .. } => {
                        (passed_over.iter().any(|other| other.object == met), false, look)
                    }
                };
                if is_there {
                    let look = look();
                    // Cells that share a slot by chance bring strangers together. That says nothing about the two.
                    let is_there = look.slots.contains(&trace.keys[entry as usize]) || !trace.params.is_uniform();
                    if is_pair || is_there {
                        walked.note(meeting(walker, met, false, look, is_pair), place);
                    }
                }
                place += u64::from(is_pair);
            });
        }
    }
    walked
}

fn meeting(walker: u32, met: u32, in_static_table: bool, look: Look, is_accepted: bool) -> Meeting {
    Meeting {
        walker: Party::Object(walker),
        met: Party::Object(met),
        in_static_table,
        look,
        is_accepted,
    }
}

/// A moving object walks the table of the static ones.
fn static_pair(trace: &Trace, overrides: Overrides, a: u32, b: u32) -> Walked {
    let mut walked = Walked::default();
    let Some(input) = trace.reads().static_pairs() else {
        return walked;
    };
    let params = &trace.params;
    let row = (0..params.object_count).find(|&row| input.own_records[row as usize].object == b);
    let Some(row) = row else {
        return walked;
    };
    let offset = trace.pair_offsets.get((params.entry_capacity + row) as usize);
    let mut place = u64::from(offset.copied().unwrap_or(0));
    walk_static_looks(params, &input, overrides, row, |other, look| {
        if other == a {
            walked.note(meeting(b, a, true, look(), true), place);
        }
        place += 1;
    });
    walked
}

/// All hits of a ray, one after the other.
struct Hits {
    object: u32,
    ray: Party,
    in_static_table: bool,
    look: Option<Look>,
    place: u64,
    walked: Walked,
}

impl HitVisitor for Hits {
    fn search_limit(&self) -> f32 {
        f32::MAX
    }

    fn accept_hit(&mut self, object: u32, t: f32) {
        if object == self.object
            && let Some(look) = self.look.clone()
        {
            let meeting = Meeting {
                walker: self.ray,
                met: Party::Object(object),
                in_static_table: self.in_static_table,
                look,
                is_accepted: true,
            };
            self.walked.note(meeting, self.place);
            self.walked.t = Some(t);
        }
        self.place += 1;
    }

    fn looks_at(&mut self, look: &dyn Fn() -> Look) {
        self.look = Some(look());
    }
}

/// What the walk of a ray says about an object.
pub(super) fn ray(
    trace: &Trace,
    overrides: Overrides,
    rays: &[SweptRay],
    [ray, object]: [u32; 2],
    given: &SweptRay,
) -> Walked {
    let mut hits = Hits {
        object,
        ray: Party::Ray(ray),
        in_static_table: false,
        look: None,
        place: u64::from(trace.ray_offsets.get(ray as usize).copied().unwrap_or(0)),
        walked: Walked::default(),
    };
    let loaded = load_ray(&trace.params, given);
    for (table, input) in trace.reads().rays(rays).iter().enumerate() {
        hits.in_static_table = table == 1;
        walk_ray(&trace.params, input, overrides, &loaded, &mut hits);
    }
    hits.walked
}

/// What the walks of a query say about an object.
pub(super) fn query(
    trace: &Trace,
    overrides: Overrides,
    walks: &[QueryReads<'_>],
    [query, object]: [u32; 2],
    who: Party,
) -> Walked {
    let params = &trace.params;
    let mut walked = Walked::default();
    let mut place = u64::from(trace.query_offsets.get(query as usize).copied().unwrap_or(0));
    let mut found = Vec::new();
    for (table, input) in walks.iter().enumerate() {
        for index in 0..input.count(params) {
            let (loaded, answer) = input.begin(params, index);
            if answer != query {
                continue;
            }
            walk_query_looks(params, input, overrides, &loaded, |other, distance, look| {
                if other == object {
                    let meeting = Meeting {
                        walker: who,
                        met: Party::Object(object),
                        in_static_table: table == 1,
                        look: look(),
                        is_accepted: true,
                    };
                    walked.note(meeting, place);
                }
                found.push((distance, other));
                place += 1;
            });
        }
    }
    if let Some(&own) = found.iter().find(|(_, other)| *other == object) {
        walked.rank = found.iter().filter(|&&other| other < own).count() as u32;
    }
    walked
}
