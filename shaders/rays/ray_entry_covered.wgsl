// uses: common/box, common/cells, common/grid, common/rows, rays/ray_passage

// An object has an entry in every cell it covers and is reported from the first one that the walk meets.

// Whether a walk may meet an object in several cells.
const MEETS_AGAIN: bool = true;

// The first cell must be one that the box and the visit share: elsewhere its key may belong to another entry of the
// same box. The slabs in which the walk meets an object follow one another without a gap, so it is met first in this
// one unless the slab before met it; within the slab the lowest covered cell counts.
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
