// uses: common/source, common/workgroup

// Copies rays, queries or numbers from any source layout to packed rows. Rows past a number that only the device knows
// become valid ones that find nothing. For fields, see src/layout/blocks.rs.

struct GatherParams {
    first: u32,
    stride: u32,
    second: u32,
    flags: u32,
    elements: u32,
    words: u32,
    limit: u32,
    row_word: u32,
    value: u32,
}

@group(0) @binding(0) var<uniform> gather: GatherParams;
@group(0) @binding(1) var<storage, read> counts: array<u32>;
@group(0) @binding(2) var<storage, read> source: array<u32>;
@group(0) @binding(3) var<storage, read_write> gathered: array<u32>;

fn source_word(place: u32) -> u32 {
    return source[place];
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let place = flat_workgroup(group, groups) * WORKGROUP + local;
    if (place >= gather.elements * gather.words) {
        return;
    }
    let element = place / gather.words;
    let part = place % gather.words;
    var word = select(0u, gather.value, part == gather.row_word);
    if (gather.limit == 0u || element < counts[gather.limit - 1u]) {
        word = element_word(SourceLayout(gather.first, gather.stride, gather.second, gather.flags), element, part);
    }
    gathered[place] = word;
}
