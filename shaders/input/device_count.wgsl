// uses: common/workgroup

// Copies rays or queries whose number only the device knows. Rows past that number become zeros except for one word, so
// that they are valid and find nothing. For fields, see src/layout/blocks.rs.

struct CountParams {
    rows: u32,
    stride: u32,
    limit_word: u32,
    row_word: u32,
    value: u32,
}

@group(0) @binding(0) var<uniform> count: CountParams;
@group(0) @binding(1) var<storage, read> counts: array<u32>;
@group(0) @binding(2) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> gathered: array<vec4<u32>>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = flat_workgroup(group, groups) * WORKGROUP + local;
    if (index >= count.rows) {
        return;
    }
    for (var part = 0u; part < count.stride; part += 1u) {
        let place = count.stride * index + part;
        let words = vec4<u32>(4u * part) + vec4<u32>(0u, 1u, 2u, 3u);
        let nothing = select(vec4<u32>(0u), vec4<u32>(count.value), words == vec4<u32>(count.row_word));
        gathered[place] = select(source[place], nothing, index >= counts[count.limit_word]);
    }
}
