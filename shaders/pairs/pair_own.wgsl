// Subject of a walk: an entry and its object, whose partners are searched.

struct Own {
    entry: u32,
    object: u32,
    // Layers and owner.
    filters: vec2<u32>,
    low: vec3<i32>,
    high: vec3<i32>,
    world: u32,
}
