// uses: common/box, common/workgroup, draw/lines

// Draws the objects' boxes. Infinite, invalid and excluded boxes become points at the origin, which draw nothing.

@group(0) @binding(1) var<storage, read> objects: array<vec4<u32>>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let object = flat_workgroup(group, groups) * WORKGROUP + local;
    if (object == 0u) {
        write_args(draw.rows, BOX_VERTICES);
    }
    if (object >= draw.rows || object >= draw.capacity / BOX_VERTICES) {
        return;
    }
    let low = objects[2u * object];
    let high = objects[2u * object + 1u];
    let is_drawn = classify(low, high) == CLASS_FINITE;
    write_box(
        BOX_VERTICES * object,
        select(vec3<f32>(0.0), flush_bits(low.xyz), is_drawn),
        select(vec3<f32>(0.0), flush_bits(high.xyz), is_drawn),
        draw.color,
    );
}
