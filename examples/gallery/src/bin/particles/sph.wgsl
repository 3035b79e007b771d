// Weakly compressible SPH in metres. Densities and pressures are divided by the rest density; pressures are in m²/s².

struct Params {
    // Upper corner. The lower corner is the origin.
    tank: vec3<f32>,
    reach: f32,
    mass: f32,
    gravity: f32,
    // Speed of sound at rest.
    speed: f32,
    viscosity: f32,
    time_step: f32,
    count: u32,
    capacity: u32,
}

struct Particle {
    position: vec3<f32>,
    density: f32,
    velocity: vec3<f32>,
    neighbors: u32,
}

// Box layout of the broad phase. A particle is a point.
struct Aabb {
    low: vec3<f32>,
    layers: u32,
    high: vec3<f32>,
    group: u32,
}

struct State {
    density: f32,
    // Pressure / squared density, as in the force.
    push: f32,
}

struct Seen {
    // Maximum over all steps.
    neighbors: u32,
    // Status bits of all steps.
    status: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> particles: array<Particle>;
@group(0) @binding(2) var<storage, read> offsets: array<u32>;
@group(0) @binding(3) var<storage, read> neighbors: array<u32>;

// Bindings of `density`.
@group(1) @binding(0) var<storage, read> counters: array<u32>;
@group(1) @binding(1) var<storage, read_write> seen: Seen;
@group(1) @binding(2) var<storage, read_write> found: array<State>;

// Bindings of `advance`.
@group(1) @binding(0) var<storage, read> states: array<State>;
@group(1) @binding(1) var<storage, read_write> after: array<Particle>;
@group(1) @binding(2) var<storage, read_write> boxes: array<Aabb>;

// After an overflow, offsets exceed the capacity.
fn list(index: u32) -> vec2<u32> {
    return min(vec2<u32>(offsets[index], offsets[index + 1u]), vec2<u32>(params.capacity));
}

// Depth of each wall in the kernel: 0 out of reach, 1 at the wall.
fn near_low_walls(position: vec3<f32>) -> vec3<f32> {
    return saturate(1.0 - position / params.reach);
}

fn near_high_walls(position: vec3<f32>) -> vec3<f32> {
    return saturate(1.0 - (params.tank - position) / params.reach);
}

// Fraction of the kernel behind a wall, per axis.
fn beyond(near: vec3<f32>) -> vec3<f32> {
    let cubed = near * near * near;
    return cubed * cubed * (3.5 + near * (1.5 * near - 4.5));
}

// Derivative of `beyond` by `near`.
fn beyond_slope(near: vec3<f32>) -> vec3<f32> {
    let squared = near * near;
    return squared * squared * near * (21.0 + near * (12.0 * near - 31.5));
}

// Fraction of the kernel between walls, per axis. The product is the fraction in the tank.
fn between_walls(position: vec3<f32>) -> vec3<f32> {
    return 1.0 - beyond(near_low_walls(position)) - beyond(near_high_walls(position));
}

@compute @workgroup_size(64)
fn density(@builtin(global_invocation_id) id: vec3<u32>) {
    let index = id.x;
    if (index >= params.count) {
        return;
    }
    if (index == 0u) {
        seen.neighbors = max(seen.neighbors, offsets[params.count]);
        seen.status |= counters[5] | counters[29];
    }
    let position = particles[index].position;
    var sum = 1.0;
    let range = list(index);
    for (var place = range.x; place < range.y; place++) {
        let apart = position - particles[neighbors[place]].position;
        let q = min(length(apart) / params.reach, 1.0);
        let share = (1.0 - q) * (1.0 - q);
        sum += share * share * (1.0 + 4.0 * q);
    }
    let inside = between_walls(position);
    // The kernel's part behind walls has rest density.
    let density = params.mass * sum + 1.0 - inside.x * inside.y * inside.z;
    // Tait's equation for water, without negative pressure.
    let squared = density * density;
    let excess = squared * squared * squared * density - 1.0;
    found[index] = State(density, params.speed * params.speed / 7.0 * max(excess, 0.0) / squared);
}

@compute @workgroup_size(64)
fn advance(@builtin(global_invocation_id) id: vec3<u32>) {
    let index = id.x;
    if (index >= params.count) {
        return;
    }
    let particle = particles[index];
    let own = states[index];
    let smoothing = 0.5 * params.reach;
    var pull = vec3<f32>(0.0);
    let range = list(index);
    for (var place = range.x; place < range.y; place++) {
        let neighbor = neighbors[place];
        let other = particles[neighbor];
        let state = states[neighbor];
        let apart = particle.position - other.position;
        let squared = dot(apart, apart);
        let share = max(1.0 - sqrt(squared) / params.reach, 0.0);
        // Forces of a pair are opposite and conserve momentum.
        let approach = min(dot(particle.velocity - other.velocity, apart), 0.0);
        let closing = smoothing * approach / (squared + 0.01 * smoothing * smoothing);
        let drag = -2.0 * params.viscosity * params.speed * closing / (own.density + state.density);
        pull += (own.push + state.push + drag) * share * share * share * apart;
    }
    pull *= 20.0 * params.mass / (params.reach * params.reach);
    let inside = between_walls(particle.position);
    let slope = beyond_slope(near_low_walls(particle.position)) - beyond_slope(near_high_walls(particle.position));
    pull += own.push / params.reach * slope * inside.yzx * inside.zxy;
    pull.y -= params.gravity;

    var velocity = particle.velocity + params.time_step * pull;
    let moved = particle.position + params.time_step * velocity;
    let position = clamp(moved, vec3<f32>(0.0), params.tank);
    velocity = select(vec3<f32>(0.0), velocity, moved == position);
    after[index] = Particle(position, own.density, velocity, range.y - range.x);
    boxes[index] = Aabb(position, 0xffffffffu, position, 0u);
}
