// No partners are kept: the entries of this scheme already bind as many buffers as a stage may.

fn keep_partner(place: u32, other: u32, is_pair: bool) {
}

fn store_partners(index: u32, before: u32, count: u32) {
}

fn kept_partner(index: u32, place: u32) -> u32 {
    return 0u;
}

fn end_rows() {
}
