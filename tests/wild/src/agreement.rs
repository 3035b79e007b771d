use std::collections::HashSet;
use std::fmt::Debug;
use std::ops::Range;

use gpu_broad_phase::reference::brute_force::{self, Found};
use gpu_broad_phase::{
    ALL_WORLDS, BroadPhaseDescriptor, Growth, NONE, NearestObject, Pair, Queries, QueryMode, RayHit, RayMode,
    ResultOrder, Scene, SelfQuery, Status, StepResult,
};

#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    pub pairs: Vec<Pair>,
    pub hits: Vec<Vec<RayHit>>,
    pub found: Vec<Found>,
}

impl Expected {
    /// Brute force, whose pairs and rays ignore periods.
    pub fn of(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> Self {
        let pairs = || brute_force::scene_pairs(descriptor, scene).unwrap();
        Self {
            pairs: descriptor.pairs.then(pairs).unwrap_or_default(),
            hits: brute_force::scene_rays(descriptor, scene).unwrap(),
            found: brute_force::scene_queries(descriptor, scene).unwrap(),
        }
    }

    /// Removes pairs that `admits` rejects. Its first parameter is the smaller index.
    pub fn retain_pairs(&mut self, scene: &Scene<'_>, admits: impl Fn(u32, u32) -> bool) {
        self.pairs.retain(|pair| admits(pair.a, pair.b));
        if let Queries::Objects(SelfQuery::Overlaps { .. }) = scene.query.queries {
            for (a, found) in (0u32..).zip(&mut self.found) {
                let is_admitted = |&(b, _): &(u32, f64)| admits(a.min(b), a.max(b));
                found.surely.retain(is_admitted);
                found.perhaps.retain(is_admitted);
            }
        }
    }
}

fn hit_bits(hit: &RayHit) -> (u32, u32) {
    (hit.object, hit.t.to_bits())
}

/// Panics unless `part` has distinct members of `whole`, which is sorted.
fn check_part<T: Copy + Debug + Ord>(part: &[T], whole: &[T], what: &str) {
    let mut sorted = part.to_vec();
    sorted.sort_unstable();
    let is_distinct = sorted.is_sorted_by(|a, b| a < b);
    assert!(is_distinct, "{what}: twice in {sorted:?}");
    let other = sorted.iter().find(|member| whole.binary_search(member).is_err());
    assert!(other.is_none(), "{what}: {other:?} is not in {whole:?}");
}

/// Also returns true if all rows were written. `ends` holds two offsets.
fn held(ends: &[u32], written: usize) -> (Range<usize>, bool) {
    let [from, to] = [ends[0], ends[1]].map(|end| end as usize);
    (from.min(written)..to.min(written), to <= written)
}

/// Panics unless `result` equals `expected`, or holds distinct members of it up to the capacity, and counts are exact.
pub fn check(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene<'_>,
    expected: &Expected,
    result: &StepResult,
    what: &str,
) {
    let counters = &result.counters;
    // A search that lacks entries or rounds finds only some of the results.
    let is_searched = !counters.status.has(Status::ENTRIES | Status::ROUNDS);
    let capacities = &descriptor.outputs.capacities;
    let check_count = |name: &str, held: usize, needed: u64, capacity: Option<u32>, status: Status| {
        let capacity = match capacity {
            Some(capacity) if descriptor.outputs.growth == Growth::Fixed => u64::from(capacity),
            _ => u64::MAX,
        };
        assert_eq!(held as u64, capacity.min(needed), "{what}: {name} held of {needed}");
        let fits = needed <= capacity;
        assert_eq!(!counters.status.has(status), fits, "{what}: status of {name}");
    };

    if descriptor.pairs {
        check_part(&result.pairs, &expected.pairs, &format!("{what}: pairs"));
        if is_searched {
            let needed = counters.pairs_needed;
            assert_eq!(needed, expected.pairs.len() as u64, "{what}: pairs");
            check_count("pairs", result.pairs.len(), needed, capacities.pairs, Status::PAIRS);
            let of_worlds = world_pairs(descriptor, scene, &expected.pairs);
            assert_eq!(result.world_pairs, of_worlds, "{what}");
        }
    }
    if descriptor.outputs.ray_cells && is_searched {
        let (held, needed) = (result.ray_cells.len(), counters.ray_cells_needed);
        check_count("ray cells", held, needed, capacities.ray_cells, Status::RAY_CELLS);
    }

    let bits = |hits: &[RayHit]| hits.iter().map(hit_bits).collect::<Vec<_>>();
    match descriptor.outputs.ray_mode {
        _ if scene.query.rays.is_empty() => {}
        RayMode::All => {
            assert_eq!(result.ray_offsets.len(), expected.hits.len() + 1, "{what}");
            for (ray, (ends, expected)) in result.ray_offsets.windows(2).zip(&expected.hits).enumerate() {
                let (range, is_complete) = held(ends, result.ray_hits.len());
                let (hits, whole) = (bits(&result.ray_hits[range]), bits(expected));
                let what = format!("{what}: hits of ray {ray}");
                check_part(&hits, &whole, &what);
                if is_searched {
                    assert_eq!((ends[1] - ends[0]) as usize, whole.len(), "{what}");
                    assert!(
                        !is_complete || hits.len() == whole.len(),
                        "{what}: {hits:?}, not {whole:?}"
                    );
                }
            }
            if is_searched {
                let needed = counters.hits_needed;
                assert_eq!(needed, expected.hits.concat().len() as u64, "{what}: hits");
                check_count("hits", result.ray_hits.len(), needed, capacities.hits, Status::HITS);
            }
        }
        RayMode::Closest if is_searched => {
            let closest: Vec<_> = expected.hits.iter().map(|hits| brute_force::closest(hits)).collect();
            assert_eq!(bits(&result.ray_hits), bits(&closest), "{what}: closest hits");
        }
        RayMode::Any if is_searched => {
            let any: Vec<_> = expected.hits.iter().map(|hits| u32::from(!hits.is_empty())).collect();
            assert_eq!(result.ray_any, any, "{what}: any hit");
        }
        _ => {}
    }

    match scene.query.query_mode {
        QueryMode::All if !expected.found.is_empty() => {
            assert_eq!(result.query_offsets.len(), expected.found.len() + 1, "{what}");
            for (query, (ends, found)) in result.query_offsets.windows(2).zip(&expected.found).enumerate() {
                let (range, is_complete) = held(ends, result.query_objects.len());
                check_found(
                    &result.query_objects[range],
                    found,
                    is_complete && is_searched,
                    &format!("{what}: query {query}"),
                );
            }
            let needed = counters.results_needed;
            assert_eq!(u64::from(result.query_offsets[expected.found.len()]), needed, "{what}");
            if is_searched {
                let held = result.query_objects.len();
                check_count("results", held, needed, capacities.results, Status::RESULTS);
            }
        }
        QueryMode::Nearest(wanted) if is_searched => {
            let wanted = wanted as usize;
            assert_eq!(result.query_nearest.len(), expected.found.len() * wanted, "{what}");
            for (query, (rows, found)) in result.query_nearest.chunks(wanted).zip(&expected.found).enumerate() {
                let what = format!("{what}: nearest of query {query}");
                check_nearest(rows, found, Slack::new(descriptor), &what);
            }
        }
        _ => {}
    }
}

/// Returns the number of pairs of each world, then of two objects of all worlds; nothing for one world.
fn world_pairs(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>, pairs: &[Pair]) -> Vec<u32> {
    if descriptor.worlds == 1 {
        return Vec::new();
    }
    let worlds = worlds_of(scene);
    let mut counts = vec![0; descriptor.worlds as usize + 1];
    for pair in pairs {
        counts[world_of(descriptor.worlds, &worlds, pair) as usize] += 1;
    }
    counts
}

fn worlds_of(scene: &Scene<'_>) -> Vec<u32> {
    let worlds = [scene.statics.worlds, scene.worlds].map(|worlds| worlds.elements().unwrap());
    worlds.concat()
}

/// Returns the number of worlds for two objects of all worlds.
pub fn world_of(count: u32, worlds: &[u32], pair: &Pair) -> u32 {
    let of_objects = [pair.a, pair.b].map(|object| worlds[object as usize]);
    let own = of_objects.into_iter().find(|&world| world != ALL_WORLDS);
    own.unwrap_or(count)
}

/// Panics unless sorted pairs come by world, then ascend, and offsets and incomplete worlds are exact.
pub fn check_worlds(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>, result: &StepResult, what: &str) {
    if descriptor.worlds == 1 || !descriptor.pairs || descriptor.outputs.order != ResultOrder::Sorted {
        assert!(result.world_offsets.is_empty(), "{what}: offsets of worlds");
        assert_eq!(result.incomplete_worlds().count(), 0, "{what}");
        return;
    }
    let worlds = worlds_of(scene);
    let of_pairs = result
        .pairs
        .iter()
        .map(|pair| (world_of(descriptor.worlds, &worlds, pair), *pair));
    let of_pairs: Vec<_> = of_pairs.collect();
    assert!(
        of_pairs.is_sorted_by(|a, b| a < b),
        "{what}: pairs are not sorted by world"
    );
    let before = |world: u32| of_pairs.iter().filter(|(own, _)| *own < world).count() as u32;
    let ends: Vec<_> = match descriptor.worlds {
        worlds @ ..100 => (0..worlds + 2).collect(),
        worlds => [0, 1, worlds / 2, worlds - 1, worlds, worlds + 1].to_vec(),
    };
    assert_eq!(result.world_offsets.len(), descriptor.worlds as usize + 2, "{what}");
    assert!(result.world_offsets.is_sorted(), "{what}");
    for world in ends {
        assert_eq!(
            result.world_offsets[world as usize],
            before(world),
            "{what}: offset of world {world}"
        );
    }
    let mut held = vec![0; descriptor.worlds as usize + 1];
    of_pairs.iter().for_each(|(world, _)| held[*world as usize] += 1);
    let incomplete = (0..)
        .zip(held.iter().zip(&result.world_pairs))
        .filter(|(_, (held, all))| held != all);
    let incomplete: Vec<u32> = incomplete.map(|(world, _)| world).collect();
    assert_eq!(
        result.incomplete_worlds().collect::<Vec<_>>(),
        incomplete,
        "{what}: incomplete worlds"
    );
}

/// Panics unless the cells of each ray are distinct, finest level first, and sorted results ascend.
pub fn check_order(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>, result: &StepResult, what: &str) {
    check_cells(result, what);
    check_worlds(descriptor, scene, result, what);
    if descriptor.outputs.order != ResultOrder::Sorted {
        return;
    }
    let ascend = |offsets: &[u32], rows: &[u32]| {
        offsets.windows(2).all(|ends| {
            let (range, _) = held(ends, rows.len());
            rows[range].is_sorted_by(|a, b| a < b)
        })
    };
    let objects: Vec<_> = result.ray_hits.iter().map(|hit| hit.object).collect();
    let is_sorted = (descriptor.worlds > 1 || result.pairs.is_sorted_by(|a, b| a < b))
        && ascend(&result.ray_offsets, &objects)
        && ascend(&result.query_offsets, &result.query_objects);
    assert!(is_sorted, "{what}: sorted results do not ascend");
}

fn check_cells(result: &StepResult, what: &str) {
    for (ray, ends) in result.ray_cell_offsets.windows(2).enumerate() {
        let (range, _) = held(ends, result.ray_cells.len());
        let mut cells = result.ray_cells[range].to_vec();
        assert!(cells.is_sorted_by_key(|cell| cell.level), "{what}: levels of ray {ray}");
        cells.sort_unstable();
        assert!(cells.is_sorted_by(|a, b| a < b), "{what}: a cell of ray {ray} twice");
    }
}

fn possible(found: &Found) -> (Vec<u32>, Vec<f64>) {
    let mut possible: Vec<_> = found.surely.iter().chain(&found.perhaps).copied().collect();
    possible.sort_by_key(|&(object, _)| object);
    possible.into_iter().unzip()
}

fn check_found(list: &[u32], found: &Found, is_complete: bool, what: &str) {
    check_part(list, &possible(found).0, what);
    let listed: HashSet<_> = list.iter().collect();
    let lost = found.surely.iter().find(|(object, _)| !listed.contains(object));
    assert!(!is_complete || lost.is_none(), "{what}: {lost:?} is not in {list:?}");
}

#[derive(Clone, Copy)]
struct Slack {
    /// Largest rounding error of moving a position by periods; 0 without periods.
    moved: f64,
}

impl Slack {
    fn new(descriptor: &BroadPhaseDescriptor<'_>) -> Self {
        let longest = descriptor.periods.into_iter().fold(0.0, f32::max);
        Self {
            moved: f64::from(longest) * 2f64.powi(-22),
        }
    }

    /// Tolerance of `distance`. Squares are rounded to 24 bits, and denormal positions count as 0.
    fn of(self, distance: f64) -> f64 {
        1e-6 * distance + 8.0 * f64::from(f32::MIN_POSITIVE) + self.moved
    }

    fn admits(self, squared: f32, distance: f64) -> bool {
        let slack = self.of(distance);
        let largest = (distance + slack).powi(2) + f64::from(f32::MIN_POSITIVE);
        let smallest = (distance - slack).max(0.0).powi(2) - f64::from(f32::MIN_POSITIVE);
        smallest <= f64::from(squared) && (f64::from(squared) <= largest || largest > f64::from(f32::MAX))
    }

    fn is_no_farther(self, near: f64, far: f64) -> bool {
        near.min(f64::from(f32::MAX)) <= far + self.of(far)
    }
}

fn check_nearest(rows: &[NearestObject], found: &Found, slack: Slack, what: &str) {
    let count = rows.iter().take_while(|row| row.object != NONE).count();
    let (rows, rest) = rows.split_at(count);
    assert!(rest.iter().all(|row| *row == NearestObject::NONE), "{what}: {rest:?}");
    let is_full = count >= found.surely.len().min(count + rest.len());
    assert!(is_full, "{what}: {rows:?}, not {found:?}");
    let objects: Vec<_> = rows.iter().map(|row| row.object).collect();
    let (possible, distances) = possible(found);
    check_part(&objects, &possible, what);
    let exact = rows.iter().map(|row| {
        let distance = distances[possible.partition_point(|&object| object < row.object)];
        let is_near = slack.admits(row.squared_distance, distance);
        assert!(is_near, "{what}: {row:?}, not at {distance}");
        distance
    });
    let exact: Vec<_> = exact.collect();
    // Equal distances are ordered by index, unless their squares are 0, denormal or infinite.
    let is_ordered = |two: &[NearestObject]| {
        let [near, far] = [two[0].squared_distance, two[1].squared_distance];
        near < far || (near == far && (two[0].object < two[1].object || !near.is_normal()))
    };
    assert!(rows.windows(2).all(is_ordered), "{what}: {rows:?}");
    let ascends = exact.windows(2).all(|two| slack.is_no_farther(two[0], two[1]));
    assert!(ascends, "{what}: {rows:?} are {exact:?} away");
    // If all rows are used, no missing object is nearer than the last row, within the tolerance.
    if let Some(&last) = exact.last().filter(|_| rest.is_empty()) {
        let is_nearer = |&&(object, distance): &&_| !objects.contains(&object) && !slack.is_no_farther(last, distance);
        let left_out = found.surely.iter().find(is_nearer);
        assert!(left_out.is_none(), "{what}: {left_out:?} is left out of {rows:?}");
    }
}
