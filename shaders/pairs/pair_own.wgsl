// Subject of a walk: an object whose partners are searched.

struct Own {
    // Row of pair counts. In schemes with one entry per object, `1 << pair_params.split_bits` rows share an entry's
    // walk.
    row: u32,
    object: u32,
    // Layers and group.
    filters: vec2<u32>,
    low: vec3<i32>,
    high: vec3<i32>,
    world: u32,
}
