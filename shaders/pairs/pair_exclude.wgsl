// uses: common/workgroup, pairs/exclusions

// Inserts each pair of `excluded_pairs` once into the hash table, and copies the data of the pair filter. Ignores
// pairs of equal ids or with an id out of range. The slot of a pair depends on the order of invocations, but lookups
// always find it.

@group(0) @binding(1) var<storage, read> excluded_pairs: array<vec2<u32>>;
// For each slot, the index of its row in `excluded_pairs` plus one; 0 if free.
@group(0) @binding(2) var<storage, read_write> exclusion_rows: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> objects: array<u32>;
@group(0) @binding(4) var<storage, read> pair_filter_data: array<u32>;

// Attempts beyond one per slot, since a weak compare-exchange may fail spuriously.
const SPARE_TRIES: u32 = 64u;

fn pair_of(row: u32) -> vec2<u32> {
    let pair = excluded_pairs[row];
    return vec2<u32>(min(pair.x, pair.y), max(pair.x, pair.y));
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let row = flat_workgroup(group, groups) * WORKGROUP + local;
    if (row < exclusions.data_count) {
        objects[4u * exclusions.data_begin + row] = pair_filter_data[row];
    }
    if (row >= exclusions.list_count) {
        return;
    }
    let pair = pair_of(row);
    if (pair.x == pair.y || pair.y >= exclusions.object_count) {
        return;
    }
    var slot = first_slot_of(pair);
    var waits = true;
    for (var tries = 0u; waits && tries <= exclusions.table_mask + SPARE_TRIES; tries += 1u) {
        let exchange = atomicCompareExchangeWeak(&exclusion_rows[slot], 0u, row + 1u);
        let holder = exchange.old_value;
        waits = !exchange.exchanged;
        if (!waits) {
            objects[8u * exclusions.object_count + 2u * slot] = pair.x;
            objects[8u * exclusions.object_count + 2u * slot + 1u] = pair.y;
        } else if (holder != 0u) {
            waits = any(pair_of(holder - 1u) != pair);
            slot = next_slot(slot);
        }
    }
}
