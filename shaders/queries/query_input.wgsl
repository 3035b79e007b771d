// uses: common/box, queries/query, queries/query_params, queries/query_walk

// Loads queries or self-queries, and makes their periodic images.

// The caller's queries, or the records of the querying objects.
@group(0) @binding(4) var<storage, read> queries: array<vec4<u32>>;
// In the uniform scheme, the object of each entry.
@group(0) @binding(6) var<storage, read> values: array<u32>;

const QUERY_VECTORS: u32 = 3u;
// Values of `query_params.self_query`. All other values find overlapping objects.
const SELF_QUERY_NONE: u32 = 0u;
const SELF_QUERY_NEIGHBORS: u32 = 1u;

fn is_half() -> bool {
    return query_params.half != 0u;
}

fn load_query(index: u32) -> Query {
    let stride = select(2u, QUERY_VECTORS, query_params.is_wide != 0u);
    let low = queries[stride * index];
    let high = queries[stride * index + 1u];
    var radius_and_world = vec2<u32>(0u);
    if (query_params.is_wide != 0u) {
        radius_and_world = queries[stride * index + 2u].xy;
    }
    return query_of(low, high, radius_and_world.x, radius_and_world.y);
}

// Self-queries are in the order of the records.
fn begin_query(index: u32) -> Query {
    var query: Query;
    if (query_params.self_query != SELF_QUERY_NONE) {
        query = query_of_querier(index);
    } else {
        query = load_query(index);
    }
    return query;
}

fn answer_of(query: Query, index: u32) -> u32 {
    return select(index, query.querier, query.querier != NO_OBJECT);
}

// Query of an object for neighbours of its lower corner, or for overlapping objects.
fn query_of_querier(record: u32) -> Query {
    let low = queries[2u * record];
    let high = queries[2u * record + 1u];
    let kind = classify(objects[2u * low.w], objects[2u * low.w + 1u]);
    let seeks_corners = query_params.self_query == SELF_QUERY_NEIGHBORS;
    var query: Query;
    query.low = bitcast<vec3<i32>>(low.xyz);
    query.high = select(bitcast<vec3<i32>>(high.xyz), query.low, seeks_corners);
    query.radius = select(0.0, query_params.radius, seeks_corners);
    query.farthest = farthest_of(query.radius);
    query.layers = objects[2u * low.w].w;
    query.group = objects[2u * low.w + 1u].w;
    query.world = high.w;
    query.querier = low.w;
    query.seeks_corners = seeks_corners;
    query.valid = true;
    query.answers = kind == CLASS_FINITE || (kind == CLASS_INFINITE && !seeks_corners);
    return with_search_bounds(query, vec3<f32>(0.0));
}

// The query, for values that loops need not keep: see `unknown_zero`.
fn again(query: Query) -> Query {
    let zero = unknown_zero();
    var same = query;
    same.low |= vec3<i32>(bitcast<i32>(zero));
    same.high |= vec3<i32>(bitcast<i32>(zero));
    same.radius = bitcast<f32>(bitcast<u32>(query.radius) | zero);
    return same;
}

// Images of a querier on a periodic axis: the querier itself and, if its radius may pass the nearer end of the period,
// a second image one period ahead or behind. If the radius spans the period, all objects are in reach, and the image
// nearest to each candidate counts. So each object meets one image, and one pass over all objects suffices.

override PERIODIC: bool = true;

fn spans_period(query: Query) -> vec3<bool> {
    return 2.0 * reach_of(query) >= periods();
}

fn has_period(query: Query) -> vec3<bool> {
    return (periods() > vec3<f32>(0.0)) & vec3<bool>(query.seeks_corners);
}

fn images_on(axes: vec3<bool>, images: vec3<u32>) -> u32 {
    let bits = select(vec3<u32>(0u), images << vec3<u32>(0u, 2u, 4u), axes);
    return bits.x | bits.y | bits.z;
}

// The query with all images; `image_of` selects one.
fn with_images(original: Query) -> Query {
    if (!PERIODIC) {
        return original;
    }
    var query = original;
    let own = flush_bits(unordered(again(query).low));
    let reach = reach_of(again(query));
    let is_near_end = (own <= reach) | (own + reach >= periods());
    let is_early = own + own < periods();
    let second = select(vec3<u32>(IMAGE_BEHIND), vec3<u32>(IMAGE_AHEAD), is_early);
    let spans = spans_period(again(query));
    let images = select(second, vec3<u32>(NEAREST_IMAGE), spans);
    query.images = images_on(has_period(query) & (spans | is_near_end), images);
    return query;
}

// Returns a bit for each axis with a second image: there, exactly one of two image bits is set.
fn second_images(query: Query) -> u32 {
    if (!PERIODIC) {
        return 0u;
    }
    let axes = query.images ^ (query.images >> 1u);
    return (axes & 1u) | ((axes >> 1u) & 2u) | ((axes >> 2u) & 4u);
}

fn image_of(original: Query, second: u32) -> Query {
    if (!PERIODIC) {
        return original;
    }
    var query = original;
    let is_second = (vec3<u32>(second) & vec3<u32>(1u, 2u, 4u)) != vec3<u32>(0u);
    let of_axes = images_on(is_second, vec3<u32>(3u));
    let of_nearest = images_on(images_are(query, NEAREST_IMAGE), vec3<u32>(3u));
    query.images &= of_axes | of_nearest;
    let is_ahead = (vec3<u32>(query.images) & vec3<u32>(1u, 4u, 16u)) != vec3<u32>(0u);
    let is_behind = (vec3<u32>(query.images) & vec3<u32>(2u, 8u, 32u)) != vec3<u32>(0u);
    let moved = vec3<f32>(vec3<i32>(is_ahead) - vec3<i32>(is_behind)) * periods();
    let bounded = with_search_bounds(again(query), moved);
    // Axes where any image may be the nearest are unbounded.
    let largest = bitcast<f32>(bitcast<u32>(LARGEST_FLOAT) | unknown_zero());
    query.search_min = select(bounded.search_min, vec3<f32>(-largest), is_ahead & is_behind);
    query.search_max = select(bounded.search_max, vec3<f32>(largest), is_ahead & is_behind);
    return query;
}

// Selects the image nearest to each candidate, for walks over all objects.
fn nearest_of_all(original: Query) -> Query {
    if (!PERIODIC) {
        return original;
    }
    var query = original;
    query.images = images_on(has_period(query), vec3<u32>(NEAREST_IMAGE));
    return query;
}

// Only without periodic images: otherwise, the distance to a cluster's box is no lower bound for its members.
const MAY_TEST_CLUSTERS: bool = true;

fn tests_clusters(query: Query) -> bool {
    return !PERIODIC || query.images == 0u;
}

fn walk_query(query: Query) {
    if (query.answers) {
        walk_candidates(query);
    }
}
