// uses: common/prelude, common/round, common/rows, pairs/pair_boxes, pairs/pair_filter

// Tests the boxes of a row one by one and keeps a bit for each, in strips of as many as a word has bits.

@group(0) @binding(6) var<storage, read_write> pair_bits: array<u32>;

// Of the strips before that fill no word yet.
var<private> word_bits: u32;
var<private> bits_kept: u32;

fn store_bits() {
    let word = bits_kept >> 5u;
    if (word < params.pair_bit_words) {
        pair_bits[word * params.entry_capacity + entry] = word_bits;
    }
}

fn keep_strip(strip_bits: u32, tests: u32) {
    let used = bits_kept & 31u;
    word_bits |= strip_bits << used;
    if (used + tests >= 32u) {
        store_bits();
        word_bits = select(0u, strip_bits >> (32u - max(used, 1u)), used > 0u);
    }
    bits_kept += tests;
}

fn visit_row(row: Row, first: u32) {
    let share = share_of(row.count - first);
    let end = first + share.y;
    for (var strip = first + share.x; strip < end; strip += 32u) {
        let strip_end = min(strip + 32u, end);
        var strip_bits = 0u;
        for (var k = strip; k < strip_end; k += 1u) {
            strip_bits |= u32(test_pair(row_entry(row, k))) << (k - strip);
        }
        keep_strip(strip_bits, strip_end - strip);
    }
}

fn end_rows() {
    if ((bits_kept & 31u) > 0u) {
        store_bits();
    }
}
