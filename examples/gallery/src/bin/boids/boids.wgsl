// Boids after Reynolds (1987): alignment, cohesion and separation.

struct Params {
    // Edges of the periodic world.
    world: vec2<f32>,
    // Position that frightens boids. Without a pointer, `fright` is 0.
    pointer: vec2<f32>,
    fright: f32,
    time_step: f32,
    radius: f32,
    count: u32,
    capacity: u32,
}

struct Boid {
    position: vec2<f32>,
    velocity: vec2<f32>,
}

// Box layout of the broad phase. A boid is a point.
struct Aabb {
    low: vec3<f32>,
    layers: u32,
    high: vec3<f32>,
    group: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> before: array<Boid>;
@group(0) @binding(2) var<storage, read> offsets: array<u32>;
@group(0) @binding(3) var<storage, read> neighbors: array<u32>;
@group(0) @binding(4) var<storage, read_write> after: array<Boid>;
@group(0) @binding(5) var<storage, read_write> boxes: array<Aabb>;

// Speed in units per second.
const CRUISE: f32 = 14.0;
// Boids nearer than this repel each other.
const ELBOW_ROOM: f32 = 1.0;
const FRIGHT_REACH: f32 = 18.0;

fn apart(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let straight = b - a;
    return straight - params.world * round(straight / params.world);
}

@compute @workgroup_size(64)
fn steer(@builtin(global_invocation_id) id: vec3<u32>) {
    let index = id.x;
    if (index >= params.count) {
        return;
    }
    let boid = before[index];
    // Weights fade with distance, so that nothing jumps.
    var weight = 1.0;
    var heading = boid.velocity;
    var middle = vec2<f32>(0.0);
    var push = vec2<f32>(0.0);
    let end = min(offsets[index + 1u], params.capacity);
    for (var place = offsets[index]; place < end; place++) {
        let other = before[neighbors[place]];
        let way = apart(boid.position, other.position);
        let distance = length(way);
        let share = max(1.0 - distance / params.radius, 0.0);
        weight += share;
        heading += share * other.velocity;
        middle += share * way;
        push -= max(1.0 / max(distance, 0.05) - 1.0 / ELBOW_ROOM, 0.0) * way;
    }
    let scare = apart(params.pointer, boid.position);
    let far = max(length(scare), 0.001);
    var pull = 4.0 * (heading / weight - boid.velocity) + 12.0 * middle / weight + 16.0 * push;
    pull += params.fright * max(1.0 - far / FRIGHT_REACH, 0.0) * scare / far;

    var velocity = boid.velocity + params.time_step * pull;
    let speed = max(length(velocity), 0.001);
    velocity *= mix(clamp(speed, 0.5 * CRUISE, 1.5 * CRUISE), CRUISE, min(2.0 * params.time_step, 1.0)) / speed;
    let moved = boid.position + params.time_step * velocity;
    let position = moved - params.world * floor(moved / params.world);
    after[index] = Boid(position, velocity);
    boxes[index] = Aabb(vec3<f32>(position, 0.0), 0xffffffffu, vec3<f32>(position, 0.0), 0u);
}

struct Corner {
    @builtin(position) position: vec4<f32>,
    @location(0) color: vec3<f32>,
}

// x is along the heading, y to its left.
const DART = array<vec2<f32>, 6>(
    vec2<f32>(0.75, 0.0), vec2<f32>(-0.45, 0.36), vec2<f32>(-0.2, 0.0),
    vec2<f32>(-0.2, 0.0), vec2<f32>(-0.45, -0.36), vec2<f32>(0.75, 0.0),
);

@vertex
fn boid_vertex(
    @builtin(vertex_index) vertex: u32,
    @location(0) position: vec2<f32>,
    @location(1) velocity: vec2<f32>,
) -> Corner {
    var dart = DART;
    let along = normalize(velocity);
    let corner = dart[vertex];
    let place = position + corner.x * along + corner.y * vec2<f32>(-along.y, along.x);
    let angle = atan2(velocity.y, velocity.x);
    let color = 0.52 + 0.48 * cos(angle + vec3<f32>(0.0, 2.1, 4.2));
    return Corner(vec4<f32>(2.0 * place / params.world - 1.0, 0.0, 1.0), color);
}

@fragment
fn boid_fragment(corner: Corner) -> @location(0) vec4<f32> {
    return vec4<f32>(corner.color, 1.0);
}
