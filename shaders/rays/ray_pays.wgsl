// uses: common/entry, common/grid, common/rows, rays/ray, rays/ray_entry, rays/ray_passage
// needs: grid, takes_iterations

// Whether a level is walked by its cells. Entries may lie in many cells of a walk: then it is given up.

// Turns of loops that a slab takes beside those over its rows: its own, and that of a closer look.
const ITERATIONS_PER_SLAB: f32 = 2.0;

// A row of cells is about the work of as many box tests, and a step looks up some.
const TESTS_PER_STEP: f32 = 8.0;

struct Meetings {
    // Entries in the rows of the level's walk so far, and how many there may be before the walk is given up.
    count: u32,
    most: u32,
    // Walks that may not take a hit twice go ahead to learn whether that happens; the others give up on the way.
    is_ahead: bool,
}

var<private> meetings: Meetings;

// Whether so many steps, of some cells per axis each, take less than testing the level's objects one by one.
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
    // Hashed cells share slots: as many cells as slots meet every entry about once.
    let is_wide = any(ray.half_extents > vec3<f32>(0.0)) && level.table_mask != DENSE;
    let meets_all = is_wide && rows * breadth.x >= f32(level.table_size);
    let tests_fewer = f32(listing.count) > TESTS_PER_STEP * rows && !meets_all;
    meetings.count = 0u;
    meetings.most = select(0xffffffffu, MOST_MEETINGS * listing.count, listing.is_of_records);
    meetings.is_ahead = !accepts_again && grid.entry_count > meetings.most;
    // A loop takes one turn more than it walks through, and each row has a loop of its own.
    let iterations_ahead = select(1.0, 1.5, looks_ahead());
    let iterations = iterations_ahead * f32(steps) * (2.0 * (most.y + 1.0) * (most.z + 1.0) + ITERATIONS_PER_SLAB);
    return steps <= MAX_RAY_STEPS && tests_fewer && takes_iterations(iterations);
}

// Whether the walk only counts entries. Written so that schemes of one entry per object compile to nothing here.
fn looks_ahead() -> bool {
    return may_meet_again() && meetings.is_ahead;
}

// Whether the level is better looked at without cells, after all.
fn gives_up() -> bool {
    return may_meet_again() && meetings.count > meetings.most;
}

// Whether the walk so far only looked ahead, and found that it pays.
fn walks_again() -> bool {
    let again = looks_ahead() && !gives_up();
    meetings.is_ahead = false;
    meetings.count = select(meetings.count, 0u, again);
    return again;
}
