// uses: cull/view

// Writes where each view's list starts, and each view's indirect draw.

@group(0) @binding(1) var<storage, read> places: array<u32>;
@group(0) @binding(2) var<storage, read> counters: array<u32>;
@group(0) @binding(3) var<storage, read_write> offsets: array<u32>;
@group(0) @binding(4) var<storage, read_write> draws: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) local: u32) {
    if (local > cull.view_count) {
        return;
    }
    if (cull.lists != 0u) {
        offsets[local] = places[local * cull.words];
    }
    if (local == cull.view_count || cull.draw_words == 0u) {
        return;
    }
    var instances = counters[CULL_SEEN + local];
    if (cull.lists != 0u) {
        let begin = min(places[local * cull.words], cull.list_capacity);
        instances = min(places[(local + 1u) * cull.words], cull.list_capacity) - begin;
    }
    let first = local * cull.draw_words;
    draws[first] = cull.draw_count;
    draws[first + 1u] = instances;
    // First vertex or index, base vertex if indexed, and first instance are 0.
    for (var k = 2u; k < cull.draw_words; k += 1u) {
        draws[first + k] = 0u;
    }
}
