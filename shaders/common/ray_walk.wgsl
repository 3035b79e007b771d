// The cells a ray passes, level by level: a digital differential analyser in the manner of Amanatides and Woo ("A Fast
// Voxel Traversal Algorithm for Ray Tracing", 1987) that steps along the axis of fastest motion. Each step visits one
// slab of cells: on the other two axes the cells between where the ray enters and leaves the slab, widened by a bound on
// every rounding error, so that a ray through a corner visits the cells on both sides. Each cell is visited once.

const MAX_RAY_STEPS: i32 = 4096;
// A step looks up some ten rows: about the work of as many box tests.
const TESTS_PER_STEP: i32 = 8;
const RELATIVE_SLACK: f32 = 0x1p-19;
const CELL_SLACK: f32 = 0x1p-10;
// Below this speed, in cells, minor axes could flush to zero while they still matter.
const SLOWEST: f32 = 0x1p-80;

const FARTHEST: f32 = 0x1p+100;

// Cells of a slab and of the one before, x detailed.
struct Visit {
    lower: vec3<i32>,
    upper: vec3<i32>,
    previous_lower: vec3<i32>,
    previous_upper: vec3<i32>,
}

fn cell_below(position: vec3<f32>) -> vec3<i32> {
    return vec3<i32>(floor(clamp(position, vec3<f32>(-1073741824.0), vec3<f32>(1073741824.0))));
}

fn test_entry(ray: Ray, entry: u32, level: Level, visit: Visit, y: i32, z: i32) {
    let record = entry_record(entry);
    let low_word = records[2u * record];
    let low = bitcast<vec3<i32>>(low_word.xyz);
    let high_word = records[2u * record + 1u];
    let high = bitcast<vec3<i32>>(high_word.xyz);
    count_candidate();
    let t = enter_box(ray, low, high);
    if (t >= 0.0 && high_word.w == ray.world && is_first_visit(level, entry, low, high, ray.world, visit, y, z)) {
        accept_hit(low_word.w, t);
    }
}

// Every object of a range of entries, without cells.
fn test_range(ray: Ray, entries: vec2<u32>) {
    for (var entry = entries.x; entry < entries.y; entry += 1u) {
        if (is_home_entry(entry)) {
            let record = entry_record(entry);
            let low_word = records[2u * record];
            let high_word = records[2u * record + 1u];
            count_candidate();
            let t = enter_box(ray, bitcast<vec3<i32>>(low_word.xyz), bitcast<vec3<i32>>(high_word.xyz));
            if (t >= 0.0 && high_word.w == ray.world) {
                accept_hit(low_word.w, t);
            }
        }
    }
}

fn walk_level(ray: Ray, level: Level) {
    let entries = level_entries(level, ray.world);
    let detail = grid.x_detail;
    let reach = cell_reach();
    // Layers of the adaptive scheme are measured in half cells and shifted by one.
    let unit = select(1.0, 0.5, params.scheme == SCHEME_ADAPTIVE) * level.inverse;
    let shift = select(0.0, 0.5, params.scheme == SCHEME_ADAPTIVE);
    let origin = ray.origin * unit + shift;
    let direction = flush(ray.direction * unit);
    let speed = abs(direction);
    let moves = speed > vec3<f32>(0.0);
    let cell_lower = vec3<i32>(level.lower_x >> detail, level.lower_y, level.lower_z);
    let cell_upper = vec3<i32>(level.upper_x >> detail, level.upper_y, level.upper_z);

    // So far out or so fast, in cells, that products could overflow, or so slow that a motion is lost.
    if (any(abs(origin) > vec3<f32>(FARTHEST)) || any(speed > vec3<f32>(FARTHEST)) || any(ray.moves & (speed == vec3<f32>(0.0)))) {
        test_range(ray, entries);
        return;
    }

    // The part of the ray within the bounds of what is occupied.
    let bound_low = vec3<f32>(cell_lower);
    let bound_high = vec3<f32>(cell_upper + vec3<i32>(1 + reach));
    let bound_slack = (abs(origin) + max(abs(bound_low), abs(bound_high))) * RELATIVE_SLACK + CELL_SLACK;
    let inverse = 1.0 / select(vec3<f32>(1.0), direction, moves);
    let at_low = (bound_low - bound_slack - origin) * inverse;
    let at_high = (bound_high + bound_slack - origin) * inverse;
    let resting_inside = (origin >= bound_low - bound_slack) & (origin <= bound_high + bound_slack);
    let near = select(vec3<f32>(0.0), min(at_low, at_high), moves);
    let far = select(select(vec3<f32>(-1.0), vec3<f32>(LARGEST_FLOAT), resting_inside), max(at_low, at_high), moves);
    let t_begin = max(max(near.x, near.y), max(near.z, 0.0)) * (1.0 - RELATIVE_SLACK);
    let wanted = min(search_limit(), ray.t_max);
    let t_end = min(min(min(min(far.x, far.y), far.z), wanted) * (1.0 + RELATIVE_SLACK), LARGEST_FLOAT);
    if (!(t_begin <= t_end)) {
        return;
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
    let slack = (abs(origin) + speed * t_end) * RELATIVE_SLACK + CELL_SLACK;
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

    // Written so that a NaN, too, takes the direct way.
    let walkable = all(slack <= vec3<f32>(1.0)) && (fastest == 0.0 || fastest >= SLOWEST);
    if (!walkable || steps > MAX_RAY_STEPS || i32(min(entries.y - entries.x, 0x7fffffffu)) <= TESTS_PER_STEP * steps) {
        test_range(ray, entries);
        return;
    }

    let detail_factor = vec3<f32>(f32(1u << detail), 1.0, 1.0);
    let reach_cells = vec3<i32>(reach << detail, reach, reach);
    var visit: Visit;
    // Meets no box, whatever its cells.
    visit.lower = vec3<i32>(0x7fffffff);
    visit.upper = vec3<i32>(-0x7fffffff);
    for (var step = 0; step < steps; step += 1) {
        let slab = select(major_upper - step, major_lower + step, forward);
        let side_low = f32(slab) - major_slack - major_origin;
        let side_high = f32(slab + 1 + reach) + major_slack - major_origin;
        let enter = max(select(side_high, side_low, forward) * major_inverse, t_begin);
        let leave = min(select(side_low, side_high, forward) * major_inverse, t_end);
        // A ray that rests is in all its few slabs at once.
        let t_0 = select(enter, t_begin, fastest == 0.0);
        let t_1 = select(leave, t_begin, fastest == 0.0);
        if (t_0 > search_limit()) {
            break;
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
        visit.previous_lower = visit.lower;
        visit.previous_upper = visit.upper;
        visit.lower = select(crossed_lower, slab_lower, along);
        visit.upper = select(crossed_upper, slab_upper, along);
        for (var z = max(visit.lower.z, level.lower_z); z <= min(visit.upper.z, level.upper_z); z += 1) {
            for (var y = max(visit.lower.y, level.lower_y); y <= min(visit.upper.y, level.upper_y); y += 1) {
                let row = row_of(level, visit.lower.x, visit.upper.x, y, z, ray.world);
                for (var k = 0u; k < row.count; k += 1u) {
                    test_entry(ray, row_entry(row, k), level, visit, y, z);
                }
            }
        }
    }
}

fn walk_ray(ray: Ray) {
    if (!ray.valid || ray.t_max < 0.0) {
        return;
    }
    test_range(ray, large_list(ray.world));
    var index = grid.first_level;
    for (var visited = 0u; visited < MAX_LEVELS && index != NO_LEVEL; visited += 1u) {
        let level = grid.levels[index];
        walk_level(ray, level);
        index = level.next;
    }
}
