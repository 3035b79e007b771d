// Reduce-then-scan over tiles of 2048 words (Merrill and Grimshaw, "Parallel Scan for Stream Architectures", 2009):
// no forward progress between workgroups is needed.

const WORKGROUP: u32 = 256u;
const WORDS_PER_THREAD: u32 = 8u;
const TILE: u32 = 2048u;

struct ScanParams {
    count: u32,
    // Word of the counters that takes the 64-bit total.
    total_word: u32,
    // A total above this sets the status bit.
    capacity: u32,
    status_bit: u32,
}

@group(0) @binding(0) var<uniform> scan: ScanParams;

var<workgroup> partial: array<vec2<u32>, 256>;

fn flat_workgroup(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.y * groups.x + group.x;
}

// Exclusive scan of one value a thread over the workgroup; the total comes second.
fn workgroup_scan(local: u32, value: vec2<u32>) -> array<vec2<u32>, 2> {
    partial[local] = value;
    workgroupBarrier();
    for (var distance = 1u; distance < WORKGROUP; distance *= 2u) {
        var sum = partial[local];
        if (local >= distance) {
            sum = add64(sum, partial[local - distance]);
        }
        workgroupBarrier();
        partial[local] = sum;
        workgroupBarrier();
    }
    let total = partial[WORKGROUP - 1u];
    var before = vec2<u32>(0u);
    if (local > 0u) {
        before = partial[local - 1u];
    }
    workgroupBarrier();
    return array<vec2<u32>, 2>(before, total);
}
