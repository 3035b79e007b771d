// uses: table_shader/cast

// Rays that end at shapes, which the caller's function `hit_shape` gives. `TableShader::shape_rays` drops the lines
// marked `second` if there is one table, and else replaces the prefix `second_` by that of the second table.
//
// By rounding, `hit_shape` may return a `t` before the ray enters the box. It then counts as the entry, so that no
// order of visits matters: boxes entered past the best `t` cannot improve it.

// The next larger float, of floats that are 0 or normal: others may be flushed to 0. At most the largest float.
fn float_after(t: f32) -> f32 {
    return bitcast<f32>(clamp(bitcast<u32>(t) + 1u, 0x00800000u, 0x7f7fffffu));
}

// Returns where the ray hits an object's shape, at least where it enters the box; `t_max` or more without a hit.
fn shape_entry(ray: Ray, object: u32, entry: f32, t_max: f32) -> f32 {
    let t = hit_shape(object, unordered_origin(ray), ray.direction, t_max);
    let counted = max(select(t, 0.0, t < 0x1p-126), entry);
    return select(t_max, counted, t >= ray.t_min && t < t_max);
}

fn unordered_origin(ray: Ray) -> vec3<f32> {
    return flush_bits(unordered(ray.origin_ordered));
}

// Returns `before`, or a closer hit. Without a hit, `before.t` is the largest `t` to find.
fn closer_shape(ray: Ray, before: Hit) -> Hit {
    var hits = cast_for(ray, true);
    hits.limit = before.t;
    var best = before;
    for (; next_hit(&hits);) {
        let t_max = select(best.t, float_after(best.t), hits.object < best.object);
        let t = shape_entry(ray, hits.object, hits.t, t_max);
        if (t < t_max) {
            best = Hit(hits.object, t, hits.record, true, before.is_complete);
            hits.limit = t;
        }
    }
    best.is_complete = before.is_complete && cast_is_complete(&hits);
    return best;
}

// Returns `before` if it is a hit, else the first one found.
fn some_shape(ray: Ray, before: Hit) -> Hit {
    var hits = cast_for(ray, true);
    let t_max = float_after(ray.t_max);
    for (; !before.is_hit && next_hit(&hits);) {
        let t = shape_entry(ray, hits.object, hits.t, t_max);
        if (t < t_max) {
            return Hit(hits.object, t, hits.record, true, all_iterations_taken());
        }
    }
    var none = before;
    none.is_complete = before.is_complete && (before.is_hit || cast_is_complete(&hits));
    return none;
}

fn before_hits(ray: Ray) -> Hit {
    return Hit(NO_OBJECT, ray.t_max, 0u, false, true);
}

fn after_hits(hit: Hit) -> Hit {
    return Hit(hit.object, select(LARGEST_FLOAT, hit.t, hit.is_hit), hit.record, hit.is_hit, hit.is_complete);
}

fn closest_shape(ray: Ray) -> Hit {
    var hit = closer_shape(ray, before_hits(ray));
    hit = hit_of_second(second_closer_shape(ray_for_second(ray), hit_for_second(hit))); // second
    return after_hits(hit);
}

fn any_shape(ray: Ray) -> Hit {
    var hit = some_shape(ray, before_hits(ray));
    hit = hit_of_second(second_some_shape(ray_for_second(ray), hit_for_second(hit))); // second
    return after_hits(hit);
}

fn hit_for_second(hit: Hit) -> second_Hit { // second
    return second_Hit(hit.object, hit.t, hit.record, hit.is_hit, hit.is_complete); // second
} // second

fn hit_of_second(hit: second_Hit) -> Hit { // second
    return Hit(hit.object, hit.t, hit.record, hit.is_hit, hit.is_complete); // second
} // second

fn ray_for_second(ray: Ray) -> second_Ray { // second
    return second_Ray( // second
        ray.index, ray.t_max, ray.direction, ray.valid, ray.inverse, ray.half_origin, ray.origin_ordered, // second
        ray.world, ray.t_min, ray.half_extents, ray.layers, // second
    ); // second
} // second
