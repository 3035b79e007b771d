// uses: common/given, common/workgroup

// Rays, queries or numbers that lie anywhere in a caller's buffer, as rows one behind the other. Rows past a limit that
// only the device knows become zeros but for one word, by which they find nothing: whatever they held, they are valid.

struct TakeParams {
    // As in `GivenLayout`.
    first: u32,
    stride: u32,
    second: u32,
    form: u32,
    // Elements, and words of the row of each.
    elements: u32,
    words: u32,
    // Word of the limits, one more; 0 where there is none.
    limit: u32,
    // Word of a row that is not 0 past the limit, and what it is.
    row_word: u32,
    value: u32,
}

@group(0) @binding(0) var<uniform> take: TakeParams;
@group(0) @binding(1) var<storage, read> limits: array<u32>;
@group(0) @binding(2) var<storage, read> given: array<u32>;
@group(0) @binding(3) var<storage, read_write> asked: array<u32>;

fn given_word(place: u32) -> u32 {
    return given[place];
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let place = flat_workgroup(group, groups) * WORKGROUP + local;
    if (place >= take.elements * take.words) {
        return;
    }
    let element = place / take.words;
    let part = place % take.words;
    var word = select(0u, take.value, part == take.row_word);
    if (take.limit == 0u || element < limits[take.limit - 1u]) {
        word = element_word(GivenLayout(take.first, take.stride, take.second, take.form), element, part);
    }
    asked[place] = word;
}
