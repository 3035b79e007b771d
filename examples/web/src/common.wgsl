// Used by all shaders of the page. Appended to the gallery's `solid.wgsl`.

struct Params {
    view_projection: mat4x4<f32>,
    eye: vec3<f32>,
    // 0 while paused.
    time_step: f32,
    // Half edges of the space.
    reach: vec3<f32>,
    time: f32,
    ray_origin: vec3<f32>,
    // Negative without a ray.
    ray_length: f32,
    ray_direction: vec3<f32>,
    // World units per pixel, at distance 1 in 3D.
    pixel: f32,
    // Scales positions when the space changes its shape.
    stretch: vec3<f32>,
    count: u32,
    dimensions: u32,
    hit_capacity: u32,
    has_colors: u32,
    shows_ray: u32,
}

struct Found {
    hits: u32,
    // NONE without a hit.
    closest: u32,
    // Ray parameter of the closest hit.
    t: f32,
    reserved: u32,
}

const NONE: u32 = 0xffffffffu;

@group(0) @binding(0) var<uniform> params: Params;
