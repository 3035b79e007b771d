// uses: sort/sort

// The counts of a digit become what earlier tiles have of it, and their sum goes behind the counts. One workgroup a
// digit, in long runs: the sum over the digits is left to those who need it.

const SCAN_WORKGROUP: u32 = 64u;

@group(0) @binding(1) var<storage, read_write> digit_counts: array<u32>;

var<workgroup> partial: array<u32, 64>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let digit = flat_workgroup(group, groups);
    let run = (sort.tiles + SCAN_WORKGROUP - 1u) / SCAN_WORKGROUP;
    let first = digit * sort.tiles;
    let begin = first + min(local * run, sort.tiles);
    var end = begin;
    if (digit < digits()) {
        end = first + min((local + 1u) * run, sort.tiles);
    }
    var sum = 0u;
    for (var index = begin; index < end; index += 1u) {
        sum += digit_counts[index];
    }
    partial[local] = sum;
    workgroupBarrier();
    for (var distance = 1u; distance < SCAN_WORKGROUP; distance *= 2u) {
        var scanned = partial[local];
        if (local >= distance) {
            scanned += partial[local - distance];
        }
        workgroupBarrier();
        partial[local] = scanned;
        workgroupBarrier();
    }
    var running = partial[local] - sum;
    for (var index = begin; index < end; index += 1u) {
        let count = digit_counts[index];
        digit_counts[index] = running;
        running += count;
    }
    if (local == SCAN_WORKGROUP - 1u && digit < digits()) {
        digit_counts[digits() * sort.tiles + digit] = running;
    }
}
