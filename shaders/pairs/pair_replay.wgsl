// uses: common/rows, common/workgroup, pairs/pair_own, pairs/pair_params, pairs/pair_walk_single_cell
// uses: pairs/pair_write

// Writes the pairs of crowded scenes from the bits of `pair_count_crowded`, without box tests. `pair_emit` writes the
// pairs past the last stored bit.

@group(0) @binding(6) var<storage, read> pair_bits: array<u32>;
@group(0) @binding(9) var<storage, read> pair_walks: array<u32>;

var<private> bits_read: u32;

// The bits already account for filters.
fn filters_of(object: u32) -> vec2<u32> {
    return vec2<u32>(0u);
}

// Returns the next `count` bits, at most 32. Bits past the stored words are 0.
fn next_bits(row: u32, count: u32) -> u32 {
    let word = bits_read >> 5u;
    let used = bits_read & 31u;
    bits_read += count;
    var bits = 0u;
    if (word < pair_params.bit_words) {
        bits = pair_bits[word * pair_params.entry_rows + row] >> used;
    }
    if (used + count > 32u && word + 1u < pair_params.bit_words) {
        bits |= pair_bits[(word + 1u) * pair_params.entry_rows + row] << (32u - used);
    }
    return bits & (0xffffffffu >> (32u - count));
}

fn visit_row(own: Own, row: Row, first: u32) {
    let bits_left = 32u * pair_params.bit_words - min(bits_read, 32u * pair_params.bit_words);
    let part = part_of(own, row, first);
    let end = part.x + min(part.y - part.x, bits_left);
    for (var strip = part.x; strip < end; strip += 32u) {
        var bits = next_bits(own.row, min(part.y - strip, 32u));
        for (; bits != 0u; bits &= bits - 1u) {
            write_pair(own.object, records[2u * row_entry(row, strip + countTrailingZeros(bits))].w);
        }
    }
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let place = flat_indirect(group) * WORKGROUP + local;
    if (place >= pair_walks[0]) {
        return;
    }
    let row = pair_walks[1u + place];
    place_of_next = places_of(row).x;
    walk_pairs(row);
    pair_offsets[progress_of(row)] = place_of_next;
}
