// No partners are kept: entries of the uniform scheme bind as many buffers as a stage may, and those of crowded scenes
// have more partners than there is room for.

fn keep_partner(place: u32, other: u32, is_pair: bool) {
}

fn store_partners(index: u32, before: u32, count: u32) {
}
