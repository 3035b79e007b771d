// uses: sort/sort

// Sort for software adapters: one invocation processes a long run of keys, a serial tile. On such adapters, reading a
// word takes equally long anywhere in memory, and a loop iteration as long as several words. So each iteration
// processes four keys. Counts are stored as `[digit value][tile]`, then a total per digit value.

// Serial tiles per workgroup: enough for the lanes of most processors.
const SERIAL_TILES: u32 = 8u;

fn slots_of(four: vec4<u32>, tile: u32) -> vec4<u32> {
    return ((four >> vec4<u32>(sort.shift)) & vec4<u32>(digits() - 1u)) * sort.tiles + tile;
}

fn serial_tile_keys(keys: u32) -> u32 {
    return (keys + sort.tiles - 1u) / sort.tiles;
}
