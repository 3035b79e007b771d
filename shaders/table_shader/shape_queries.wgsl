// uses: table_shader/walk

// The nearest of shapes that the caller's function `shape_distance` gives. See `TableShader::shape_queries`, and
// `shape_rays.wgsl` about lines marked `second`.

struct Nearest {
    // Object and distance of its shape. Without a result, NO_OBJECT and the largest float.
    object: u32,
    distance: f32,
    is_found: bool,
    // False if a driver may have ended a loop early, so that the result is uncertain.
    is_complete: bool,
}

// Covers the rounding of distances.
const DISTANCE_SLACK: f32 = 0x1p-18;

fn words_low(query: Query) -> vec4<u32> {
    return vec4<u32>(unordered(query.low), query.layers);
}

fn words_high(query: Query) -> vec4<u32> {
    return vec4<u32>(unordered(query.high), query.group);
}

fn query_around(query: Query, radius: f32) -> Query {
    return query_of(words_low(query), words_high(query), bitcast<u32>(radius), query.world);
}

// Bounds of the distances from the query's point to boxes in cells, along the farthest axis. Boxes reach out of the
// occupied cells by less than eight, half a cell of the adaptive scheme included.
fn gaps_to_cells(query: Query) -> vec2<f32> {
    let point = flush_bits(unordered(query.low));
    var gaps = vec2<f32>(LARGEST_FLOAT, 0.0);
    for (var rest = grid.occupied; rest != 0u; rest &= rest - 1u) {
        let index = firstTrailingBit(rest);
        let level = grid.levels[index];
        let size = cell_size(index);
        let lower = (vec3<f32>(vec3<i32>(level.lower_x, level.lower_y, level.lower_z)) - 8.0) * size;
        let upper = (vec3<f32>(vec3<i32>(level.upper_x, level.upper_y, level.upper_z)) + 8.0) * size;
        let near = max(lower - point, point - upper);
        let far = max(upper - point, point - lower);
        let is_flat = params.dimensions == 2u;
        let nearest = max(max(near.x, near.y), select(near.z, 0.0, is_flat));
        let farthest = max(max(far.x, far.y), select(far.z, 0.0, is_flat));
        gaps = vec2<f32>(min(gaps.x, max(nearest, 0.0)), max(gaps.y, farthest));
    }
    // A distance is at most the square root of 3 times that along the farthest axis.
    return vec2<f32>(gaps.x * (1.0 - DISTANCE_SLACK), 2.0 * gaps.y);
}

// Half the shortest side of a cell of the level with the most objects.
fn first_depth() -> f32 {
    let sides = cell_size(min(grid.fullest_level, MAX_LEVELS - 1u));
    let flat = min(sides.x, sides.y);
    return 0.5 * select(min(flat, sides.z), flat, params.dimensions == 2u);
}

// Largest distance to boxes of shapes that are as near as `best`.
fn distance_needed(query: Query, best: Nearest) -> f32 {
    let corner = abs(flush_bits(unordered(query.low)));
    let farthest = max(max(corner.x, corner.y), corner.z);
    let distance = max(best.distance, 0.0);
    return min(distance + (farthest + distance) * DISTANCE_SLACK, LARGEST_FLOAT);
}

// Returns `before`, or a nearer shape. Without a shape, `before.distance` is the largest distance to find. Spheres grow
// until none but their objects can be nearer. One that turns out much too large is begun again.
fn nearer_shape(query: Query, before: Nearest) -> Nearest {
    var best = before;
    let point = flush_bits(unordered(query.low));
    var tested = -1.0;
    var needed = distance_needed(query, best);
    let gaps = gaps_to_cells(query);
    let gap = min(gaps.x, needed);
    var depth = max(first_depth(), gap * DISTANCE_SLACK);
    var radius = min(gap + depth, needed);
    var is_open = query.answers;
    for (; is_open;) {
        var walk = begin_walk(query_around(query, radius));
        var is_small = true;
        for (; is_small && next_object(&walk);) {
            // Squares of short distances are 0, those of long ones infinite.
            let to_box = sqrt(walk.squared_distance);
            let is_tested = to_box < tested && tested > 0x1p-60;
            if (!is_tested && !(to_box > needed && needed < 0x1p+60)) {
                let distance = shape_distance(walk.object, point);
                if (distance < best.distance || (distance == best.distance && walk.object < best.object)) {
                    best = Nearest(walk.object, distance, true, best.is_complete);
                    needed = distance_needed(query, best);
                    is_small = needed >= 0.7 * radius;
                }
            }
        }
        if (is_small) {
            best.is_complete = best.is_complete && walk_is_complete(&walk);
            is_open = radius < needed && best.is_complete;
            tested = radius * (1.0 - DISTANCE_SLACK);
            depth *= 2.0;
            radius = select(gap + depth, needed, 0.5 * needed < radius || gaps.y < radius);
        }
        radius = min(radius, needed);
    }
    // A driver that ended the loop has left more to do.
    best.is_complete = best.is_complete && !is_open;
    return best;
}

fn nearest_shape(query: Query) -> Nearest {
    var nearest = nearer_shape(query, Nearest(NO_OBJECT, query.radius, false, true));
    var again = second_query_of(words_low(query), words_high(query), bitcast<u32>(query.radius), query.world); // second
    again.answers = query.answers; // second
    let before = second_Nearest(nearest.object, nearest.distance, nearest.is_found, nearest.is_complete); // second
    let found = second_nearer_shape(again, before); // second
    nearest = Nearest(found.object, found.distance, found.is_found, found.is_complete); // second
    nearest.distance = select(LARGEST_FLOAT, nearest.distance, nearest.is_found);
    return nearest;
}
