// uses: common/box, common/clusters, common/prelude, common/workgroup, pairs/pair_params, table/cell_order
// uses: table/worlds

// Writes the buffers that walks read.
//   starts   starts[k] is the first sorted entry with a key of at least k
//   records  `min.xyz, object | max.xyz, world`, bounds as ordered integers; in entry order, in the uniform scheme in
//            object order
// Without `clusters`, it also orders the entries, if the scene has just become crowded.
// The invocation at a change of key fills the gap in `starts`; the whole workgroup fills long gaps.

@group(0) @binding(1) var<storage, read> objects: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read_write> starts: array<u32>;

// True with serial tiles: software adapters run code with barriers slowly.
override SERIAL_SORT: bool = false;

const OWN_GAP: u32 = 32u;

var<workgroup> long_gaps: array<u32, 512>;
var<workgroup> gap_count: atomic<u32>;

// Keys `x .. y` whose first entry is `entry`.
fn gap_before(entry: u32) -> vec2<u32> {
    var begin = 0u;
    if (entry > 0u) {
        begin = keys[entry - 1u] + 1u;
    }
    var end = grid.key_count;
    if (entry < grid.entry_count) {
        end = keys[entry] + 1u;
    }
    return vec2<u32>(begin, min(end, arrayLength(&starts)));
}

fn fill(key: u32, end: u32, entry: u32) {
    if (key < end) {
        starts[key] = entry;
    }
}

fn fill_long_gap(entry: u32, local: u32) {
    let gap = gap_before(entry);
    // Several cells per iteration, since some drivers limit the number of iterations.
    for (var key = gap.x + local; key < gap.y; key += 8u * WORKGROUP) {
        fill(key, gap.y, entry);
        fill(key + WORKGROUP, gap.y, entry);
        fill(key + 2u * WORKGROUP, gap.y, entry);
        fill(key + 3u * WORKGROUP, gap.y, entry);
        fill(key + 4u * WORKGROUP, gap.y, entry);
        fill(key + 5u * WORKGROUP, gap.y, entry);
        fill(key + 6u * WORKGROUP, gap.y, entry);
        fill(key + 7u * WORKGROUP, gap.y, entry);
    }
}

fn write_record(index: u32) {
    var object = index;
    if (params.scheme != SCHEME_UNIFORM) {
        object = values[index] & ID_MASK;
    }
    let name = params.first_object + object;
    let low = objects[2u * name].xyz;
    let high = objects[2u * name + 1u].xyz;
    records[2u * index] = vec4<u32>(bitcast<vec3<u32>>(ordered(low)), name);
    records[2u * index + 1u] = vec4<u32>(bitcast<vec3<u32>>(ordered(high)), world_of(object));
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
    // Only entries of the large-object table can outnumber the invocations.
    let blocks = (max(params.entry_capacity + 1u, params.object_count) + WORKGROUP - 1u) / WORKGROUP;
    let invocations = blocks * WORKGROUP;
    let first_block = min(flat_workgroup(group, groups), 0x00ffffffu) * WORKGROUP;
    let begin = select(0x80000000u, first_block, first_block < invocations);
    let first = begin + local;
    let record_count = select(grid.entry_count, params.object_count, params.scheme == SCHEME_UNIFORM);
    for (var index = first; index < record_count; index += invocations) {
        write_record(index);
    }
    if (!SERIAL_SORT && pair_params.variant == VARIANT_SPARSE && grid.is_crowded != 0u) {
        for (var block = begin; block < grid.entry_count; block += invocations) {
            order_block(block, local);
        }
    }
    for (var entry = first; entry <= grid.entry_count; entry += invocations) {
        let gap = gap_before(entry);
        if (gap.x + OWN_GAP < gap.y) {
            long_gaps[atomicAdd(&gap_count, 1u)] = entry;
        } else {
            for (var key = gap.x; key < gap.y; key += 1u) {
                starts[key] = entry;
            }
        }
    }
    workgroupBarrier();
    let gaps = atomicLoad(&gap_count);
    for (var k = 0u; k < gaps; k += 1u) {
        fill_long_gap(long_gaps[k], local);
    }
}
