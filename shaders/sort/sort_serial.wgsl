// uses: sort/sort

// The sort of software adapters: an invocation works on a long run of keys, a strip, alone. Every word that is read or
// written costs the same there, wherever it lies, and turns of a loop cost as much as several words: hence four keys a
// turn.
//
// The counts lie as `[digit][strip]`, the keys of each digit in all strips follow them.

// Invocations of a workgroup, as few as fill the lanes of most processors.
const SERIAL_TILES: u32 = 8u;

// Where the strip counts each of four keys.
fn slots_of(four: vec4<u32>, strip: u32) -> vec4<u32> {
    return ((four >> vec4<u32>(sort.shift)) & vec4<u32>(digits() - 1u)) * sort.tiles + strip;
}

// Keys of a strip: all strips have as many, however many keys there are.
fn serial_tile_keys(keys: u32) -> u32 {
    return (keys + sort.tiles - 1u) / sort.tiles;
}
