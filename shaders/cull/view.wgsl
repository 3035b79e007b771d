// Uniform block and views of culling passes. A view is eight planes, then the number of used planes, the layers and the
// world.

const MAX_PLANES: u32 = 8u;
const MAX_VIEWS: u32 = 32u;
const VIEW_VECTORS: u32 = 9u;
// Stored in place of the number of planes if the view sees nothing.
const NO_VIEW: u32 = 0xffffffffu;

// Word indices of the counters. From CULL_SEEN on, there is one word per view.
const CULL_INVALID: u32 = 0u;
// Number of rows in all lists: 64 bits, low word first.
const CULL_NEEDED: u32 = 2u;
const CULL_SEEN: u32 = 8u;

// For fields, see src/layout/blocks.rs.
struct CullParams {
    view_count: u32,
    words: u32,
    filters: u32,
    lists: u32,
    list_capacity: u32,
    draw_words: u32,
    draw_count: u32,
}

@group(0) @binding(10) var<uniform> cull: CullParams;
