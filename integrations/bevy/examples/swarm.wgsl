// Moves agents around the origin and away from nearby entities. Appended to the table's WGSL.

struct Agent {
    position: vec4f,
    velocity: vec4f,
}
struct Box {
    lower: vec3f,
    layers: u32,
    upper: vec3f,
    group: u32,
}
@group(0) @binding(0) var<storage, read_write> agents: array<Agent>;
@group(0) @binding(1) var<storage, read_write> drawn: array<Box>;
@group(0) @binding(2) var<storage, read_write> colors: array<u32>;

const SIGHT = 2.5;
const SIZE = 0.11;

@compute @workgroup_size(64)
fn fly(@builtin(global_invocation_id) id: vec3u) {
    if (id.x >= arrayLength(&agents)) {
        return;
    }
    let position = agents[id.x].position.xyz;
    var velocity = agents[id.x].velocity.xyz;
    var push = vec3f(0.0);
    var near = 0.0;
    var walk = bp_begin_walk(bp_sphere_query(position, SIGHT));
    while (bp_next_object(&walk)) {
        let lower = bp_record_min(walk.record);
        let upper = bp_record_max(walk.record);
        // Direction away from the nearest point of the box, or from the box centre if the agent is inside.
        let outside = position - clamp(position, lower, upper);
        let apart = length(outside);
        let away = select(position - 0.5 * (lower + upper), outside, apart > 0.0);
        push += normalize(away + vec3f(1e-6)) * (1.0 - apart / SIGHT);
        near += 1.0;
    }
    let around = normalize(vec3f(-position.z, 0.0, position.x) + vec3f(1e-6));
    let home = vec3f(0.0, 3.0 + 3.0 * sin(f32(id.x) * 0.37), 0.0) - position;
    velocity += around * 0.012 + push * 0.09 + home * vec3f(0.0004, 0.004, 0.0004);
    velocity *= min(1.0, 0.4 / length(velocity));
    let next = position + velocity;
    agents[id.x] = Agent(vec4f(next, 1.0), vec4f(velocity, 0.0));
    drawn[id.x] = Box(next - SIZE, 0u, next + SIZE, 0u);
    let alarm = clamp(near / 3.0, 0.0, 1.0);
    colors[id.x] = pack4x8unorm(vec4f(mix(vec3f(0.1, 0.75, 0.95), vec3f(1.0, 0.35, 0.1), alarm), 1.0));
}
