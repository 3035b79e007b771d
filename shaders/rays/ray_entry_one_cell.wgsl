// uses: common/box, common/cells, common/grid, common/rows, rays/ray_passage

// An object has one entry, in the cell of its lower corner.

// Whether a walk may meet an object in several cells.
const MEETS_AGAIN: bool = false;

// Whether the entry lies in the visited row itself rather than in one that shares its slots.
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
    let cell = cell_of(flush_bits(unordered(low)), axis_inverse(level.inverse, grid.x_detail));
    return cell.y == y && cell.z == z && cell.x >= visit.lower.x && cell.x <= visit.upper.x;
}
