// uses: common/workgroup

// Rays or queries of which a word on the device says how many are asked. The rest become rows of zeros but for one
// word, by which they find nothing: whatever they held, they are valid.

struct LimitParams {
    rows: u32,
    // Vectors of four words that a row takes.
    stride: u32,
    // Word of the limits.
    limit_word: u32,
    // Word of a row that is not 0 past the limit, and what it is.
    row_word: u32,
    value: u32,
}

@group(0) @binding(0) var<uniform> limit: LimitParams;
@group(0) @binding(1) var<storage, read> limits: array<u32>;
@group(0) @binding(2) var<storage, read> given: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> asked: array<vec4<u32>>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = flat_workgroup(group, groups) * WORKGROUP + local;
    if (index >= limit.rows) {
        return;
    }
    for (var part = 0u; part < limit.stride; part += 1u) {
        let place = limit.stride * index + part;
        let words = vec4<u32>(4u * part) + vec4<u32>(0u, 1u, 2u, 3u);
        let nothing = select(vec4<u32>(0u), vec4<u32>(limit.value), words == vec4<u32>(limit.row_word));
        asked[place] = select(given[place], nothing, index >= limits[limit.limit_word]);
    }
}
