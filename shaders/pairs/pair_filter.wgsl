// uses: common/box, pairs/pair_own

// Layer and group filters of pairs.

@group(0) @binding(4) var<storage, read> objects: array<vec4<u32>>;

override FILTERS: bool = true;

fn filters_of(object: u32) -> vec2<u32> {
    if (!FILTERS) {
        return vec2<u32>(0u);
    }
    return vec2<u32>(objects[2u * object].w, objects[2u * object + 1u].w);
}

fn admitted(own: Own, other: u32) -> bool {
    if (!FILTERS) {
        return true;
    }
    return passes_filters(own.filters.x, own.filters.y, objects[2u * other].w, objects[2u * other + 1u].w);
}
