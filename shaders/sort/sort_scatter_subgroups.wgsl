// uses: common/grid, common/workgroup, sort/sort, sort/sort_before, sort/sort_next, sort/sort_tiles

// Moves the keys and values of a tile to their sorted places, by ballots: lanes of a subgroup with the same digit value
// find each other, and one addition counts them all.
//
// Works with any size of subgroups, full or not, and any mapping of invocations. Each subgroup claims the next thread
// numbers and their part of the tile, so the order within a tile is that of the keys.
//
// Each thread has `sort.tile / 256` keys. Loops over them have a constant length, so that compilers can keep the arrays
// in registers.

@group(0) @binding(1) var<storage, read> grid: Grid;
@group(0) @binding(2) var<storage, read> keys: array<u32>;
@group(0) @binding(5) var<storage, read_write> sorted_keys: array<u32>;
@group(0) @binding(6) var<storage, read_write> sorted_values: array<u32>;

const SORT_WORKGROUP: u32 = 256u;
const KEYS_PER_THREAD: u32 = 13u;
const SORT_TILE: u32 = 3328u;
// Number of histograms that fit in `items`. If there are more subgroups, several share one, in consecutive iterations.
const HISTOGRAMS: u32 = 26u;
// Two counters per word, for the digit values `n` and `n + 128`.
const HISTOGRAM_WORDS: u32 = MAX_DIGITS / 2u;

// Holds the histograms, then the tile's sorted keys, then their values.
var<workgroup> items: array<atomic<u32>, 3328>;
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

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
    @builtin(subgroup_invocation_id) lane: u32,
) {
    let tile = flat_workgroup(group, groups);
    let first = tile * sort.tile;
    var count = 0u;
    if (tile < sort.tiles && first < grid.entry_count) {
        count = min(grid.entry_count - first, sort.tile);
    }
    let thread_keys = sort.tile / SORT_WORKGROUP;

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
    let part = (numbers & 0xffffu) * thread_keys + rank;
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

    var mine: array<u32, 13>;
    // Places of this thread's keys in the sorted tile.
    var places: array<u32, 13>;
    for (var k = 0u; k < KEYS_PER_THREAD; k += 1u) {
        if (k >= thread_keys) {
            break;
        }
        let place = part + k * lanes;
        // Places past the end get the largest key and stay after all others.
        mine[k] = 0xffffffffu;
        if (place < count) {
            mine[k] = keys[first + place];
        }
    }
    for (var turn = 0u; turn < iterations; turn += 1u) {
        let is_mine = subgroup % iterations == turn;
        for (var k = 0u; k < KEYS_PER_THREAD; k += 1u) {
            if (k >= thread_keys) {
                break;
            }
            let digit = digit_of(mine[k]);
            var peers = present;
            for (var bit = 0u; bit < MAX_DIGIT_BITS; bit += 1u) {
                if (bit < sort.bits) {
                    let has = ((digit >> bit) & 1u) != 0u;
                    let votes = subgroupBallot(has);
                    peers &= select(~votes, votes, has);
                }
            }
            let earlier_peers = count_lanes(peers & before);
            var earlier = 0u;
            if (is_mine && earlier_peers == 0u) {
                let counted = count_lanes(peers) << half_of(digit);
                earlier = (atomicAdd(&items[counter_of(histogram, digit)], counted) >> half_of(digit)) & 0xffffu;
            }
            earlier = subgroupShuffle(earlier, lowest_lane(peers));
            if (is_mine) {
                places[k] = earlier + earlier_peers;
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
        keys_of_digit = keys_before(min(tile, sort.tiles - 1u), thread);
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
    for (var k = 0u; k < KEYS_PER_THREAD; k += 1u) {
        if (k >= thread_keys) {
            break;
        }
        let digit = digit_of(mine[k]);
        let earlier = (atomicLoad(&items[counter_of(histogram, digit)]) >> half_of(digit)) & 0xffffu;
        places[k] += digit_starts[digit] + earlier;
    }
    workgroupBarrier();

    for (var k = 0u; k < KEYS_PER_THREAD; k += 1u) {
        if (k >= thread_keys) {
            break;
        }
        atomicStore(&items[places[k]], mine[k]);
    }
    workgroupBarrier();
    for (var k = 0u; k < KEYS_PER_THREAD; k += 1u) {
        if (k >= thread_keys) {
            break;
        }
        let place = k * SORT_WORKGROUP + thread;
        if (place < count) {
            let key = atomicLoad(&items[place]);
            // `mine[k]` is now the destination index.
            mine[k] = targets[digit_of(key)] + place;
            if (mine[k] < grid.entry_count) {
                sorted_keys[mine[k]] = key;
                count_next(key, mine[k]);
            }
        }
    }
    workgroupBarrier();
    for (var k = 0u; k < KEYS_PER_THREAD; k += 1u) {
        if (k >= thread_keys) {
            break;
        }
        let place = part + k * lanes;
        if (place < count) {
            atomicStore(&items[places[k]], value_at(first + place));
        }
    }
    workgroupBarrier();
    for (var k = 0u; k < KEYS_PER_THREAD; k += 1u) {
        if (k >= thread_keys) {
            break;
        }
        let place = k * SORT_WORKGROUP + thread;
        if (place < count && mine[k] < grid.entry_count) {
            sorted_values[mine[k]] = atomicLoad(&items[place]);
        }
    }
}
