// uses: common/box, common/cells, common/filtered, common/grid, common/rows, rays/ray, rays/ray_passage

// Layer filter of rays, and choice of the one visited cell in which an object counts.

fn admits(ray: Ray, object: u32) -> bool {
    if (!FILTERS) {
        return true;
    }
    return layers_meet(ray.layers, objects[2u * object].w);
}

fn may_meet_again() -> bool {
    return SCHEME == SCHEME_UNIFORM;
}

// True if the object counts at this entry, met in row `y`, `z` of the visited cells.
//
// With one entry per object, the entry's cell must be visited, as other cells may share the bucket.
//
// In the uniform scheme, the object counts in the first visited cell that it covers. The entry must be in that cell's
// bucket. The slabs that meet an object are consecutive, so it counts only if the previous slab did not meet it. Within
// a slab, the lowest covered cell is first.
fn is_first_visit(
    level: Level,
    entry: u32,
    low: vec3<i32>,
    high: vec3<i32>,
    world: u32,
    visit: Visit,
    y: i32,
    z: i32,
) -> bool {
    let inverse = axis_inverse(level.inverse, grid.stretch);
    let lower = cell_of(flush_bits(unordered(low)), inverse);
    if (SCHEME != SCHEME_UNIFORM) {
        return lower.y == y && lower.z == z && lower.x >= visit.lower.x && lower.x <= visit.upper.x;
    }
    let upper = cell_of(flush_bits(unordered(high)), inverse);
    if (all(lower <= visit.previous_upper) && all(visit.previous_lower <= upper)) {
        return false;
    }
    let first = max(lower, visit.lower);
    if (any(first > min(upper, visit.upper)) || first.y != y || first.z != z) {
        return false;
    }
    let key = key_of(level, first, world);
    return starts[key] <= entry && entry < starts[key + 1u];
}
