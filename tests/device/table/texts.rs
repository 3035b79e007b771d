/// Writes the number of results, then the objects.
pub const QUERIES: &str = "
    @group(0) @binding(0) var<storage, read> asked: array<vec4<u32>>;
    @group(0) @binding(1) var<storage, read_write> lists: array<u32>;

    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if (3u * id.x >= arrayLength(&asked)) {
            return;
        }
        let rest = asked[3u * id.x + 2u];
        var walk = own_begin_walk(own_query_of(asked[3u * id.x], asked[3u * id.x + 1u], rest.x, rest.y));
        while (own_next_object(&walk)) {
            let place = lists[SLOTS * id.x] + 1u;
            lists[SLOTS * id.x] = place;
            lists[SLOTS * id.x + place] = walk.object;
        }
    }";

/// Counts three ways of finding each object: in the cell of its lower corner over all levels, by a box around that
/// corner, and by a point at it.
pub const CELLS: &str = "
    @group(0) @binding(0) var<storage, read> asked: array<vec4<u32>>;
    @group(0) @binding(1) var<storage, read_write> met: array<u32>;

    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if (2u * id.x >= arrayLength(&asked)) {
            return;
        }
        let corner = bitcast<vec3<f32>>(asked[2u * id.x].xyz);
        for (var level = own_first_level(); level != own_NO_LEVEL; level = own_level_after(level)) {
            let cell = own_cell_at(level, corner);
            let entries = own_cell_entries(level, cell, 0u);
            for (var entry = entries.x; entry < entries.y; entry += 1u) {
                let record = own_entry_record(entry);
                if (own_record_object(record) == id.x && own_is_in_cell(level, entry, cell, 0u)) {
                    let is_there = all(own_record_min(record) == corner);
                    let fits = all(own_record_max(record) - corner <= 64.0 * own_cell_size(level));
                    met[3u * id.x] += select(1000u, 1u, is_there && fits);
                }
            }
        }
        var in_box = own_begin_walk(own_box_query(corner - vec3<f32>(0.5), corner + vec3<f32>(0.5)));
        while (own_next_object(&in_box)) {
            met[3u * id.x + 1u] += select(0u, 1u, in_box.object == id.x);
        }
        var at_point = own_begin_walk(own_sphere_query(corner, 0.0));
        while (own_next_object(&at_point)) {
            met[3u * id.x + 2u] += select(0u, 1u, at_point.object == id.x && at_point.squared_distance == 0.0);
        }
    }";

/// Writes three words per query: number of results, 1 if the search finished, and 1 if a second search, ended at its
/// first object, counts as finished.
pub const WHOLE: &str = "
    @group(0) @binding(0) var<storage, read> asked: array<vec4<u32>>;
    @group(0) @binding(1) var<storage, read_write> told: array<u32>;

    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if (3u * id.x >= arrayLength(&asked)) {
            return;
        }
        let rest = asked[3u * id.x + 2u];
        let query = own_query_of(asked[3u * id.x], asked[3u * id.x + 1u], rest.x, rest.y);
        var left = own_begin_walk(query);
        while (own_next_object(&left)) {
            break;
        }
        told[3u * id.x + 2u] = u32(own_walk_is_complete(&left));
        var walk = own_begin_walk(query);
        while (own_next_object(&walk)) {
            told[3u * id.x] += 1u;
        }
        told[3u * id.x + 1u] = u32(own_walk_is_complete(&walk));
    }";

/// Adds to `STRIDE` words per ray: 1 for a closest hit, its object and t, 1 for any hit, number of tables with complete
/// and consistent results, number of hits, and the hits. `ray_words`, `told` and `REPORTED` are declared by the text
/// before this one.
pub const CAST: &str = "
    fn cast_through_TABLE(id: u32) {
        let head = ray_words(4u * id);
        let tail = ray_words(4u * id + 1u);
        let sweep = ray_words(4u * id + 2u);
        let world = ray_words(4u * id + 3u).x;
        var ray = TABLE_ray_of(head, tail, sweep, world);
        if (all(sweep == vec4<u32>(0u)) && world == 0u && tail.w == 0xffffffffu) {
            ray = TABLE_ray(bitcast<vec3<f32>>(head.xyz), bitcast<vec3<f32>>(tail.xyz), bitcast<f32>(head.w));
        }
        let list = REPORTED + STRIDE * id;
        let closest = TABLE_closest_hit(ray);
        let t_before = bitcast<f32>(told[list + 2u]);
        let is_nearer = closest.t < t_before || (closest.t == t_before && closest.object < told[list + 1u]);
        if (closest.is_hit && (told[list] == 0u || is_nearer)) {
            told[list] = 1u;
            told[list + 1u] = closest.object;
            told[list + 2u] = bitcast<u32>(closest.t);
        }
        let any = TABLE_any_hit(ray);
        told[list + 3u] |= u32(any.is_hit);
        var is_right = closest.is_complete && any.is_complete;
        is_right &= closest.is_hit == any.is_hit && closest.is_hit == (closest.object != TABLE_NO_OBJECT);
        is_right &= !closest.is_hit || TABLE_record_object(closest.record) == closest.object;
        is_right &= !any.is_hit || TABLE_record_object(any.record) == any.object;
        var hits = TABLE_begin_cast(ray);
        while (TABLE_next_hit(&hits)) {
            let place = list + 6u + 2u * told[list + 5u];
            told[list + 5u] += 1u;
            told[place] = hits.object;
            told[place + 1u] = bitcast<u32>(hits.t);
            is_right &= TABLE_record_object(hits.record) == hits.object;
            is_right &= hits.t >= closest.t && (hits.t > closest.t || hits.object >= closest.object);
        }
        told[list + 4u] += u32(is_right && TABLE_cast_is_complete(&hits));
    }";

pub const RAYS: &str = "
    @group(0) @binding(0) var<storage, read> asked: array<vec4<u32>>;
    @group(0) @binding(1) var<storage, read_write> told: array<u32>;

    const REPORTED: u32 = 0u;

    fn ray_words(place: u32) -> vec4<u32> {
        return asked[place];
    }

    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if (4u * id.x < arrayLength(&asked)) {
            cast_through_own(id.x);
        }
    }";

pub const RAYS_OF_BOTH: &str = "
    @group(0) @binding(0) var<storage, read_write> told: array<u32>;

    const REPORTED: u32 = 16u * RAY_COUNT;

    fn ray_words(place: u32) -> vec4<u32> {
        return vec4<u32>(told[4u * place], told[4u * place + 1u], told[4u * place + 2u], told[4u * place + 3u]);
    }

    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if (id.x < RAY_COUNT) {
            cast_through_own(id.x);
            cast_through_static(id.x);
        }
    }";

/// Writes eight words per ray: number of hits, and 1 if their cast finished; 1 for a closest hit, and 1 if certain; 1
/// for any hit, and 1 if certain; 1 if a cast that was ended early counts as finished; 1 if a second any-hit cast is
/// certain.
pub const WHOLE_CASTS: &str = "
    @group(0) @binding(0) var<storage, read> asked: array<vec4<u32>>;
    @group(0) @binding(1) var<storage, read_write> told: array<u32>;

    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if (4u * id.x >= arrayLength(&asked)) {
            return;
        }
        let at = 4u * id.x;
        let ray = own_ray_of(asked[at], asked[at + 1u], asked[at + 2u], asked[at + 3u].x);
        let out = 8u * id.x;
        var left = own_begin_cast(ray);
        while (own_next_hit(&left)) {
            break;
        }
        told[out + 6u] = u32(own_cast_is_complete(&left));
        let any = own_any_hit(ray);
        told[out + 4u] = u32(any.is_hit);
        told[out + 5u] = u32(any.is_complete);
        let closest = own_closest_hit(ray);
        told[out + 2u] = u32(closest.is_hit);
        told[out + 3u] = u32(closest.is_complete);
        var hits = own_begin_cast(ray);
        while (own_next_hit(&hits)) {
            told[out] += 1u;
        }
        told[out + 1u] = u32(own_cast_is_complete(&hits));
        let again = own_any_hit(own_ray_of(asked[at], asked[at + 1u], asked[at + 2u], asked[at + 3u].x));
        told[out + 7u] = u32(again.is_complete);
    }";

/// Three vectors per query, then `SLOTS` words per query for results.
pub const BOTH: &str = "
    @group(0) @binding(0) var<storage, read_write> data: array<u32>;

    fn words(first: u32) -> vec4<u32> {
        return vec4<u32>(data[first], data[first + 1u], data[first + 2u], data[first + 3u]);
    }

    fn add(id: u32, object: u32) {
        let list = 12u * QUERIES + SLOTS * id;
        data[list] += 1u;
        data[list + data[list]] = object;
    }

    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if (id.x >= QUERIES) {
            return;
        }
        let low = words(12u * id.x);
        let high = words(12u * id.x + 4u);
        let rest = words(12u * id.x + 8u);
        var walk = own_begin_walk(own_query_of(low, high, rest.x, rest.y));
        while (own_next_object(&walk)) {
            add(id.x, walk.object);
        }
        var static_walk = static_begin_walk(static_query_of(low, high, rest.x, rest.y));
        while (static_next_object(&static_walk)) {
            add(id.x, static_walk.object);
        }
    }";
