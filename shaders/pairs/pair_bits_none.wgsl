// No bits are kept: what is found is written at once.

fn keep_bits(bits: u32, count: u32) {
}

fn end_rows() {
}
