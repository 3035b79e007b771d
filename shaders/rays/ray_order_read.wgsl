// uses: common/prelude

// Rays are walked in the order that `ray_keys` gave them, where they are many.

@group(0) @binding(9) var<storage, read> walk_order: array<u32>;

fn ray_at(place: u32) -> u32 {
    if (params.rays_sorted != 0u && place < params.ray_count) {
        return walk_order[place];
    }
    return place;
}
