// uses: common/box, common/counters, common/wide, common/workgroup, draw/lines

// Draws a line between the box centres of each pair. If a box is infinite, the line is a point at the origin, which
// draws nothing.

@group(0) @binding(1) var<storage, read> objects: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(7) var<storage, read> step_counters: array<u32>;

const PAIR_VERTICES: u32 = 2u;

fn is_finite(object: u32) -> bool {
    return classify(objects[2u * object], objects[2u * object + 1u]) == CLASS_FINITE;
}

fn middle(object: u32) -> vec3<f32> {
    return 0.5 * flush_bits(objects[2u * object].xyz) + 0.5 * flush_bits(objects[2u * object + 1u].xyz);
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let row = flat_workgroup(group, groups) * WORKGROUP + local;
    let needed = vec2<u32>(step_counters[COUNTER_PAIRS_NEEDED], step_counters[COUNTER_PAIRS_NEEDED + 1u]);
    let rows = rows_shown(needed, draw.first, draw.rows);
    if (row == 0u) {
        write_args(rows, PAIR_VERTICES);
    }
    if (row >= rows || row >= draw.capacity / PAIR_VERTICES) {
        return;
    }
    let pair = pairs[row];
    let is_drawn = is_finite(pair.x) && is_finite(pair.y);
    write_vertex(2u * row, select(vec3<f32>(0.0), middle(pair.x), is_drawn), draw.color);
    write_vertex(2u * row + 1u, select(vec3<f32>(0.0), middle(pair.y), is_drawn), draw.color);
}
