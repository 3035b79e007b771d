// uses: common/counters, common/round, common/round_counters, common/wide, common/workgroup, pairs/pair_params
// uses: pairs/pair_sums

// Turns counts into places within tiles, and adds the tiles' totals to the sums.

@group(0) @binding(7) var<storage, read_write> pair_offsets: array<atomic<u32>>;

var<workgroup> places_in_run: array<u32, 272>;
// Sum of each run, then the tile's total.
var<workgroup> run_sums: array<vec2<u32>, 17>;
var<workgroup> tile_start: u32;

fn counted(word: u32) -> u32 {
    return atomicLoad(&pair_offsets[word]);
}

fn counted_rows() -> u32 {
    return pair_params.entry_rows;
}

fn count_before(row: u32) -> u32 {
    return counted(row_word(row));
}

fn add_to_sum(place: u32, sum: vec2<u32>) {
    let after = add64(vec2<u32>(atomicAdd(&pair_offsets[place], sum.x), 0u), sum);
    if (after.y != 0u) {
        atomicAdd(&pair_offsets[place + 1u], after.y);
    }
}

// Adds to the 64-bit counter of needed pairs. Its high word is not read: the invocation that first exceeds the capacity
// sees this in the low word, or adds the carry itself.
fn add_to_total(sum: vec2<u32>) {
    let after = add64(vec2<u32>(atomicAdd(&counters[COUNTER_PAIRS_NEEDED], sum.x), 0u), sum);
    if (after.y != 0u) {
        atomicAdd(&counters[COUNTER_PAIRS_NEEDED + 1u], after.y);
    }
    if (saturate64(after) > pair_params.capacity) {
        atomicOr(&counters[COUNTER_STATUS], STATUS_PAIRS);
    }
}

fn add_to_sums(tile: u32, local: u32, sum: vec2<u32>) {
    let shift = local / DIGITS * DIGIT_BITS;
    let own = tile >> min(shift, 31u);
    let sibling = own - own % DIGITS + local % DIGITS;
    let is_later = shift < 32u && sibling > own && sibling <= last_tile() >> min(shift, 31u);
    if (is_later && any(sum != vec2<u32>(0u))) {
        add_to_sum(sum_place(sibling << shift), sum);
    }
}

// Stores the `count` of a row or, in the last round, the place of its pairs in the tile. Without a row (`is_row` is
// false), `count` is 0. `is_shared` is true if an earlier pass counted rows of the same tile.
fn put_count(tile: u32, local: u32, count: u32, is_row: bool, is_shared: bool) {
    let row = tile * WORKGROUP + local;
    if (round.is_last == 0u) {
        if (is_row) {
            atomicStore(&pair_offsets[row_word(row)], count);
        }
        return;
    }
    places_in_run[padded(local)] = count;
    workgroupBarrier();
    // These loops start at a variable, so compilers cannot unroll them: CPU drivers would run unrolled code in every
    // invocation.
    let runs = WORKGROUP / RUN;
    for (var run = local; run < runs; run += runs) {
        var sum = vec2<u32>(0u);
        for (var k = run * RUN; k < (run + 1u) * RUN; k += 1u) {
            let next = add64(sum, vec2<u32>(places_in_run[padded(k)], 0u));
            places_in_run[padded(k)] = saturate64(sum);
            sum = next;
        }
        run_sums[run] = sum;
    }
    workgroupBarrier();
    var sum = vec2<u32>(0u);
    for (var run = local * runs; run < runs; run += 1u) {
        let next = add64(sum, run_sums[run]);
        run_sums[run] = sum;
        sum = next;
    }
    if (local == 0u) {
        run_sums[runs] = sum;
    }
    // A dispatch may have more workgroups than tiles.
    if (local == 0u && tile <= last_tile()) {
        let tile_end = TILE_WORDS * tile + WORKGROUP;
        let start = select(0u, counted(tile_end), is_shared);
        tile_start = start;
        atomicStore(&pair_offsets[tile_end], saturating_sum(start, saturate64(sum)));
        add_to_total(sum);
    }
    workgroupBarrier();
    if (is_row) {
        let place = saturating_sum(saturate64(run_sums[local / RUN]), places_in_run[padded(local)]);
        atomicStore(&pair_offsets[row_word(row)], saturating_sum(tile_start, place));
    }
    add_to_sums(tile, local, run_sums[runs]);
}
