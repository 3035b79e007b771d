// uses: common/grid, common/prelude, common/workgroup

// The cell table: starts[k] is the first sorted entry whose key is k or more, for every cell, the large list and the
// entries that take no part. The invocation at a change of key fills the gap; gaps too long for one are filled by the
// whole workgroup.

@group(0) @binding(1) var<storage, read> grid: Grid;
@group(0) @binding(2) var<storage, read> keys: array<u32>;
@group(0) @binding(3) var<storage, read_write> starts: array<u32>;

const OWN_GAP: u32 = 32u;

// begin, end (one past), value of each thread's long gap
var<workgroup> gaps: array<vec3<u32>, 512>;
var<workgroup> gap_count: atomic<u32>;

fn fill(key: u32, gap: vec3<u32>) {
    if (key < gap.y) {
        starts[key] = gap.z;
    }
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    if (local == 0u) {
        atomicStore(&gap_count, 0u);
    }
    workgroupBarrier();
    let first = flat_workgroup(group, groups) * WORKGROUP + local;
    // Invocations are one more than entries without the cover table's, which are fewer.
    let invocations = params.entry_capacity + 1u;
    let last = grid.entry_count;
    for (var entry = select(last + 1u, first, first < invocations); entry <= last; entry += invocations) {
        var begin = 0u;
        if (entry > 0u) {
            begin = keys[entry - 1u] + 1u;
        }
        var end = grid.key_count;
        if (entry < grid.entry_count) {
            end = keys[entry] + 1u;
        }
        end = min(end, arrayLength(&starts));
        if (begin + OWN_GAP < end) {
            gaps[atomicAdd(&gap_count, 1u)] = vec3<u32>(begin, end, entry);
        } else {
            for (var key = begin; key < end; key += 1u) {
                starts[key] = entry;
            }
        }
    }
    workgroupBarrier();
    let long_gaps = atomicLoad(&gap_count);
    for (var k = 0u; k < long_gaps; k += 1u) {
        let gap = gaps[k];
        // Many cells a turn, since some drivers allow a loop few turns.
        for (var key = gap.x + local; key < gap.y; key += 8u * WORKGROUP) {
            fill(key, gap);
            fill(key + WORKGROUP, gap);
            fill(key + 2u * WORKGROUP, gap);
            fill(key + 3u * WORKGROUP, gap);
            fill(key + 4u * WORKGROUP, gap);
            fill(key + 5u * WORKGROUP, gap);
            fill(key + 6u * WORKGROUP, gap);
            fill(key + 7u * WORKGROUP, gap);
        }
    }
}
