// uses: common/box, common/cells, common/grid, common/prelude, rays/ray
// needs: COARSE_FIRST, enters_part, geometry_limit, gives_up, grid, search_limit, visit_slab, walk_pays, walks_again
// needs: without_cells

// The cells a ray passes, level by level: a digital differential analyser in the manner of Amanatides and Woo ("A Fast
// Voxel Traversal Algorithm for Ray Tracing", 1987) that steps along the axis of fastest motion. Each step visits one
// slab of cells: on the other two axes the cells between where the ray enters and leaves the slab, widened by a bound
// on every rounding error, so that a ray through a corner visits the cells on both sides. Each cell is visited once. A
// ray that sweeps a box has slabs and cells wider by the box's half extents.
//
// What is done with the cells is another file's: `search_limit`, `walk_pays`, `without_cells`, `visit_slab`, which
// says whether the same slab goes on, `gives_up`, and `walks_again`, which says whether the walk begins with the first
// slab once more. A pass says where its rounds begin, `enters_part`, `geometry_limit`, and with which level:
// `COARSE_FIRST`.

const MAX_RAY_STEPS: i32 = 4096;
const RELATIVE_SLACK: f32 = 0x1p-19;
const CELL_SLACK: f32 = 0x1p-10;
// Below this speed, in cells, minor axes could flush to zero while they still matter.
const SLOWEST: f32 = 0x1p-80;
const FARTHEST: f32 = 0x1p+100;

// Cells of a slab and of the one before, x detailed.
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

// Whether the level is to be taken without cells.
fn walk_level(ray: Ray, index: u32) -> bool {
    let level = grid.levels[index];
    let detail = grid.x_detail;
    let reach = cell_reach();
    // Layers of the adaptive scheme are measured in half cells and shifted by one.
    let unit = select(1.0, 0.5, params.scheme == SCHEME_ADAPTIVE) * level.inverse;
    let shift = select(0.0, 0.5, params.scheme == SCHEME_ADAPTIVE);
    let origin = flush_bits(unordered(ray.origin_ordered)) * unit + shift;
    let direction = flush(ray.direction * unit);
    let speed = abs(direction);
    let extent = ray.half_extents * unit;
    let moves = speed > vec3<f32>(0.0);
    let cell_lower = vec3<i32>(level.lower_x >> detail, level.lower_y, level.lower_z);
    let cell_upper = vec3<i32>(level.upper_x >> detail, level.upper_y, level.upper_z);

    // So far out, so fast or so wide, in cells, that products could overflow, or so slow that a motion is lost.
    if (any(max(max(abs(origin), speed), extent) > vec3<f32>(FARTHEST)) || any(ray.moves & (speed == vec3<f32>(0.0)))) {
        return true;
    }

    let bound_low = vec3<f32>(cell_lower);
    let bound_high = vec3<f32>(cell_upper + vec3<i32>(1 + reach));
    // Boxes that the extents grow past the largest float are endless, and met where no cell says so.
    let grown = extent + max(abs(bound_low), abs(bound_high));
    if (any((extent > vec3<f32>(0.0)) & (grown >= vec3<f32>(0x1p+127 * unit)))) {
        return true;
    }

    // The part of the ray within the bounds of what is occupied.
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
        return false;
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
    let major_lower = select(select(step_lower.z, step_lower.y, along.y), step_lower.x, along.x);
    let major_upper = select(select(step_upper.z, step_upper.y, along.y), step_upper.x, along.x);
    let major_origin = select(select(origin.z, origin.y, along.y), origin.x, along.x);
    let major_slack = select(select(slack.z, slack.y, along.y), slack.x, along.x);
    let major_inverse = select(select(inverse.z, inverse.y, along.y), inverse.x, along.x);
    let forward = major_inverse > 0.0;
    let steps = major_upper - major_lower + 1;

    // About how many cells of an axis a step visits beyond those of a ray without width, times those.
    let major_extent = select(select(extent.z, extent.y, along.y), extent.x, along.x);
    let widened = 1.0 + 2.0 * (extent + speed * (major_extent * abs(major_inverse)));
    let breadth = select(min(widened, vec3<f32>(cell_upper - cell_lower + 1)), vec3<f32>(1.0), along);
    // No more cells than these, one axis each.
    let crossing = (f32(1 + reach) + 2.0 * major_slack) * abs(major_inverse);
    let crossed = select(vec3<f32>(0.0), speed * crossing, moves) + 2.0 * slack + f32(2 + reach);
    let most = select(min(crossed, vec3<f32>(cell_upper - cell_lower + 1)), vec3<f32>(1.0), along);
    // Written so that a NaN, too, makes a ray not walkable.
    let walkable = all(rounding <= vec3<f32>(1.0)) && (fastest == 0.0 || fastest >= SLOWEST);
    if (!walkable || !walk_pays(ray, level, steps, breadth, most)) {
        return true;
    }

    let detail_factor = vec3<f32>(f32(1u << detail), 1.0, 1.0);
    let reach_cells = vec3<i32>(reach << detail, reach, reach);
    var visit: Visit;
    visit.level = index;
    // Meets no box, whatever its cells.
    let lowest = vec3<i32>(-0x7fffffff);
    visit.lower = -lowest;
    visit.upper = lowest;
    var goes_on = false;
    let slabs = min(steps, MAX_RAY_STEPS);
    for (var step = 0; step <= slabs; step += select(1, 0, goes_on)) {
        let slab = select(major_upper - step, major_lower + step, forward);
        let side_low = f32(slab) - major_slack - major_origin;
        let side_high = f32(slab + 1 + reach) + major_slack - major_origin;
        let enter = max(select(side_high, side_low, forward) * major_inverse, t_begin);
        let leave = min(select(side_low, side_high, forward) * major_inverse, t_end);
        // A ray that rests is in all its few slabs at once.
        let t_0 = select(enter, t_begin, fastest == 0.0);
        let t_1 = select(leave, t_begin, fastest == 0.0);
        if (step == slabs || (t_0 > search_limit() && !goes_on) || gives_up()) {
            if (!walks_again()) {
                break;
            }
            step = -1;
            visit.lower = -lowest;
            visit.upper = lowest;
            continue;
        }
        if (t_0 > t_1) {
            continue;
        }
        let p_0 = origin + direction * t_0;
        let p_1 = origin + direction * t_1;
        let crossed_lower = cell_below((min(p_0, p_1) - slack) * detail_factor) - reach_cells;
        let crossed_upper = cell_below((max(p_0, p_1) + slack) * detail_factor);
        let slab_lower = vec3<i32>(slab << detail, slab, slab);
        let slab_upper = vec3<i32>((slab << detail) + (1 << detail) - 1, slab, slab);
        if (!goes_on) {
            visit.previous_lower = visit.lower;
            visit.previous_upper = visit.upper;
        }
        visit.lower = select(crossed_lower, slab_lower, along);
        visit.upper = select(crossed_upper, slab_upper, along);
        goes_on = visit_slab(ray, level, visit, goes_on);
    }
    return gives_up();
}

// All levels, from the coarsest or from the finest. Coarse layers of the adaptive scheme hold small boxes too.
fn walk_levels(ray: Ray) {
    let coarse_first = COARSE_FIRST && SCHEME == SCHEME_HIERARCHICAL;
    var rest = grid.occupied;
    for (var visited = 0u; visited < MAX_LEVELS && rest != 0u; visited += 1u) {
        let index = select(firstTrailingBit(rest), firstLeadingBit(rest), coarse_first);
        rest &= ~(1u << index);
        if (enters_part(visited + 1u)) {
            if (walk_level(ray, index)) {
                without_cells(ray, grid.levels[index]);
            }
        }
    }
}
