// uses: common/grid, common/workgroup, sort/sort, sort/sort_before, sort/sort_next, sort/sort_tiles

// Moves the keys and values of a tile to their sorted places, by ballots: lanes of a subgroup with the same digit value
// find each other, and one addition counts them all.
//
// Works with any size of subgroups, full or not, and any mapping of invocations. Each subgroup claims the next thread
// numbers and their part of the tile, so the order within a tile is that of the keys.
//
// A thread has its keys in batches of four: their loads and ballots overlap, and few accesses to arrays remain where a
// compiler keeps those in memory. A tile has 1,024 keys per batch.

@group(0) @binding(1) var<storage, read> grid: Grid;
@group(0) @binding(2) var<storage, read> keys: array<u32>;
@group(0) @binding(5) var<storage, read_write> sorted_keys: array<u32>;
@group(0) @binding(6) var<storage, read_write> sorted_values: array<u32>;

const SORT_WORKGROUP: u32 = 256u;
const BATCHES: u32 = 3u;
const BATCH: vec4<u32> = vec4<u32>(0u, 1u, 2u, 3u);
// Keys per batch of all threads, and per tile.
const SORT_STEP: u32 = 1024u;
const SORT_TILE: u32 = 3072u;
// Number of histograms that fit in `items`. If there are more subgroups, several share one, in consecutive iterations.
const HISTOGRAMS: u32 = 24u;
// Two counters per word, for the digit values `n` and `n + 128`.
const HISTOGRAM_WORDS: u32 = MAX_DIGITS / 2u;

const NO_DESTINATION: u32 = 0xffffffffu;

// Holds the histograms, then the tile's sorted keys, then their values.
var<workgroup> items: array<atomic<u32>, 3072>;
// Low half: invocations that have numbers. High half: subgroups that have claimed numbers.
var<workgroup> claimed: atomic<u32>;
var<workgroup> subgroups: u32;
// By digit value: number of keys in the tile, later the place of the first in the sorted tile.
var<workgroup> digit_starts: array<u32, MAX_DIGITS>;
// By digit value: offset from a key's place in the sorted tile to its place among all keys.
var<workgroup> targets: array<u32, MAX_DIGITS>;

fn count_lanes(lanes: vec4<u32>) -> u32 {
    let counts = countOneBits(lanes);
    return counts.x + counts.y + counts.z + counts.w;
}

fn lanes_before(lane: u32) -> vec4<u32> {
    let word = vec4<u32>(lane / 32u);
    let words = vec4<u32>(0u, 1u, 2u, 3u);
    let part = vec4<u32>((1u << (lane % 32u)) - 1u);
    return select(select(vec4<u32>(0u), part, words == word), vec4<u32>(0xffffffffu), words < word);
}

fn lowest_lane(lanes: vec4<u32>) -> u32 {
    if (lanes.x != 0u) {
        return firstTrailingBit(lanes.x);
    }
    if (lanes.y != 0u) {
        return 32u + firstTrailingBit(lanes.y);
    }
    if (lanes.z != 0u) {
        return 64u + firstTrailingBit(lanes.z);
    }
    return 96u + firstTrailingBit(lanes.w);
}

fn counter_of(histogram: u32, digit: u32) -> u32 {
    return histogram * HISTOGRAM_WORDS + digit % HISTOGRAM_WORDS;
}

fn half_of(digit: u32) -> u32 {
    return 16u * (digit / HISTOGRAM_WORDS);
}

// Number of the tile's earlier keys with a digit value, by a histogram's prefix sum.
fn earlier_in(histogram: u32, digit: u32) -> u32 {
    let word = atomicLoad(&items[counter_of(histogram, digit)]);
    return digit_starts[digit] + ((word >> half_of(digit)) & 0xffffu);
}

fn digits_of(keys: vec4<u32>) -> vec4<u32> {
    return vec4<u32>(digit_of(keys.x), digit_of(keys.y), digit_of(keys.z), digit_of(keys.w));
}

// Those of the lanes `peers` that have the same bit.
fn agreeing(peers: vec4<u32>, has: bool) -> vec4<u32> {
    let votes = subgroupBallot(has);
    return peers & select(~votes, votes, has);
}

// Adds the keys of `peers` to their counter. Returns the number of earlier keys with their digit value.
fn claim(peers: vec4<u32>, before: vec4<u32>, histogram: u32, digit: u32, is_mine: bool) -> u32 {
    let earlier_peers = count_lanes(peers & before);
    var earlier = 0u;
    if (is_mine && earlier_peers == 0u) {
        let half = half_of(digit);
        earlier = (atomicAdd(&items[counter_of(histogram, digit)], count_lanes(peers) << half) >> half) & 0xffffu;
    }
    return subgroupShuffle(earlier, lowest_lane(peers)) + earlier_peers;
}

// Two at a time: four would need too many registers.
fn claim_two(digits: vec2<u32>, present: vec4<u32>, before: vec4<u32>, histogram: u32, is_mine: bool) -> vec2<u32> {
    var peers_x = present;
    var peers_y = present;
    for (var bit = 0u; bit < sort.bits; bit += 1u) {
        let has = (digits & vec2<u32>(1u << bit)) != vec2<u32>(0u);
        peers_x = agreeing(peers_x, has.x);
        peers_y = agreeing(peers_y, has.y);
    }
    let earlier = claim(peers_x, before, histogram, digits.x, is_mine);
    return vec2<u32>(earlier, claim(peers_y, before, histogram, digits.y, is_mine));
}

fn values_at(index: vec4<u32>) -> vec4<u32> {
    return vec4<u32>(value_at(index.x), value_at(index.y), value_at(index.z), value_at(index.w));
}

fn store_items(places: vec4<u32>, stored: vec4<u32>) {
    atomicStore(&items[places.x], stored.x);
    atomicStore(&items[places.y], stored.y);
    atomicStore(&items[places.z], stored.z);
    atomicStore(&items[places.w], stored.w);
}

fn load_items(places: vec4<u32>) -> vec4<u32> {
    return vec4<u32>(
        atomicLoad(&items[places.x]),
        atomicLoad(&items[places.y]),
        atomicLoad(&items[places.z]),
        atomicLoad(&items[places.w]),
    );
}

fn write_key(destination: u32, key: u32) {
    if (destination < grid.entry_count) {
        sorted_keys[destination] = key;
        count_next(key, destination);
    }
}

fn write_value(destination: u32, value: u32) {
    if (destination < grid.entry_count) {
        sorted_values[destination] = value;
    }
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
    @builtin(subgroup_invocation_id) lane: u32,
) {
    let tile = flat_workgroup(group, groups);
    let first = tile * sort.tile;
    if (tile >= sort.tiles || first >= grid.entry_count) {
        return;
    }
    let count = min(grid.entry_count - first, sort.tile);
    let batches = sort.tile / SORT_STEP;

    if (local == 0u) {
        atomicStore(&claimed, 0u);
    }
    workgroupBarrier();
    let present = subgroupBallot(true);
    let before = lanes_before(lane);
    let lanes = count_lanes(present);
    let rank = count_lanes(present & before);
    var numbers = 0u;
    if (rank == 0u) {
        numbers = atomicAdd(&claimed, (1u << 16u) | lanes);
    }
    numbers = subgroupBroadcastFirst(numbers);
    let subgroup = numbers >> 16u;
    // Replaces `local`: lanes of a subgroup have consecutive numbers.
    let thread = (numbers & 0xffffu) + rank;
    let part = (numbers & 0xffffu) * 4u * batches + rank;
    workgroupBarrier();
    if (local == 0u) {
        subgroups = atomicLoad(&claimed) >> 16u;
    }
    let subgroup_count = workgroupUniformLoad(&subgroups);
    let iterations = (subgroup_count + HISTOGRAMS - 1u) / HISTOGRAMS;
    let histogram = subgroup / iterations;
    let histogram_words = min(subgroup_count, HISTOGRAMS) * HISTOGRAM_WORDS;
    for (var word = local; word < histogram_words; word += SORT_WORKGROUP) {
        atomicStore(&items[word], 0u);
    }
    workgroupBarrier();

    var mine: array<vec4<u32>, BATCHES>;
    // Places of this thread's keys in the sorted tile.
    var places: array<vec4<u32>, BATCHES>;
    for (var batch = 0u; batch < batches; batch += 1u) {
        let place = part + (4u * batch + BATCH) * lanes;
        let index = first + min(place, vec4<u32>(count - 1u));
        let loaded = vec4<u32>(keys[index.x], keys[index.y], keys[index.z], keys[index.w]);
        // Places past the end get the largest key and stay after all others.
        mine[batch] = select(vec4<u32>(0xffffffffu), loaded, place < vec4<u32>(count));
    }
    for (var turn = 0u; turn < iterations; turn += 1u) {
        let is_mine = subgroup % iterations == turn;
        for (var batch = 0u; batch < batches; batch += 1u) {
            let digits = digits_of(mine[batch]);
            let claimed_places = vec4<u32>(
                claim_two(digits.xy, present, before, histogram, is_mine),
                claim_two(digits.zw, present, before, histogram, is_mine),
            );
            if (is_mine) {
                places[batch] = claimed_places;
            }
        }
        workgroupBarrier();
    }

    // Each count becomes its exclusive prefix sum over the histograms. The totals are the tile's counts.
    if (thread < HISTOGRAM_WORDS) {
        var running = 0u;
        for (var word = thread; word < histogram_words; word += HISTOGRAM_WORDS) {
            let counted = atomicLoad(&items[word]);
            atomicStore(&items[word], running);
            running += counted;
        }
        digit_starts[thread] = running & 0xffffu;
        digit_starts[thread + HISTOGRAM_WORDS] = running >> 16u;
    }
    workgroupBarrier();
    var keys_of_digit = vec2<u32>(0u);
    if (thread < digits()) {
        keys_of_digit = keys_before(tile, thread);
    }
    let counts = vec2<u32>(digit_starts[thread], keys_of_digit.y);
    var below = subgroupExclusiveAdd(counts);
    workgroupBarrier();
    // `digit_starts` and `targets` hold sums per subgroup for now.
    if (rank == lanes - 1u) {
        digit_starts[subgroup] = below.x + counts.x;
        targets[subgroup] = below.y + counts.y;
    }
    workgroupBarrier();
    for (var other = 0u; other < subgroup; other += 1u) {
        below += vec2<u32>(digit_starts[other], targets[other]);
    }
    workgroupBarrier();
    digit_starts[thread] = below.x;
    targets[thread] = below.y + keys_of_digit.x - below.x;
    workgroupBarrier();
    for (var batch = 0u; batch < batches; batch += 1u) {
        let digits = digits_of(mine[batch]);
        places[batch] += vec4<u32>(
            earlier_in(histogram, digits.x),
            earlier_in(histogram, digits.y),
            earlier_in(histogram, digits.z),
            earlier_in(histogram, digits.w),
        );
    }
    workgroupBarrier();

    for (var batch = 0u; batch < batches; batch += 1u) {
        store_items(places[batch], mine[batch]);
    }
    workgroupBarrier();
    // Keys leave by consecutive threads. `mine` then holds the indices of their destinations.
    for (var batch = 0u; batch < batches; batch += 1u) {
        let place = (4u * batch + BATCH) * SORT_WORKGROUP + thread;
        let sorted = load_items(place);
        let digits = digits_of(sorted);
        let destinations = place + vec4<u32>(
            targets[digits.x],
            targets[digits.y],
            targets[digits.z],
            targets[digits.w],
        );
        // Places past the end have none.
        mine[batch] = select(vec4<u32>(NO_DESTINATION), destinations, place < vec4<u32>(count));
        write_key(mine[batch].x, sorted.x);
        write_key(mine[batch].y, sorted.y);
        write_key(mine[batch].z, sorted.z);
        write_key(mine[batch].w, sorted.w);
    }
    workgroupBarrier();
    for (var batch = 0u; batch < batches; batch += 1u) {
        let place = part + (4u * batch + BATCH) * lanes;
        store_items(places[batch], values_at(first + min(place, vec4<u32>(count - 1u))));
    }
    workgroupBarrier();
    for (var batch = 0u; batch < batches; batch += 1u) {
        let sorted = load_items((4u * batch + BATCH) * SORT_WORKGROUP + thread);
        write_value(mine[batch].x, sorted.x);
        write_value(mine[batch].y, sorted.y);
        write_value(mine[batch].z, sorted.z);
        write_value(mine[batch].w, sorted.w);
    }
}
