// uses: common/cells, common/grid

// Records lie in the order of the entries: those of objects without a part come behind all others.

@group(0) @binding(3) var<storage, read> starts: array<u32>;
@group(0) @binding(4) var<storage, read> grid: Grid;

fn takes_part(record: u32, name: u32) -> bool {
    return record < starts[absent_key(grid.table_cells)];
}
