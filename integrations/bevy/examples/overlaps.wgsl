// Counts the pairs of each object, and converts counts to colours.

struct Pair {
    a: u32,
    b: u32,
}
@group(0) @binding(0) var<storage, read> pairs: array<Pair>;
@group(0) @binding(1) var<storage, read> counters: array<u32>;
@group(0) @binding(2) var<storage, read_write> colors: array<atomic<u32>>;

@compute @workgroup_size(64)
fn count(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    // Counter word 10: pairs found, of which only some may fit.
    let written = min(counters[10], arrayLength(&pairs));
    for (var place = id.x; place < written; place += groups.x * 64u) {
        atomicAdd(&colors[pairs[place].a], 1u);
        atomicAdd(&colors[pairs[place].b], 1u);
    }
}

@compute @workgroup_size(64)
fn paint(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var object = id.x; object < arrayLength(&colors); object += groups.x * 64u) {
        let many = f32(atomicLoad(&colors[object]));
        let crowd = clamp((many - 1.0) / 4.0, 0.0, 1.0);
        let alone = vec3f(0.05, 0.11, 0.2);
        let color = select(mix(vec3f(0.95, 0.55, 0.1), vec3f(0.9, 0.05, 0.12), crowd), alone, many == 0.0);
        atomicStore(&colors[object], pack4x8unorm(vec4f(color, 1.0)));
    }
}
