// uses: common/prelude

// Where counting keeps the first hits of a ray for writing, two words each, object and t: behind the offsets and what
// rounds leave there.

fn kept_at(ray: u32, hit: u32) -> u32 {
    return 2u * params.ray_count + 1u + 2u * (params.hits_kept * ray + hit);
}
