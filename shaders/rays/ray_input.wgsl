// uses: common/prelude, rays/ray

// The rays that are cast, and where counting keeps the first hits of each.

@group(0) @binding(4) var<storage, read> rays: array<vec4<u32>>;

// Vectors of a ray, and of one that sweeps a box, as `params.ray_stride` says.
const RAY_STRIDE: u32 = 2u;
const SWEPT_STRIDE: u32 = 4u;

fn load_ray(index: u32) -> Ray {
    let at = select(RAY_STRIDE, SWEPT_STRIDE, SWEPT) * index;
    var sweep = vec4<u32>(0u);
    var world = 0u;
    if (SWEPT) {
        sweep = rays[at + 2u];
        world = rays[at + 3u].x;
    }
    var ray = ray_of_words(rays[at], rays[at + 1u], SWEPT, sweep, world);
    ray.index = index;
    return ray;
}

// Where counting keeps the first hits of a ray for writing, two words each, object and t: behind the offsets and what
// rounds leave there.

fn kept_at(ray: u32, hit: u32) -> u32 {
    return 2u * params.ray_count + 1u + 2u * (params.hits_kept * ray + hit);
}
