// uses: common/box, common/candidates, common/worlds, queries/query_walk

// Queries the static table, which `params` describes, with the box of a moving object. The box test is that of other
// pairs.

@group(0) @binding(4) var<storage, read> objects: array<vec4<u32>>;
@group(0) @binding(9) var<storage, read> own_records: array<vec4<u32>>;

override FILTERS: bool = true;

const MISS: u32 = 0xffffffffu;

struct Query {
    low: vec3<i32>,
    high: vec3<i32>,
    layers: u32,
    group: u32,
    world: u32,
    querier: u32,
    // Always false: moving objects compare boxes.
    seeks_corners: bool,
    search_min: vec3<f32>,
    search_max: vec3<f32>,
}

// World of the object tested last: `accept_result` follows the test of its object.
var<private> tested_world: u32;

fn distance_to(query: Query, low_word: vec4<u32>, high_word: vec4<u32>) -> u32 {
    count_candidate();
    tested_world = high_word.w;
    let meets = worlds_meet(high_word.w, query.world)
        && overlaps(query.low, query.high, bitcast<vec3<i32>>(low_word.xyz), bitcast<vec3<i32>>(high_word.xyz));
    return select(MISS, 0u, meets);
}

fn distance_limit() -> u32 {
    return MISS;
}

fn walk_static(record: u32) {
    let low = own_records[2u * record];
    let high = own_records[2u * record + 1u];
    let filters = vec2<u32>(objects[2u * low.w].w, objects[2u * low.w + 1u].w);
    var query: Query;
    query.low = bitcast<vec3<i32>>(low.xyz);
    query.high = bitcast<vec3<i32>>(high.xyz);
    query.layers = filters.x;
    query.group = filters.y;
    query.world = high.w;
    query.querier = low.w;
    let largest = vec3<i32>(0x7f7fffff);
    query.search_min = flush_bits(unordered(max(query.low, -largest)));
    query.search_max = flush_bits(unordered(min(query.high, largest)));
    let kind = classify(vec4<u32>(unordered(query.low), 0u), vec4<u32>(unordered(query.high), query.group));
    if (kind != CLASS_INVALID && kind != CLASS_EXCLUDED) {
        walk_candidates(query);
    }
}
