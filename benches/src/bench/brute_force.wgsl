// Tests every box against all later ones, in tiles: the baseline of any broad phase.

struct Tile {
    count: u32,
    first: u32,
    last: u32,
    unused: u32,
}

// Two elements per box: lower and upper corner, each with an unused word. Coordinates are integers that compare like
// the floats, because GPUs may flush denormal floats to zero.
@group(0) @binding(0) var<storage, read> boxes: array<vec4<i32>>;
@group(0) @binding(1) var<storage, read_write> found: array<u32>;
@group(0) @binding(2) var<uniform> tile: Tile;

@compute @workgroup_size(64)
fn brute_force(@builtin(global_invocation_id) id: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let own = id.x;
    if own >= tile.count {
        return;
    }
    let low = boxes[2u * own].xyz;
    let high = boxes[2u * own + 1u].xyz;
    var overlaps = 0u;
    // All invocations of a workgroup read the same box at the same time.
    for (var other = max(tile.first, 64u * group.x); other < tile.last; other++) {
        let is_later = other > own;
        let meets = all(low <= boxes[2u * other + 1u].xyz) & all(boxes[2u * other].xyz <= high);
        overlaps += u32(is_later & meets);
    }
    found[own] += overlaps;
}
