// What every pass of a step shares: its uniform block.

const SCHEME_HIERARCHICAL: u32 = 0u;
const SCHEME_UNIFORM: u32 = 1u;
const SCHEME_ADAPTIVE: u32 = 2u;

struct Params {
    // Objects of the table: those from `first_object` on.
    object_count: u32,
    ray_count: u32,
    entry_capacity: u32,
    table_capacity: u32,
    pair_capacity: u32,
    hit_capacity: u32,
    first_pair: u32,
    first_hit: u32,
    scheme: u32,
    cell_inverse: f32,
    sample_count: u32,
    sample_stride: u32,
    // 2 or 3.
    dimensions: u32,
    world_count: u32,
    // Slots of the large list less one: worlds share them.
    large_mask: u32,
    // Boxes are grown by this on every side.
    margin: f32,
    // Vectors of four words that a ray takes: 2, or 4 where rays sweep a box.
    ray_stride: u32,
    ray_cell_capacity: u32,
    first_ray_cell: u32,
    // Periods of the axes, 0 where an axis has none.
    period_x: f32,
    period_y: f32,
    period_z: f32,
    query_count: u32,
    // Whether queries have three vectors each in place of a box's two.
    wide_queries: u32,
    // Whether the objects themselves ask, for neighbours within `radius` (1) or for what they overlap (2); whether just
    // for objects after them.
    self_query: u32,
    half: u32,
    radius: f32,
    // Nearest objects wanted a query.
    nearest: u32,
    result_capacity: u32,
    // Place of the first result that is written.
    first_result: u32,
    // Words of bits that counting keeps of an entry's box tests, a bit each; 0 where boxes do not crowd.
    pair_bit_words: u32,
    first_object: u32,
    // Static objects of the step: the first ones. Their table is one of its own.
    static_count: u32,
    // Rows of pair counts: one an entry and, where there are static objects, one a moving object.
    pair_rows: u32,
    // Queries of the dispatch: all, or as many as objects of the table whose objects ask.
    querier_count: u32,
    // Whether rays are walked in the order of where they start.
    rays_sorted: u32,
    // Hits of a ray that counting keeps for writing.
    cached_hits: u32,
    // Partners of an entry that counting keeps for writing.
    cached_partners: u32,
    // Entries that the cover table has room for, behind those of the objects.
    large_table_capacity: u32,
    // One more than the word of a buffer that says how many of the objects take part; 0 where all do.
    object_limit: u32,
    // Whether records have clusters where the scene is crowded.
    has_clusters: u32,
    // Which form of `pair_count` runs: 0 where the device chooses, 1 that for scenes that are not crowded, 2 that for
    // crowded ones.
    pair_variant: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
