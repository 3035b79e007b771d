// uses: common/prelude, pairs/pair_filter

// A bit for each box of the rows, whether or not it was tested: set where it makes a pair.

@group(0) @binding(6) var<storage, read_write> pair_bits: array<u32>;

// Of the boxes before that fill no word yet.
var<private> word_bits: u32;
var<private> bits_kept: u32;

fn store_bits() {
    let word = bits_kept >> 5u;
    if (word < params.pair_bit_words) {
        pair_bits[word * params.entry_capacity + entry] = word_bits;
    }
}

// As many bits as a word has, at most.
fn keep_bits(bits: u32, count: u32) {
    let used = bits_kept & 31u;
    word_bits |= bits << used;
    if (used + count >= 32u) {
        store_bits();
        word_bits = select(0u, bits >> (32u - max(used, 1u)), used > 0u);
    }
    bits_kept += count;
}

fn end_rows() {
    if ((bits_kept & 31u) > 0u) {
        store_bits();
    }
}
