// uses: common/box, common/cells, common/filtered, common/grid, common/rows, rays/ray, rays/ray_passage

// Layer filter of rays, and the cells in which a walk finds an object.

fn admits(ray: Ray, object: u32) -> bool {
    if (!FILTERS) {
        return true;
    }
    return layers_meet(ray.layers, objects[2u * object].w);
}

// Whether a walk may meet an object in several cells.
fn may_meet_again() -> bool {
    return SCHEME == SCHEME_UNIFORM;
}

// Whether the object is found in this entry, in the row y, z of the visited cells. With one entry an object, the entry
// may be of another cell that shares the row's slots.
//
// With an entry in every cell that an object covers, the object counts in the first of them that the walk meets. That
// cell must be one that the box and the visit share: elsewhere its key may belong to another entry of the same box. The
// slabs in which the walk meets an object follow one another without a gap, so it is met first in this one unless the
// slab before met it; within the slab the lowest covered cell counts.
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
