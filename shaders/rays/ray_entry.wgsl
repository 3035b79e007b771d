// uses: common/box, common/cells, common/filtered, common/grid, common/rows, rays/ray, rays/ray_passage

// Layer filter of rays, and the cell in which a walk finds an object.

fn admits(ray: Ray, object: u32) -> bool {
    if (!FILTERS) {
        return true;
    }
    return layers_meet(ray.layers, objects[2u * object].w);
}

fn may_meet_again() -> bool {
    return SCHEME == SCHEME_UNIFORM;
}

// True if the object counts in this entry, met in row `y`, `z` of the visited cells.
//
// One entry per object: the entry may be of another cell that shares the buckets.
//
// Uniform scheme: the first visited cell that the object covers counts; elsewhere its key may belong to another entry
// of the box. The slabs that meet an object follow without a gap, so this is the first unless the slab before met it.
// Within a slab, the lowest covered cell counts.
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
    let inverse = axis_inverse(level.inverse, grid.x_detail);
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
