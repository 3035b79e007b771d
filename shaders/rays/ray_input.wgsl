// uses: rays/ray

// The rays that are cast.

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
    return ray_of_words(rays[at], rays[at + 1u], SWEPT, sweep, world);
}
