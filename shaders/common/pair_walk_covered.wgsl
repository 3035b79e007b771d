// Every candidate of one entry: the entries behind it in its bucket, where a pair counts only in the bucket of its home
// cell (the larger of the two lower corners, an axis each), which both boxes cover; and, from the object's own home
// entry alone, the large list.

@group(0) @binding(5) var<storage, read> keys: array<u32>;
@group(0) @binding(6) var<storage, read> values: array<u32>;

fn test_large(low: vec3<i32>, high: vec3<i32>, world: u32, candidate: u32) {
    let other = values[candidate] & ID_MASK;
    let other_high = records[2u * other + 1u];
    visit_candidate(params.first_object + other, other_high.w == world && overlaps(low, high, bitcast<vec3<i32>>(records[2u * other].xyz), bitcast<vec3<i32>>(other_high.xyz)));
    count_candidate();
}

fn walk_pairs(index: u32) {
    if (index >= starts[absent_key(grid.table_cells)]) {
        return;
    }
    let value = values[index];
    let key = keys[index];
    let own_low = records[2u * (value & ID_MASK)];
    let own_high = records[2u * (value & ID_MASK) + 1u];
    begin_object(own_low.w);
    let low = bitcast<vec3<i32>>(own_low.xyz);
    let high = bitcast<vec3<i32>>(own_high.xyz);
    let world = own_high.w;
    let large = large_list(world);
    let level = grid.levels[0];
    let inverse = vec3<f32>(params.cell_inverse);
    let lower = cell_of(flush_bits(unordered(low)), inverse);

    if (index >= starts[grid.table_cells]) {
        let behind = share_of(max(large.y, index + 1u) - (index + 1u));
        for (var k = behind.x; k < behind.y; k += 1u) {
            test_large(low, high, world, index + 1u + k);
        }
        return;
    }
    let behind = share_of(starts[key + 1u] - (index + 1u));
    for (var k = behind.x; k < behind.y; k += 1u) {
        let other = values[index + 1u + k] & ID_MASK;
        let other_low = bitcast<vec3<i32>>(records[2u * other].xyz);
        let other_high = records[2u * other + 1u];
        if (other_high.w == world && overlaps(low, high, other_low, bitcast<vec3<i32>>(other_high.xyz))) {
            let home = max(lower, cell_of(flush_bits(unordered(other_low)), inverse));
            visit_candidate(params.first_object + other, key_of(level, home, world) == key);
        }
        count_candidate();
    }
    if ((value & HOME_FLAG) != 0u) {
        let of_large = share_of(large.y - large.x);
        for (var k = of_large.x; k < of_large.y; k += 1u) {
            test_large(low, high, world, large.x + k);
        }
    }
}
