// Moves the boxes. Appended to `common.wgsl`.

struct Body {
    center: vec3<f32>,
    half_edge: f32,
    velocity: vec3<f32>,
    phase: f32,
}

@group(0) @binding(1) var<storage, read_write> bodies: array<Body>;
@group(0) @binding(2) var<storage, read_write> moved: array<Aabb>;

const PI: f32 = 3.14159265;
// 3D: acceleration towards the middle per distance, in 1/s².
const PULL: f32 = 0.6;
// 2D: seconds in which a middle-sized box follows the flow.
const LAG: f32 = 0.22;

// `waves` vortices per axis, tangential at the borders.
fn vortices(place: vec2<f32>, waves: vec2<f32>, strength: f32) -> vec2<f32> {
    let turn = waves * place;
    return strength * vec2<f32>(sin(turn.x) * cos(turn.y) * waves.y, -cos(turn.x) * sin(turn.y) * waves.x);
}

// Velocity in half edges of the space per second, up to about a third.
fn flow(center: vec2<f32>) -> vec2<f32> {
    let place = PI * (0.5 + 0.5 * center / params.reach.xy);
    let slow = 0.23 * params.time;
    return vortices(place, vec2<f32>(2.0, 1.0), 0.050 + 0.025 * sin(slow))
        + vortices(place, vec2<f32>(3.0, 2.0), 0.034 * cos(1.3 * slow + 1.0))
        + vortices(place, vec2<f32>(1.0, 3.0), 0.020 * sin(1.7 * slow + 2.0))
        + vortices(place, vec2<f32>(5.0, 4.0), 0.012 * cos(2.1 * slow));
}

// Half extents of up to 1.35 `half_edge`.
fn half_extents(body: Body) -> vec3<f32> {
    let longer = 1.0 + 0.35 * cos(2.0 * PI * (vec3<f32>(0.0, 0.5, 0.25) + 7.0 * body.phase));
    return body.half_edge * longer;
}

@compute @workgroup_size(64)
fn advance(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let index = (group.y * groups.x + group.x) * 64u + local;
    if (index >= params.count) {
        return;
    }
    var body = bodies[index];
    let half = half_extents(body);
    body.center *= params.stretch;
    if (params.dimensions == 2u) {
        // Individual drift keeps boxes apart.
        let angle = 2.0 * PI * (body.phase * 31.0 + 0.07 * (0.5 + body.phase) * params.time);
        let wanted = flow(body.center.xy) * params.reach.xy + 0.55 * vec2<f32>(cos(angle), sin(angle));
        let share = 1.0 - exp(-params.time_step / (LAG * (0.4 + 1.2 * body.half_edge)));
        body.velocity = vec3<f32>(mix(body.velocity.xy, wanted, share), 0.0);
    } else {
        body.velocity -= params.time_step * PULL * body.center;
    }
    body.center += params.time_step * body.velocity;
    let room = max(params.reach - half, vec3<f32>(0.0));
    let is_out = abs(body.center) > room;
    body.velocity = select(body.velocity, -sign(body.center) * abs(body.velocity), is_out);
    body.center = clamp(body.center, -room, room);
    bodies[index] = body;
    moved[index] = Aabb(body.center - half, 0xffffffffu, body.center + half, 0u);
}
