/// The caller's only buffer: the number of inputs, `INPUT` words per input, then `OUTPUT` words per input.
pub const HEAD: &str = "
    @group(0) @binding(0) var<storage, read_write> data: array<u32>;

    fn input(id: u32, row: u32) -> vec4<u32> {
        let first = 1u + INPUT * id + 4u * row;
        return vec4<u32>(data[first], data[first + 1u], data[first + 2u], data[first + 3u]);
    }

    fn output(id: u32) -> u32 {
        return 1u + INPUT * data[0] + OUTPUT * id;
    }

    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if (id.x < data[0]) {
            visit(id.x);
        }
    }
";

/// Adds the results of one table: 1 for a complete walk, 1 if a walk ended at its first object is complete, number of
/// objects, and the objects.
pub const WALK: &str = "
    fn visit(id: u32) {
        let out = output(id);
        let rest = input(id, 2u);
        let query = own_query_of(input(id, 0u), input(id, 1u), rest.x, rest.y);
        var left = own_begin_walk(query);
        while (own_next_object(&left)) {
            break;
        }
        data[out + 1u] += u32(own_walk_is_complete(&left));
        var walk = own_begin_walk(query);
        while (own_next_object(&walk)) {
            data[out + 3u + data[out + 2u]] = walk.object;
            data[out + 2u] += 1u;
        }
        data[out] += u32(own_walk_is_complete(&walk));
    }
";

/// Finds each object in the cell of its lower corner over all levels, by a box around that corner, and by a point at
/// it.
pub const CELLS: &str = "
    fn visit(id: u32) {
        let out = output(id);
        let corner = bitcast<vec3<f32>>(input(id, 0u).xyz);
        for (var level = own_first_level(); level != own_NO_LEVEL; level = own_level_after(level)) {
            let cell = own_cell_at(level, corner);
            let entries = own_cell_entries(level, cell, 0u);
            for (var entry = entries.x; entry < entries.y; entry += 1u) {
                let record = own_entry_record(entry);
                if (own_record_object(record) == id && own_is_in_cell(level, entry, cell, 0u)) {
                    let is_there = all(own_record_min(record) == corner);
                    let fits = all(own_record_max(record) - corner <= 64.0 * own_cell_size(level));
                    data[out] += select(1000u, 1u, is_there && fits);
                }
            }
        }
        var in_box = own_begin_walk(own_box_query(corner - vec3<f32>(0.5), corner + vec3<f32>(0.5)));
        while (own_next_object(&in_box)) {
            data[out + 1u] += u32(in_box.object == id);
        }
        var at_point = own_begin_walk(own_sphere_query(corner, 0.0));
        while (own_next_object(&at_point)) {
            data[out + 2u] += u32(at_point.object == id && at_point.squared_distance == 0.0);
        }
    }
";

/// Adds the results of one table: number of tables with complete and consistent results, 1 for any hit, 1 for a closest
/// hit, its object and `t`, number of hits, and the hits.
pub const CAST: &str = "
    fn cast_through_TABLE(id: u32) {
        let head = input(id, 0u);
        let tail = input(id, 1u);
        let sweep = input(id, 2u);
        let world = input(id, 3u).x;
        var ray = TABLE_ray_of(head, tail, sweep, world);
        if (all(sweep == vec4<u32>(0u)) && world == 0u && tail.w == 0xffffffffu) {
            ray = TABLE_ray(bitcast<vec3<f32>>(head.xyz), bitcast<vec3<f32>>(tail.xyz), bitcast<f32>(head.w));
        }
        let out = output(id);
        let closest = TABLE_closest_hit(ray);
        let t_before = bitcast<f32>(data[out + 4u]);
        let is_nearer = closest.t < t_before || (closest.t == t_before && closest.object < data[out + 3u]);
        if (closest.is_hit && (data[out + 2u] == 0u || is_nearer)) {
            data[out + 2u] = 1u;
            data[out + 3u] = closest.object;
            data[out + 4u] = bitcast<u32>(closest.t);
        }
        let any = TABLE_any_hit(ray);
        data[out + 1u] |= u32(any.is_hit);
        var is_right = closest.is_complete && any.is_complete;
        is_right &= closest.is_hit == any.is_hit && closest.is_hit == (closest.object != TABLE_NO_OBJECT);
        is_right &= !closest.is_hit || TABLE_record_object(closest.record) == closest.object;
        is_right &= !any.is_hit || TABLE_record_object(any.record) == any.object;
        var hits = TABLE_begin_cast(ray);
        while (TABLE_next_hit(&hits)) {
            let place = out + 6u + 2u * data[out + 5u];
            data[out + 5u] += 1u;
            data[place] = hits.object;
            data[place + 1u] = bitcast<u32>(hits.t);
            is_right &= TABLE_record_object(hits.record) == hits.object;
            is_right &= hits.t >= closest.t && (hits.t > closest.t || hits.object >= closest.object);
        }
        data[out] += u32(is_right && TABLE_cast_is_complete(&hits));
    }
";

pub const CAST_BOTH: &str = "
    fn visit(id: u32) {
        cast_through_own(id);
        cast_through_static(id);
    }
";

/// Number of hits, and 1 if their cast is complete; 1 for a closest hit, and 1 if certain; 1 for any hit, and 1 if
/// certain; 1 if a cast ended at its first hit counts as complete; 1 if a later any-hit cast is certain.
pub const CAST_ENDS: &str = "
    fn visit(id: u32) {
        let ray = own_ray_of(input(id, 0u), input(id, 1u), input(id, 2u), input(id, 3u).x);
        let out = output(id);
        var left = own_begin_cast(ray);
        while (own_next_hit(&left)) {
            break;
        }
        data[out + 6u] = u32(own_cast_is_complete(&left));
        let any = own_any_hit(ray);
        data[out + 4u] = u32(any.is_hit);
        data[out + 5u] = u32(any.is_complete);
        let closest = own_closest_hit(ray);
        data[out + 2u] = u32(closest.is_hit);
        data[out + 3u] = u32(closest.is_complete);
        var hits = own_begin_cast(ray);
        while (own_next_hit(&hits)) {
            data[out] += 1u;
        }
        data[out + 1u] = u32(own_cast_is_complete(&hits));
        data[out + 7u] = u32(own_any_hit(ray).is_complete);
    }
";
