// uses: common/clusters, common/grid, common/workgroup

// Sorts the entries of each cell by lower y, in blocks of 256, and writes the boxes of clusters. These boxes are small,
// since entries are already in order along x.

@group(0) @binding(2) var<storage, read_write> values: array<u32>;
@group(0) @binding(3) var<storage, read_write> records: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> grid: Grid;
@group(0) @binding(5) var<storage, read> keys: array<u32>;

var<workgroup> cells: array<u32, 256>;
var<workgroup> lows_y: array<i32, 256>;

// Place of an entry once its cell is sorted. Equal bounds keep their order.
fn place_in_cell(local: u32, members: u32) -> u32 {
    let cell = cells[local];
    let low_y = lows_y[local];
    var place = local;
    for (var other = local; other > 0u && cells[other - 1u] == cell; other -= 1u) {
        place -= u32(lows_y[other - 1u] > low_y);
    }
    for (var other = local + 1u; other < members && cells[other] == cell; other += 1u) {
        place += u32(lows_y[other] < low_y);
    }
    return place;
}

// Bounds are clamped to infinity, since a cluster may have invalid objects, and rays use bounds as floats.
fn write_cluster(cluster: u32) {
    let first = cluster * CLUSTER;
    var low = bitcast<vec4<i32>>(records[2u * first]);
    var high = bitcast<vec4<i32>>(records[2u * first + 1u]);
    for (var record = first + 1u; record < min(first + CLUSTER, grid.entry_count); record += 1u) {
        low = min(low, bitcast<vec4<i32>>(records[2u * record]));
        high = max(high, bitcast<vec4<i32>>(records[2u * record + 1u]));
    }
    let place = cluster_record(cluster);
    let infinity = vec3<i32>(0x7f800000);
    records[2u * place] = vec4<u32>(bitcast<vec3<u32>>(max(low.xyz, -infinity)), 0u);
    records[2u * place + 1u] = vec4<u32>(bitcast<vec3<u32>>(min(high.xyz, infinity)), 0u);
}

// All invocations of a workgroup must call this. `first` is a multiple of 256.
fn order_block(first: u32, local: u32) {
    let entry = first + local;
    var low = vec4<u32>(0u);
    var high = vec4<u32>(0u);
    var value = 0u;
    if (entry < grid.entry_count) {
        low = records[2u * entry];
        high = records[2u * entry + 1u];
        value = values[entry];
        cells[local] = keys[entry];
        lows_y[local] = bitcast<i32>(low.y);
    }
    workgroupBarrier();
    storageBarrier();
    if (entry < grid.entry_count) {
        let place = first + place_in_cell(local, min(grid.entry_count - first, WORKGROUP));
        records[2u * place] = low;
        records[2u * place + 1u] = high;
        values[place] = value;
    }
    workgroupBarrier();
    storageBarrier();
    let cluster = first / CLUSTER + local;
    if (local < WORKGROUP / CLUSTER && cluster * CLUSTER < grid.entry_count) {
        write_cluster(cluster);
    }
}
