// uses: common/wide, common/workgroup

// Reduce-then-scan over tiles of 2048 words (Merrill and Grimshaw, "Parallel Scan for Stream Architectures", 2009). No
// workgroup waits for another.

const WORDS_PER_THREAD: u32 = 8u;
const TILE: u32 = 2048u;

struct ScanParams {
    count: u32,
    total_word: u32,
    capacity: u32,
    status_bit: u32,
}

@group(0) @binding(0) var<uniform> scan: ScanParams;

var<workgroup> partial: array<vec2<u32>, 272>;
// Sums of the runs, then the total.
var<workgroup> run_sums: array<vec2<u32>, 17>;

// Returns the sum of earlier threads' values, then the total. Scans may follow each other: the first barrier separates
// the last reads of one from the writes of the next.
fn workgroup_scan(local: u32, value: vec2<u32>) -> array<vec2<u32>, 2> {
    partial[padded(local)] = value;
    workgroupBarrier();
    if (local < WORKGROUP / RUN) {
        var sum = vec2<u32>(0u);
        for (var k = local * RUN; k < (local + 1u) * RUN; k += 1u) {
            let next = add64(sum, partial[padded(k)]);
            partial[padded(k)] = sum;
            sum = next;
        }
        run_sums[local] = sum;
    }
    workgroupBarrier();
    if (local == 0u) {
        var sum = vec2<u32>(0u);
        for (var k = 0u; k < WORKGROUP / RUN; k += 1u) {
            let next = add64(sum, run_sums[k]);
            run_sums[k] = sum;
            sum = next;
        }
        run_sums[WORKGROUP / RUN] = sum;
    }
    workgroupBarrier();
    let before = add64(run_sums[local / RUN], partial[padded(local)]);
    let total = run_sums[WORKGROUP / RUN];
    return array<vec2<u32>, 2>(before, total);
}
