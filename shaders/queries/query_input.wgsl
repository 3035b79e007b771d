// uses: common/box, common/prelude, queries/query

// What asks: the caller's queries, or the objects themselves.

// Where the objects ask, the records of those that do.
@group(0) @binding(4) var<storage, read> queries: array<vec4<u32>>;
// The object of each entry, in the uniform scheme.
@group(0) @binding(6) var<storage, read> values: array<u32>;

const QUERY_VECTORS: u32 = 3u;
// Who asks; other numbers are objects that ask for what they overlap.
const ASK_NOBODY: u32 = 0u;
const ASK_NEIGHBORS: u32 = 1u;

fn load_query(index: u32) -> Query {
    let stride = select(2u, QUERY_VECTORS, params.wide_queries != 0u);
    let low = queries[stride * index];
    let high = queries[stride * index + 1u];
    var radius_and_world = vec2<u32>(0u);
    if (params.wide_queries != 0u) {
        radius_and_world = queries[stride * index + 2u].xy;
    }
    return query_of(low, high, radius_and_world.x, radius_and_world.y);
}

// The query with this index, and which answer it is for: askers come in the order of the records.
fn begin_query(index: u32) -> Query {
    if (params.askers != ASK_NOBODY) {
        return query_of_asker(index);
    }
    return load_query(index);
}

fn answer_of(query: Query, index: u32) -> u32 {
    return select(index, query.asker, query.asker != NO_OBJECT);
}

// An object that asks for others: for those near its lower corner, or for those that its box overlaps.
fn query_of_asker(record: u32) -> Query {
    let low = queries[2u * record];
    let high = queries[2u * record + 1u];
    let kind = classify(objects[2u * low.w], objects[2u * low.w + 1u]);
    let seeks_corners = params.askers == ASK_NEIGHBORS;
    var query: Query;
    query.low = bitcast<vec3<i32>>(low.xyz);
    query.high = select(bitcast<vec3<i32>>(high.xyz), query.low, seeks_corners);
    query.radius = select(0.0, params.radius, seeks_corners);
    query.layers = objects[2u * low.w].w;
    query.owner = objects[2u * low.w + 1u].w;
    query.world = high.w;
    query.asker = low.w;
    query.seeks_corners = seeks_corners;
    query.valid = true;
    query.answers = kind == CLASS_FINITE || (kind == CLASS_INFINITE && !seeks_corners);
    return with_search_bounds(query);
}
