// uses: common/box, common/cells, common/large_table, common/grid, common/prelude, common/workgroup, sort/sort_next
// uses: table/levels, table/worlds

// Hierarchical and adaptive schemes: writes one key per object, that of the cell of its lower corner. Large and ignored
// objects have keys past the cells. Values are not written: the sort by the first digit derives them.
// Also counts the entries of the large-object table, per tile of objects and cell size.

@group(0) @binding(1) var<storage, read> objects: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> keys: array<u32>;
// A total of two words per cell size, then the sum of each tile, `[shift - 1][tile]`.
@group(0) @binding(7) var<storage, read_write> large_table_sums: array<atomic<u32>>;

var<workgroup> sums: array<atomic<u32>, 3>;

fn key_of_box(low: vec4<u32>, high: vec4<u32>, world: u32) -> u32 {
    let kind = classify(low, high);
    if (kind == CLASS_INVALID || kind == CLASS_EXCLUDED) {
        return ignored_key(grid.table_cells);
    }
    if (enters_cells(kind, world)) {
        let placement = place(low.xyz, high.xyz, grid.base_inverse, grid.stretch);
        if (placement.level != NO_LEVEL) {
            return key_of(grid.levels[placement.level], placement.lower, world);
        }
    }
    return large_key(grid.table_cells, world);
}

fn add_sum(choice: u32, tile: u32) {
    let sum = atomicLoad(&sums[choice]);
    atomicStore(&large_table_sums[large_table_sum(choice + 1u, tile)], sum);
    if (sum > 0u) {
        let before = atomicAdd(&large_table_sums[2u * choice], sum);
        if (before + sum < before) {
            atomicAdd(&large_table_sums[2u * choice + 1u], 1u);
        }
    }
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = flat_workgroup(group, groups);
    lay_out(local, tile == 0u);
    if (local < LARGE_TABLE_SHIFTS) {
        atomicStore(&sums[local], 0u);
    }
    // The last choice has the largest cells and enters boxes of the most levels.
    let larger = larger_keys(LARGE_TABLE_SHIFTS);
    let begins = vec3<u32>(larger_keys(1u).x, larger_keys(2u).x, larger.x);
    workgroupBarrier();
    let end = min((tile + 1u) * params.large_table_tile, params.object_count);
    for (var object = tile * params.large_table_tile + local; object < end; object += WORKGROUP) {
        let low = objects[2u * (params.first_object + object)];
        let high = objects[2u * (params.first_object + object) + 1u];
        let key = key_of_box(low, high, world_of(object));
        keys[object] = key;
        count_next(key, object);
        if (grid.large_table_below > 0u && key >= larger.x && key < larger.y) {
            let fine = fine_cells_of(low.xyz, high.xyz);
            // Three copies in place of the loop take FXC 45 s.
            for (var choice = 0u; choice < LARGE_TABLE_SHIFTS; choice += 1u) {
                let cells = large_cells_of(fine, covering_of(choice + 1u));
                atomicAdd(&sums[choice], select(0u, large_cell_count(cells), key >= begins[choice]));
            }
        }
    }
    workgroupBarrier();
    if (params.large_table_capacity > 0u && local < LARGE_TABLE_SHIFTS && tile < large_table_tiles()) {
        add_sum(local, tile);
    }
}
