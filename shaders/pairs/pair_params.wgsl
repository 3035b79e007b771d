// Uniform block of the pairs stage. For fields, see src/layout/blocks.rs.

struct PairParams {
    capacity: u32,
    first: u32,
    bit_words: u32,
    chunks: u32,
    rows: u32,
    cached: u32,
    split_bits: u32,
    entry_rows: u32,
    variant: u32,
}

@group(0) @binding(11) var<uniform> pair_params: PairParams;
