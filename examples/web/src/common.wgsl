// What all shaders of the page share; behind the gallery's `solid.wgsl`.

struct Params {
    view_projection: mat4x4<f32>,
    eye: vec3<f32>,
    // Seconds; 0 while time stands still.
    time_step: f32,
    // Half the edges of the space that the boxes move in; its middle is the origin.
    reach: vec3<f32>,
    // Since the beginning, seconds.
    time: f32,
    ray_origin: vec3<f32>,
    // Along the ray; negative where there is none.
    ray_length: f32,
    ray_direction: vec3<f32>,
    // World units a pixel: in two dimensions everywhere, in three at a distance of one.
    pixel: f32,
    // By which positions are stretched before they move, where the space has changed its shape.
    stretch: vec3<f32>,
    count: u32,
    // 2 or 3.
    dimensions: u32,
    // Hits that the output holds.
    hit_capacity: u32,
    // 1 where the boxes are coloured by how many others each overlaps.
    has_colors: u32,
    // 1 where the ray itself is drawn.
    shows_ray: u32,
}

// What the ray meets.
struct Found {
    hits: u32,
    // NONE where it meets nothing.
    closest: u32,
    // Where it enters the closest one.
    t: f32,
    reserved: u32,
}

const NONE: u32 = 0xffffffffu;

@group(0) @binding(0) var<uniform> params: Params;
