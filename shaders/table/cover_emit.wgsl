// uses: common/cells, common/cover, common/grid, common/prelude, common/workgroup, table/worlds

// Writes an entry for every cell of the cover table that a larger box covers, x fastest, behind the entries of the
// objects. Some invocations write those of a box together: they are from a few to thousands.

@group(0) @binding(1) var<storage, read> objects: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> grid: Grid;
@group(0) @binding(3) var<storage, read_write> keys: array<u32>;
@group(0) @binding(4) var<storage, read_write> values: array<u32>;
@group(0) @binding(5) var<storage, read> cover_sums: array<u32>;

// A lane of the least wide processors each: most boxes have no fewer cells.
const LANES_A_BOX: u32 = 8u;

var<workgroup> partial: array<u32, 64>;
// Objects of the tile that are entered, in any order, and where the entries of each begin.
var<workgroup> found: array<vec2<u32>, 1024>;
var<workgroup> found_count: atomic<u32>;

// Entries of the tile, from the first of all on.
fn tile_entries(tile: u32) -> vec2<u32> {
    let tiles = cover_tiles();
    if (grid.cover_below == 0u || tile >= tiles) {
        return vec2<u32>(0u);
    }
    let own = (grid.cover_shift - 1u) * tiles + tile;
    if (tile + 1u == tiles) {
        return vec2<u32>(cover_sums[own], grid.cover.count);
    }
    return vec2<u32>(cover_sums[own], cover_sums[own + 1u]);
}

fn own_cover(object: u32, covering: Covering) -> Cover {
    let name = params.first_object + object;
    return cover_of(objects[2u * name].xyz, objects[2u * name + 1u].xyz, covering);
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = flat_workgroup(group, groups);
    let entries = tile_entries(tile);
    if (local == 0u) {
        atomicStore(&found_count, 0u);
    }
    // Ahead of all loops, since what is written might change it for all that a compiler knows.
    let covering = covering_of(grid.cover_shift);
    let cover_level = grid.cover;
    var own = 0u;
    // A bit for each of the invocation's objects that is entered.
    var own_objects = 0u;
    if (entries.y > entries.x) {
        let larger = larger_keys(grid.cover_shift);
        for (var k = 0u; k < COVER_TILE / COVER_LANES; k += 1u) {
            let object = tile * COVER_TILE + k * COVER_LANES + local;
            if (object < params.object_count) {
                let key = keys[object];
                for (var counts = key >= larger.x && key < larger.y; counts; counts = false) {
                    own += cover_cells(own_cover(object, covering));
                    own_objects |= 1u << k;
                }
            }
        }
    }
    partial[local] = own;
    workgroupBarrier();
    for (var distance = 1u; distance < COVER_LANES; distance *= 2u) {
        var sum = partial[local];
        if (local >= distance) {
            sum += partial[local - distance];
        }
        workgroupBarrier();
        partial[local] = sum;
        workgroupBarrier();
    }
    var place = params.object_count + entries.x + partial[local] - own;
    for (var rest = own_objects; rest != 0u; rest &= rest - 1u) {
        let object = tile * COVER_TILE + countTrailingZeros(rest) * COVER_LANES + local;
        found[atomicAdd(&found_count, 1u)] = vec2<u32>(object, place);
        place += cover_cells(own_cover(object, covering));
    }
    workgroupBarrier();
    let founds = atomicLoad(&found_count);
    for (var k = local / LANES_A_BOX; k < founds; k += COVER_LANES / LANES_A_BOX) {
        let object = found[k].x;
        let first = found[k].y;
        let cover = own_cover(object, covering);
        let world = world_of(object);
        for (var entry = local % LANES_A_BOX; entry < cover_cells(cover); entry += LANES_A_BOX) {
            let row = entry / cover.size.x;
            let cell = cover.lower + vec3<i32>(vec3<u32>(entry % cover.size.x, row % cover.size.y, row / cover.size.y));
            keys[first + entry] = key_of(cover_level, cell, world);
            values[first + entry] = object;
        }
    }
}
