// uses: common/grid, common/workgroup, sort/sort, sort/sort_before, sort/sort_next, sort/sort_tiles

// Moves the keys and values of a tile to their sorted places. The tile is first sorted in workgroup memory, by four
// bits at a time, so that writes are contiguous (Satish, Harris and Garland, "Designing Efficient Sorting Algorithms
// for Manycore GPUs", 2009). This inner sort moves only digits and places. Keys are read again at the end.

@group(0) @binding(1) var<storage, read> grid: Grid;
@group(0) @binding(2) var<storage, read> keys: array<u32>;
@group(0) @binding(5) var<storage, read_write> sorted_keys: array<u32>;
@group(0) @binding(6) var<storage, read_write> sorted_values: array<u32>;

const SORT_WORKGROUP: u32 = 128u;
const KEYS_PER_THREAD: u32 = 15u;
const SORT_TILE: u32 = 1920u;

// digit value << 16 | place in the tile
var<workgroup> items: array<u32, 1920>;
// Two counts per word, for four-bit values n and n + 8, at `128 * n + thread`.
var<workgroup> counts: array<u32, 1024>;
var<workgroup> partial: array<u32, 128>;
var<workgroup> digit_starts: array<u32, MAX_DIGITS>;
// For each digit value, sorted place of the tile's first key that has it.
var<workgroup> targets: array<u32, MAX_DIGITS>;

fn workgroup_scan(local: u32, value: u32) -> u32 {
    partial[local] = value;
    workgroupBarrier();
    for (var distance = 1u; distance < SORT_WORKGROUP; distance *= 2u) {
        var scanned = partial[local];
        if (local >= distance) {
            scanned += partial[local - distance];
        }
        workgroupBarrier();
        partial[local] = scanned;
        workgroupBarrier();
    }
    return partial[local] - value;
}

// Replaces the counts in both halves of the words by prefix sums. Returns both totals.
fn scan_counts(local: u32) -> u32 {
    var sum = 0u;
    for (var k = 0u; k < 8u; k += 1u) {
        sum += counts[8u * local + k];
    }
    var running = workgroup_scan(local, sum);
    for (var k = 0u; k < 8u; k += 1u) {
        let count = counts[8u * local + k];
        counts[8u * local + k] = running;
        running += count;
    }
    let total = partial[SORT_WORKGROUP - 1u];
    workgroupBarrier();
    return total;
}

// Writes `targets`, two digit values per thread: number of keys with lower values, plus keys of this value in earlier
// tiles.
fn find_targets(local: u32, tile: u32) {
    var pair: array<vec2<u32>, 2>;
    for (var k = 0u; k < 2u; k += 1u) {
        let digit = 2u * local + k;
        if (digit < digits()) {
            pair[k] = keys_before(tile, digit);
        }
    }
    var below = workgroup_scan(local, pair[0].y + pair[1].y);
    for (var k = 0u; k < 2u; k += 1u) {
        let digit = 2u * local + k;
        if (digit < digits()) {
            targets[digit] = below + pair[k].x;
        }
        below += pair[k].y;
    }
}

@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = flat_workgroup(group, groups);
    let first = tile * SORT_TILE;
    var count = 0u;
    if (tile < sort.tiles && first < grid.entry_count) {
        count = min(grid.entry_count - first, SORT_TILE);
    }
    for (var place = local; place < SORT_TILE; place += SORT_WORKGROUP) {
        // Places past the end get the largest digit value. The sort is stable, so they stay after all keys.
        var digit = digits() - 1u;
        if (place < count) {
            digit = digit_of(keys[first + place]);
        }
        items[place] = (digit << 16u) | place;
    }
    // The barriers in this call also separate the writes above from the reads below.
    find_targets(local, min(tile, sort.tiles - 1u));

    for (var round = 0u; round < MAX_DIGIT_BITS / 4u; round += 1u) {
        let shift = 16u + 4u * round;
        var mine: array<u32, 15>;
        // Sixteen counters of four bits, enough for fifteen keys.
        var packed = vec2<u32>(0u);
        for (var k = 0u; k < KEYS_PER_THREAD; k += 1u) {
            let item = items[KEYS_PER_THREAD * local + k];
            mine[k] = item;
            let nibble = (item >> shift) & 15u;
            let one = 1u << (4u * (nibble & 7u));
            packed += select(vec2<u32>(one, 0u), vec2<u32>(0u, one), nibble >= 8u);
        }
        for (var n = 0u; n < 8u; n += 1u) {
            counts[n * SORT_WORKGROUP + local] =
                ((packed.x >> (4u * n)) & 15u) | (((packed.y >> (4u * n)) & 15u) << 16u);
        }
        workgroupBarrier();
        let total = scan_counts(local);
        let below_upper = total & 0xffffu;
        packed = vec2<u32>(0u);
        for (var k = 0u; k < KEYS_PER_THREAD; k += 1u) {
            let item = mine[k];
            let nibble = (item >> shift) & 15u;
            let bits = 4u * (nibble & 7u);
            let word = counts[(nibble & 7u) * SORT_WORKGROUP + local];
            let upper = nibble >= 8u;
            let base = select(word & 0xffffu, (word >> 16u) + below_upper, upper);
            let earlier = (select(packed.x, packed.y, upper) >> bits) & 15u;
            packed += select(vec2<u32>(1u << bits, 0u), vec2<u32>(0u, 1u << bits), upper);
            items[base + earlier] = item;
        }
        workgroupBarrier();
    }

    for (var place = local; place < count; place += SORT_WORKGROUP) {
        let digit = items[place] >> 16u;
        if (place == 0u || items[place - 1u] >> 16u != digit) {
            digit_starts[digit] = place;
        }
    }
    workgroupBarrier();
    for (var place = local; place < count; place += SORT_WORKGROUP) {
        let item = items[place];
        let digit = item >> 16u;
        let source = first + (item & 0xffffu);
        let target_index = targets[digit] + place - digit_starts[digit];
        if (target_index < grid.entry_count) {
            let key = keys[source];
            sorted_keys[target_index] = key;
            sorted_values[target_index] = value_at(source);
            count_next(key, target_index);
        }
    }
}
