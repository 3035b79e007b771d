// uses: common/box, common/candidates, common/cells, common/counters, common/grid, common/prelude, common/round
// uses: common/round_counters, common/rows, common/workgroup, queries/query, queries/query_cells, queries/query_input
// uses: queries/query_params, queries/query_walk

// Finds the `query_params.nearest` nearest objects of each query, by distance, then index. A result is an object and a
// squared distance, an integer until the walk is done, then a float.
//
// Results shorten the rest of the walk, so a round resumes at a stored ring, not at a test number. The state for later
// rounds follows the results.

@group(0) @binding(7) var<storage, read_write> query_nearest: array<vec2<u32>>;

const INFINITY_BITS: u32 = 0x7f800000u;
// Two-word vectors of state per query.
const STATE_VECTORS: u32 = 3u;

var<private> answer: u32;
// Largest distance that still counts: that of the last result, once there are `query_params.nearest` results.
var<private> limit: u32 = MISS;
// Number of the current ring's tests made in earlier rounds.
var<private> skipped: u32;

fn level_at(place: u32) -> Level {
    return grid.levels[min(place | unknown_zero(), MAX_LEVELS - 1u)];
}

fn first_slot() -> u32 {
    return answer * query_params.nearest;
}

fn state() -> u32 {
    return query_params.count * query_params.nearest + STATE_VECTORS * answer;
}

fn distance_limit() -> u32 {
    return limit;
}

fn is_before(place: vec2<u32>, other: vec2<u32>) -> bool {
    return place.y < other.y || (place.y == other.y && place.x < other.x);
}

// Inserts a result. If the object is a result already, the smaller of its rounded distances counts.
fn accept_result(query: Query, object: u32, distance: u32) {
    var moved = vec2<u32>(object, distance);
    var slot = first_slot();
    let end = slot + found;
    var is_held = false;
    for (; slot < end && !is_held; slot += 1u) {
        let held = query_nearest[slot];
        is_held = held.x == object;
        if (is_before(moved, held)) {
            query_nearest[slot] = moved;
            moved = held;
        }
    }
    if (!is_held && found < query_params.nearest) {
        query_nearest[slot] = moved;
        found += 1u;
    }
    update_limit();
}

fn update_limit() {
    if (found == query_params.nearest) {
        limit = query_nearest[first_slot() + found - 1u].y;
    }
}

// The walk visits the large list. On each level, it then visits the rows of cells within a growing sphere, until no
// object outside the sphere can be among the nearest. A ring is a sphere without the previous one.
//
// An object may be found repeatedly, and also outside the ring. Its distance then bounds later rings. If the querier
// has images, each sphere is visited in full, and only objects within it count, as another image may be nearer to the
// rest.

const SMALLEST_RADIUS: f32 = 0x1p-126;
// Relative margin, larger than all rounding of distances and cell bounds.
const RING_SLACK: f32 = 0x1p-20;
// Stands for the large list in `Ring.place`.
const LARGE_LIST: u32 = 33u;
const NO_RING: f32 = -1.0;

struct Ring {
    // A level, LARGE_LIST, or NO_LEVEL at the end.
    place: u32,
    // NO_RING at the start of a level.
    radius: f32,
    // Radius of the finished previous ring, or NO_RING.
    inner: f32,
}

// Position of a query relative to a level's cells.
struct Apart {
    own_lower: vec3<i32>,
    own_upper: vec3<i32>,
    sides: vec3<f32>,
    // Largest absolute coordinate per axis.
    position: vec3<f32>,
}

fn corners_of(original: Query) -> array<vec3<f32>, 2> {
    let query = again(original);
    let largest = vec3<i32>(0x7f7fffff);
    let low = flush_bits(unordered(max(query.low, -largest)));
    return array<vec3<f32>, 2>(low, flush_bits(unordered(min(query.high, largest))));
}

fn apart_of(query: Query, level: Level) -> Apart {
    let inverse = axis_inverse(level.inverse, grid.stretch);
    let corners = corners_of(query);
    // In the adaptive scheme, `level.inverse` is 1 / (half a cell).
    let unit = select(1.0, 2.0, SCHEME == SCHEME_ADAPTIVE);
    return Apart(
        cell_of(corners[0], inverse) - 1 - reach_of_objects(query),
        cell_of(corners[1], inverse) + 1,
        vec3<f32>(unit) / inverse,
        max(abs(corners[0]), abs(corners[1])),
    );
}

// Lower bound of the distance to objects in the cells, per axis, with a margin for all rounding.
fn gaps_to(apart: Apart, lower: vec3<i32>, upper: vec3<i32>) -> vec3<f32> {
    let cells = max(max(apart.own_lower - upper, lower - apart.own_upper), vec3<i32>(0));
    let gap = vec3<f32>(cells) * apart.sides;
    return max(gap - (gap + apart.position) * RING_SLACK, vec3<f32>(0.0));
}

fn lower_bounds(level: Level) -> vec3<i32> {
    return vec3<i32>(level.lower_x, level.lower_y, level.lower_z);
}

fn upper_bounds(level: Level) -> vec3<i32> {
    return vec3<i32>(level.upper_x, level.upper_y, level.upper_z);
}

fn squared_radius(radius: f32) -> u32 {
    return distance_key(vec3<f32>(radius, 0.0, 0.0));
}

fn is_periodic(query: Query) -> bool {
    return PERIODIC && any(has_period(query));
}

fn gap_before(query: Query, level: Level) -> f32 {
    if (is_periodic(query)) {
        return 0.0;
    }
    let gaps = gaps_to(apart_of(query, level), lower_bounds(level), upper_bounds(level));
    let largest = max(max(gaps.x, gaps.y), max(gaps.z, SMALLEST_RADIUS));
    let shares = gaps / largest;
    let length = sqrt(shares.x * shares.x + shares.y * shares.y + shares.z * shares.z);
    return min(0.25 * largest * length, 0.125 * LARGEST_FLOAT) * 4.0;
}

// Depth of the first ring: a quarter to half of the shortest side of a cell.
fn first_depth(level: Level) -> f32 {
    return bitcast<f32>((252u - min(bitcast<u32>(level.inverse) >> 23u, 251u)) << 23u);
}

// Doubles the part of `radius` beyond `before`, the distance to the level.
fn next_radius(radius: f32, before: f32) -> f32 {
    let depth = max(radius - before, radius * RING_SLACK);
    return select(radius + depth, LARGEST_FLOAT, radius > 0.25 * LARGEST_FLOAT);
}

// Limits `radius` to the query's radius and to the largest distance that still counts.
fn bounded(query: Query, radius: f32) -> f32 {
    let needed = sqrt(bitcast<f32>(min(squared_bits(distance_limit()), 0x7f7fffffu))) * (1.0 + RING_SLACK);
    let is_enough = squared_radius(needed) >= distance_limit();
    return min(max(select(radius, min(radius, needed), is_enough), SMALLEST_RADIUS), query.radius);
}

fn query_within(original: Query, radius: f32) -> Query {
    var query = original;
    query.radius = radius;
    let fresh = with_search_bounds(again(query), vec3<f32>(0.0));
    query.search_min = fresh.search_min;
    query.search_max = fresh.search_max;
    return with_images(query);
}

// The fullest level comes first: it is likely to bound the walks of the others.
fn next_level(place: u32) -> u32 {
    if (place == LARGE_LIST) {
        return grid.fullest_level;
    }
    let others = grid.occupied & ~(1u << min(grid.fullest_level, MAX_LEVELS - 1u));
    let rest = others & select(0xfffffffeu << min(place, MAX_LEVELS - 1u), 0xffffffffu, place == grid.fullest_level);
    return select(firstTrailingBit(rest), NO_LEVEL, rest == 0u);
}

fn listing_at(place: u32, level: Level, world: u32) -> Listing {
    if (place == LARGE_LIST) {
        return Listing(large_list(world), false);
    }
    return listing_of(level, world);
}

fn look_of_ring(query: Query, ring: Ring, level: Level) -> u32 {
    if (listing_at(ring.place, level, query.world).row.count == 0u || ring.place == LARGE_LIST) {
        return LOOKS_AT_ALL;
    }
    let within = query_within(query, ring.radius);
    let look = look_of(within, second_images(within), level);
    // If an image spans the level, all objects are tested, with their nearest image.
    if (is_periodic(query) && spans(image_of(within, 0u), level)) {
        return LOOKS_AT_ALL;
    }
    // A row through the previous ring is visited in two parts, one on each side.
    let counts = cell_counts(cells_of(query_within(query, ring.inner), level), level);
    let more_iterations = select(row_iterations() * counts.y * counts.z, 0.0, ring.inner < 0.0);
    if (look != LOOKS_AT_ALL && !reserve_iterations(1.0 + more_iterations)) {
        return LOOKS_AT_ALL;
    }
    return look;
}

fn spans(query: Query, level: Level) -> bool {
    let cells = cells_of(query, level);
    return all(cells.lower == lower_bounds(level)) && all(cells.upper == upper_bounds(level));
}

fn is_covered(query: Query, ring: Ring, level: Level) -> bool {
    let lower = lower_bounds(level);
    let upper = upper_bounds(level);
    let apart = apart_of(query, level);
    let nearest = gaps_to(apart, lower, upper);
    let farthest = max(gaps_to(apart, lower, lower), gaps_to(apart, upper, upper));
    let distance = distance_key(vec3<f32>(nearest.x, farthest.yz));
    return spans(query_within(query, ring.radius), level) && distance <= squared_radius(ring.radius);
}

fn next_ring(query: Query, ring: Ring, level: Level, look: u32) -> Ring {
    let is_far_enough = !(ring.radius < query.radius) || distance_limit() <= squared_radius(ring.radius);
    let covers = !is_periodic(query) && is_covered(query, ring, level);
    if (look == LOOKS_AT_ALL || is_far_enough || covers) {
        return Ring(next_level(ring.place | unknown_zero()), NO_RING, NO_RING);
    }
    let radius = bounded(query, next_radius(ring.radius, gap_before(query, level)));
    return Ring(ring.place, radius, select(ring.radius, NO_RING, is_periodic(query)));
}

// Cells with buckets along x.
fn in_buckets(cells: Cells, level: Level) -> Cells {
    let shifts = vec3<u32>(level.x_shift, 0u, 0u);
    return Cells(cells.lower >> shifts, cells.upper >> shifts);
}

// Visits the rows within the ring's radius, except cells of earlier rings.
fn walk_ring(original: Query, index: u32, ring: Ring) {
    let level = level_at(ring.place);
    let image = image_of(query_within(original, ring.radius), index);
    var query = original;
    query.images = image.images;
    query.farthest = farthest_of(select(again(original).radius, ring.radius, is_periodic(original)));
    let ring_cells = cells_of(image, level);
    let cells = in_buckets(ring_cells, level);
    let lower = cells.lower;
    let upper = cells.upper;
    let inner_cells = cells_of(query_within(original, ring.inner), level);
    let has_visited = ring.inner >= 0.0 && all(inner_cells.lower <= inner_cells.upper);
    let visited = in_buckets(inner_cells, level);
    let apart = apart_of(original, level);
    let far = squared_radius(ring.radius);
    let visited_far = squared_radius(ring.inner);
    let gap_x = gaps_to(apart, lower_bounds(level), upper_bounds(level)).x;
    let next_z = level.stride_z - u32(upper.y - lower.y) * level.stride_y;
    var y = lower.y;
    var z = select(upper.z + 1, lower.z, all(ring_cells.lower <= ring_cells.upper));
    var slot = unmasked_bucket_of(level, lower.x, y, z, original.world);
    var is_behind = false;
    for (; z <= upper.z;) {
        let gaps = gaps_to(apart, vec3<i32>(0, y, z), vec3<i32>(0, y, z));
        let distance = select(distance_key(vec3<f32>(gap_x, gaps.yz)), 0u, is_periodic(original));
        let is_inside = all(visited.lower.yz <= vec2<i32>(y, z)) && all(vec2<i32>(y, z) <= visited.upper.yz);
        let is_split = has_visited && is_inside && distance <= visited_far;
        let first_x = select(lower.x, visited.upper.x + 1, is_behind);
        let last_x = select(select(upper.x, visited.lower.x - 1, is_split), upper.x, is_behind);
        var row = Row(0u, 0u, 0u, 0u);
        if (first_x <= last_x && distance <= far) {
            let from_slot = slot + u32(first_x - lower.x);
            row = long_row_at(level.table_base, level.table_mask, from_slot, u32(last_x - first_x));
        }
        let share = tests_in_round(row.count);
        var members_end = members_end_of(query, share.x, share.y);
        for (var k = share.x; k < share.y;) {
            let entry = row_entry(row, k);
            let past = cluster_end(k, entry, range_end(row, k, share.y));
            let is_member = !walks_clusters() || past <= members_end;
            members_end = select(past, members_end, is_member);
            let record = tested_record(entry_record(entry), is_member);
            let found_distance = distance_of(query, record, is_member);
            if (found_distance != MISS && is_member) {
                accept_if_admitted(query, record, found_distance);
            }
            k = select(select(k, members_end, found_distance == MISS), k + 1u, is_member);
        }
        is_behind = is_split && !is_behind;
        let is_last = y == upper.y;
        slot += select(select(level.stride_y, next_z, is_last), 0u, is_behind);
        z += select(0, 1, is_last && !is_behind);
        y = select(select(y + 1, lower.y, is_last), y, is_behind);
    }
}

// Walks from `begun` to the end of the round. Returns the ring to continue with; its place is NO_LEVEL at the end.
fn walk_rings(query: Query, begun: Ring) -> Ring {
    var ring = begun;
    for (; ring.place != NO_LEVEL && tests_after_round() == 0u;) {
        let level = grid.levels[min(ring.place, MAX_LEVELS - 1u)];
        if (ring.radius < 0.0) {
            ring.radius = bounded(query, gap_before(query, level) + first_depth(level));
        }
        begin_ring(ring);
        let look = look_of_ring(query, ring, level);
        if (look == LOOKS_AT_ALL) {
            test_all(nearest_of_all(query), listing_at(ring.place, level, query.world));
        }
        let second = second_images(query_within(query, ring.radius));
        for (var image = 0u; image <= second && look == LOOKS_AT_CELLS; image += 1u) {
            if ((image & ~second) == 0u) {
                walk_ring(query, image, ring);
            }
        }
        if (tests_after_round() == 0u) {
            ring = next_ring(query, ring, level_at(ring.place), look);
        } else {
            // The walk ends, so that loops need not keep it.
            ring.inner = NO_RING;
        }
    }
    return ring;
}

// Stores the state when a ring begins: see decision 45.
fn begin_ring(ring: Ring) {
    if (round.is_last == 0u) {
        query_nearest[state()] = vec2<u32>(ring.place, skipped + tests_left());
        query_nearest[state() + 1u] = vec2<u32>(bitcast<u32>(ring.radius), bitcast<u32>(ring.inner));
        query_nearest[state() + 2u].x = bitcast<u32>(iterations_left);
    }
    skipped = 0u;
}

fn begun_ring() -> Ring {
    if (round.first == 0u) {
        return Ring(LARGE_LIST, NO_RING, NO_RING);
    }
    skipped = query_nearest[state()].y;
    tests_passed = round.first - skipped;
    iterations_left = bitcast<f32>(query_nearest[state() + 2u].x);
    let radii = bitcast<vec2<f32>>(query_nearest[state() + 1u]);
    return Ring(query_nearest[state()].x, radii.x, radii.y);
}

@compute @workgroup_size(WALK_WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = walk_place(group, groups, local);
    if (index >= round.walks) {
        return;
    }
    let query = begin_query(index);
    answer = answer_of(query, index);
    if (round.first > 0u && query_nearest[state()].x == NO_LEVEL) {
        return;
    }
    if (!is_first_of_all()) {
        for (; found < query_params.nearest && query_nearest[first_slot() + found].x != NO_OBJECT; found += 1u) {
        }
        update_limit();
    }
    count_invalid(query.valid, COUNTER_QUERIES_INVALID);
    begin_round();
    var ring = begun_ring();
    if (query.answers) {
        ring = walk_rings(query, ring);
    } else {
        ring.place = NO_LEVEL;
    }
    record_rounds();
    add_candidates(COUNTER_QUERY_CANDIDATES);
    if (round.is_last == 0u && ring.place == NO_LEVEL) {
        query_nearest[state()].x = NO_LEVEL;
    }
    for (var k = 0u; k < query_params.nearest; k += 1u) {
        let slot = first_slot() + k;
        if (k >= found) {
            query_nearest[slot] = vec2<u32>(NO_OBJECT, INFINITY_BITS);
        } else if (ring.place == NO_LEVEL && round.is_continued == 0u) {
            query_nearest[slot].y = squared_bits(query_nearest[slot].y);
        }
    }
}
