// One invocation per pair. Each contact is written at the index of its pair, so the order of execution does not matter.

struct Sphere {
    center: vec3<f32>,
    radius: f32,
}

struct Contact {
    // Unit vector from the first sphere to the second, or zero without contact.
    normal: vec3<f32>,
    // Penetration depth. Negative without contact.
    depth: f32,
}

@group(0) @binding(0) var<storage, read> spheres: array<Sphere>;
@group(0) @binding(1) var<storage, read> pairs: array<vec2<u32>>;
// Three workgroup counts, then the number of pairs.
@group(0) @binding(2) var<storage, read> dispatch: array<u32>;
@group(0) @binding(3) var<storage, read_write> contacts: array<Contact>;
@group(0) @binding(4) var<storage, read_write> count: atomic<u32>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let place = (group.y * 65535u + group.x) * 64u + local;
    if (place >= dispatch[3]) {
        return;
    }
    let a = spheres[pairs[place].x];
    let b = spheres[pairs[place].y];
    let apart = b.center - a.center;
    let distance = length(apart);
    let depth = a.radius + b.radius - distance;
    var normal = vec3<f32>(0.0);
    if (depth >= 0.0) {
        // If the spheres are concentric, any direction is valid.
        normal = select(vec3<f32>(0.0, 0.0, 1.0), apart / distance, distance > 0.0);
        atomicAdd(&count, 1u);
    }
    contacts[place] = Contact(normal, depth);
}
