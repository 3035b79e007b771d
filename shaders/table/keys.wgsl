// uses: common/box, common/cells, common/grid, common/place, common/prelude, common/workgroup, table/worlds

// Hierarchical and adaptive: one entry per object, keyed by the cell of its lower corner. Past the cells come the key
// of the large list and that of objects that take no part, so that sorting splits them off.

@group(0) @binding(1) var<storage, read> objects: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> grid: Grid;
@group(0) @binding(3) var<storage, read_write> keys: array<u32>;
@group(0) @binding(4) var<storage, read_write> values: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let object = flat_workgroup(group, groups) * WORKGROUP + local;
    if (object >= params.object_count) {
        return;
    }
    let low = objects[2u * (params.first_object + object)];
    let high = objects[2u * (params.first_object + object) + 1u];
    let kind = classify(low, high);
    let world = world_of(object);
    var key = large_key(grid.table_cells, world);
    if (kind == CLASS_INVALID || kind == CLASS_EXCLUDED) {
        key = absent_key(grid.table_cells);
    } else if (kind == CLASS_FINITE) {
        let placement = place(low.xyz, high.xyz);
        if (placement.level != NO_LEVEL) {
            key = key_of(grid.levels[placement.level], placement.lower, world);
        }
    }
    keys[object] = key;
    values[object] = object | HOME_FLAGS;
}
