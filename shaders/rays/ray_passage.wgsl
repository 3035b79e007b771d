// uses: common/box, common/cells, common/grid, common/prelude, rays/ray
// needs: geometry_limit, grid, walk_pays

// Path of a ray through a level: a digital differential analyser after Amanatides and Woo ("A Fast Voxel Traversal
// Algorithm for Ray Tracing", 1987) that steps along the axis of fastest motion. Each step visits one slab: on the
// other axes, the cells between entry and exit, widened by a bound on every rounding error. A ray through a corner
// visits the cells on both sides. Each cell is visited once. A swept box widens slabs and cells by its half extents.
//
// The path ends at parameter `geometry_limit`. If `walk_pays` returns false, the level is tested without cells.

const MAX_RAY_STEPS: i32 = 4096;
const RELATIVE_SLACK: f32 = 0x1p-19;
const CELL_SLACK: f32 = 0x1p-10;
// Smallest speed, in cells per unit of t. Below it, motion that matters on minor axes could flush to zero.
const SLOWEST: f32 = 0x1p-80;
const FARTHEST: f32 = 0x1p+100;

// Cells of a slab and of the previous slab. Coordinates along x count fine cells.
struct Visit {
    level: u32,
    lower: vec3<i32>,
    upper: vec3<i32>,
    previous_lower: vec3<i32>,
    previous_upper: vec3<i32>,
}

fn cell_below(position: vec3<f32>) -> vec3<i32> {
    return vec3<i32>(floor(clamp(position, vec3<f32>(-1073741824.0), vec3<f32>(1073741824.0))));
}

// Path of a ray through a level, in cells. The major axis is that of fastest motion. The minor axes are y and z, but x
// (in fine cells) replaces one that is the major axis.
struct Passage {
    without_cells: bool,
    is_walked: bool,
    major: u32,
    first_slab: i32,
    // The slab after the last one along the ray.
    past_slab: i32,
    t_begin: f32,
    t_end: f32,
    major_origin: f32,
    major_slack: f32,
    // 0 for a ray at rest.
    major_inverse: f32,
    origin: vec2<f32>,
    direction: vec2<f32>,
    slack: vec2<f32>,
}

fn unwalked_passage(without_cells: bool) -> Passage {
    var passage: Passage;
    passage.without_cells = without_cells;
    return passage;
}

fn of_major(values: vec3<f32>, major: u32) -> f32 {
    return select(select(values.z, values.y, major == 1u), values.x, major == 0u);
}

fn of_minors(values: vec3<f32>, major: u32, x_factor: f32) -> vec2<f32> {
    return select(values.yz, vec2<f32>(values.x * x_factor), vec2<bool>(major == 1u, major == 2u));
}

// A separate function: an early return inside the walk would nest its loops in conditions.
fn passage_of(ray: Ray, level: Level) -> Passage {
    let detail = x_detail();
    let reach = cell_reach();
    // In the adaptive scheme, `level.inverse` is 1 / (half a cell), and cells are shifted by half a cell.
    let unit = select(1.0, 0.5, params.scheme == SCHEME_ADAPTIVE) * whole_cell_inverse(level.inverse, grid.stretch);
    let shift = select(0.0, 0.5, params.scheme == SCHEME_ADAPTIVE);
    let origin = flush_bits(unordered(ray.origin_ordered)) * unit + shift;
    let direction = flush(ray.direction * unit);
    let speed = abs(direction);
    let extent = ray.half_extents * unit;
    let moves = speed > vec3<f32>(0.0);
    let cell_lower = vec3<i32>(level.lower_x >> detail, level.lower_y, level.lower_z);
    let cell_upper = vec3<i32>(level.upper_x >> detail, level.upper_y, level.upper_z);

    // Products could overflow for a far, fast or wide ray, and the motion of a slow one be lost.
    let is_lost = (ray.direction != vec3<f32>(0.0)) & !moves;
    if (any(max(max(abs(origin), speed), extent) > vec3<f32>(FARTHEST)) || any(is_lost)) {
        return unwalked_passage(true);
    }

    let bound_low = vec3<f32>(cell_lower);
    let bound_high = vec3<f32>(cell_upper + vec3<i32>(1 + reach));
    // Boxes grown past the largest float by half extents are infinite, and may be hit outside their cells.
    let grown = extent + max(abs(bound_low), abs(bound_high));
    if (any((extent > vec3<f32>(0.0)) & (grown >= vec3<f32>(0x1p+127 * unit)))) {
        return unwalked_passage(true);
    }

    let largest = abs(origin) + extent + max(abs(bound_low), abs(bound_high));
    let bound_slack = largest * RELATIVE_SLACK + CELL_SLACK + extent;
    let inverse = 1.0 / select(vec3<f32>(1.0), direction, moves);
    let at_low = (bound_low - bound_slack - origin) * inverse;
    let at_high = (bound_high + bound_slack - origin) * inverse;
    let resting_inside = (origin >= bound_low - bound_slack) & (origin <= bound_high + bound_slack);
    let near = select(vec3<f32>(0.0), min(at_low, at_high), moves);
    let far = select(select(vec3<f32>(-1.0), vec3<f32>(LARGEST_FLOAT), resting_inside), max(at_low, at_high), moves);
    let t_begin = max(max(near.x, near.y), max(near.z, ray.t_min)) * (1.0 - RELATIVE_SLACK);
    let wanted = min(geometry_limit(), ray.t_max);
    let t_end = min(min(min(min(far.x, far.y), far.z), wanted) * (1.0 + RELATIVE_SLACK), LARGEST_FLOAT);
    if (!(t_begin <= t_end)) {
        return unwalked_passage(false);
    }

    var major = 0u;
    var fastest = speed.x;
    if (speed.y > fastest) {
        major = 1u;
        fastest = speed.y;
    }
    if (speed.z > fastest) {
        major = 2u;
        fastest = speed.z;
    }
    let along = vec3<bool>(major == 0u, major == 1u, major == 2u);
    let rounding = (abs(origin) + speed * t_end + extent) * RELATIVE_SLACK + CELL_SLACK;
    let slack = rounding + extent;
    let first = origin + direction * t_begin;
    let last = origin + direction * t_end;
    let step_lower = max(cell_below(min(first, last) - slack) - vec3<i32>(reach), cell_lower);
    let step_upper = min(cell_below(max(first, last) + slack), cell_upper);
    let major_lower = select(select(step_lower.z, step_lower.y, major == 1u), step_lower.x, major == 0u);
    let major_upper = select(select(step_upper.z, step_upper.y, major == 1u), step_upper.x, major == 0u);
    let major_slack = of_major(slack, major);
    let major_inverse = of_major(inverse, major);
    let forward = major_inverse > 0.0;
    let steps = major_upper - major_lower + 1;

    // Estimated cells per slab on each axis: 1 for a ray without width.
    let widened = 1.0 + 2.0 * (extent + speed * (of_major(extent, major) * abs(major_inverse)));
    let breadth = select(min(widened, vec3<f32>(cell_upper - cell_lower + 1)), vec3<f32>(1.0), along);
    // Upper bound of the cells per slab.
    let crossing = (f32(1 + reach) + 2.0 * major_slack) * abs(major_inverse);
    let crossed = select(vec3<f32>(0.0), speed * crossing, moves) + 2.0 * slack + f32(2 + reach);
    let most = select(min(crossed, vec3<f32>(cell_upper - cell_lower + 1)), vec3<f32>(1.0), along);
    // Written so that a NaN also rejects the ray.
    let walkable = all(rounding <= vec3<f32>(1.0)) && (fastest == 0.0 || fastest >= SLOWEST);
    if (!walkable || !walk_pays(ray, level, steps, breadth, most)) {
        return unwalked_passage(true);
    }

    let x_factor = f32(1u << detail);
    var passage: Passage;
    passage.is_walked = true;
    passage.major = major;
    let slabs = clamp(steps, 0, MAX_RAY_STEPS);
    passage.first_slab = select(major_upper, major_lower, forward);
    passage.past_slab = select(major_upper - slabs, major_lower + slabs, forward);
    passage.t_begin = t_begin;
    passage.t_end = t_end;
    passage.major_origin = of_major(origin, major);
    passage.major_slack = major_slack;
    passage.major_inverse = select(major_inverse, 0.0, fastest == 0.0);
    passage.origin = of_minors(origin, major, x_factor);
    passage.direction = of_minors(direction, major, x_factor);
    passage.slack = of_minors(slack, major, x_factor);
    return passage;
}

fn minor_cells_below(position: vec2<f32>) -> vec2<i32> {
    return vec2<i32>(floor(clamp(position, vec2<f32>(-1073741824.0), vec2<f32>(1073741824.0))));
}

// Parameters at which the ray enters and leaves a slab.
fn way_through(passage: Passage, slab: i32) -> vec2<f32> {
    let forward = passage.major_inverse >= 0.0;
    let side_low = f32(slab) - passage.major_slack - passage.major_origin;
    let side_high = f32(slab + 1 + cell_reach()) + passage.major_slack - passage.major_origin;
    let enter = max(select(side_high, side_low, forward) * passage.major_inverse, passage.t_begin);
    let leave = min(select(side_low, side_high, forward) * passage.major_inverse, passage.t_end);
    let rests = passage.major_inverse == 0.0;
    return vec2<f32>(select(enter, passage.t_begin, rests), select(leave, passage.t_begin, rests));
}

struct SlabCells {
    lower: vec3<i32>,
    upper: vec3<i32>,
}

fn no_cells() -> SlabCells {
    let lowest = vec3<i32>(-0x7fffffff);
    return SlabCells(-lowest, lowest);
}

fn cells_through(passage: Passage, slab: i32, through: vec2<f32>) -> SlabCells {
    let detail = x_detail();
    let reach = cell_reach();
    let p_0 = passage.origin + passage.direction * through.x;
    let p_1 = passage.origin + passage.direction * through.y;
    let crossed_lower = minor_cells_below(min(p_0, p_1) - passage.slack);
    let crossed_upper = minor_cells_below(max(p_0, p_1) + passage.slack);
    let is_x = passage.major == 0u;
    let is_y = passage.major == 1u;
    let is_z = passage.major == 2u;
    let lower_x = select(crossed_lower.y, crossed_lower.x, is_y) - (reach << detail);
    let upper_x = select(crossed_upper.y, crossed_upper.x, is_y);
    var cells: SlabCells;
    cells.lower.x = select(lower_x, slab << detail, is_x);
    cells.lower.y = select(crossed_lower.x - reach, slab, is_y);
    cells.lower.z = select(crossed_lower.y - reach, slab, is_z);
    cells.upper.x = select(upper_x, (slab << detail) + (1 << detail) - 1, is_x);
    cells.upper.y = select(crossed_upper.x, slab, is_y);
    cells.upper.z = select(crossed_upper.y, slab, is_z);
    return cells;
}
