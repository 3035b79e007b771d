// uses: common/entry, common/grid, common/rows, rays/ray, rays/ray_entry, rays/ray_passage
// needs: grid, reserve_iterations

// Decides if a level is walked by cells. A walk that meets its objects too often on average is dropped.

// Loop iterations of a slab besides its rows: one for itself, one for a closer test.
const ITERATIONS_PER_SLAB: f32 = 2.0;

// Cost of a row of cells, in box tests.
const TESTS_PER_STEP: f32 = 8.0;

struct Meetings {
    // Entries met in rows of the level. The walk is dropped if they exceed `most`.
    count: u32,
    most: u32,
    // True while the walk only counts entries. Walks that must not accept a hit twice count first, since they cannot
    // stop midway.
    is_ahead: bool,
}

var<private> meetings: Meetings;

// True if a walk of `steps` slabs, of about `breadth` and at most `most` cells per axis, costs less than testing the
// level's objects.
fn cells_pay(
    ray: Ray,
    level: Level,
    steps: i32,
    breadth: vec3<f32>,
    most: vec3<f32>,
    accepts_again: bool,
) -> bool {
    let listing = listing_of(level, ray.world);
    let rows = f32(steps) * breadth.y * breadth.z;
    // Hashed cells share buckets, so a walk over `table_size` cells meets every entry about once.
    let is_wide = any(ray.half_extents > vec3<f32>(0.0)) && level.table_mask != DENSE;
    let meets_all = is_wide && rows * breadth.x >= f32(level.table_size);
    let tests_fewer = f32(listing.row.count) > TESTS_PER_STEP * rows && !meets_all;
    meetings.count = 0u;
    meetings.most = select(0xffffffffu, MAX_MEETINGS_PER_OBJECT * listing.row.count, listing.is_of_records);
    meetings.is_ahead = !accepts_again && grid.entry_count > meetings.most;
    // A loop over n items takes n + 1 iterations, and each row has a loop.
    let iterations_ahead = select(1.0, 1.5, counts_first());
    let iterations = iterations_ahead * f32(steps) * (2.0 * (most.y + 1.0) * (most.z + 1.0) + ITERATIONS_PER_SLAB);
    return steps <= MAX_RAY_STEPS && tests_fewer && reserve_iterations(iterations);
}

// False at compile time in schemes of one entry per object.
fn counts_first() -> bool {
    return may_meet_again() && meetings.is_ahead;
}

fn drops_level() -> bool {
    return may_meet_again() && meetings.count > meetings.most;
}

// True if the walk so far only counted entries, and is worth repeating.
fn walks_again() -> bool {
    let again = counts_first() && !drops_level();
    meetings.is_ahead = false;
    meetings.count = select(meetings.count, 0u, again);
    return again;
}
