// Block and views of culling passes: eight planes, then `used planes, layers, world`.

const MAX_PLANES: u32 = 8u;
const MAX_VIEWS: u32 = 32u;
const VIEW_VECTORS: u32 = 9u;
// In place of the number of planes: the view sees nothing.
const NO_VIEW: u32 = 0xffffffffu;

// Words of the counters. One per view follows the last.
const CULL_INVALID: u32 = 0u;
// 64-bit, low word first.
const CULL_NEEDED: u32 = 2u;
const CULL_SEEN: u32 = 8u;

struct CullParams {
    view_count: u32,
    // Words of bits per view: a bit for each object of the step, static ones first.
    words: u32,
    filters: u32,
    lists: u32,
    // Rows of all lists together.
    list_capacity: u32,
    // Words of a view's indirect draw: 4, or 5 if indexed; 0 for none.
    draw_words: u32,
    // Vertices or indices of an object.
    draw_count: u32,
}

@group(0) @binding(10) var<uniform> cull: CullParams;
