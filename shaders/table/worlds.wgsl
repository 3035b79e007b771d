// uses: common/prelude

// Worlds of a table's objects.

@group(0) @binding(9) var<storage, read> worlds: array<u32>;

fn world_of(object: u32) -> u32 {
    if (params.world_count <= 1u) {
        return 0u;
    }
    return worlds[object];
}
