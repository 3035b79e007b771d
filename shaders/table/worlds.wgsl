// uses: common/prelude

// Worlds of a table's objects. Objects of different worlds never meet.

// World of objects that meet those of every world.
const ALL_WORLDS: u32 = 0xffffffffu;

@group(0) @binding(9) var<storage, read> worlds: array<u32>;

fn world_of(object: u32) -> u32 {
    if (params.world_count <= 1u) {
        return 0u;
    }
    return worlds[object];
}
