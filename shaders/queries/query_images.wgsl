// uses: common/box, queries/query, queries/query_walk

// Images of an asker in periodic axes: itself and, one period ahead or behind, the one that may be within the radius of
// what lies past the nearer end of the period. Along an axis whose period the radius spans, everything is within reach,
// and the candidate decides which image it meets. So an object is met by one image, and whoever looks at all objects
// does so once.

override PERIODIC: bool = true;

fn spans_period(query: Query) -> vec3<bool> {
    return 2.0 * reach_of(query) >= periods();
}

fn has_period(query: Query) -> vec3<bool> {
    return (periods() > vec3<f32>(0.0)) & vec3<bool>(query.seeks_corners);
}

// Axes on which there is a second image, a bit each.
fn second_images(query: Query) -> u32 {
    if (!PERIODIC) {
        return 0u;
    }
    let own = flush_bits(unordered(query.low));
    let reach = reach_of(query);
    let is_near_end = (own <= reach) | (own + reach >= periods());
    let bits = select(vec3<u32>(0u), vec3<u32>(1u, 2u, 4u), has_period(query) & !spans_period(query) & is_near_end);
    return bits.x | bits.y | bits.z;
}

// The image that is the second one on the axes of these bits.
fn image_of(given: Query, second: u32) -> Query {
    if (!PERIODIC) {
        return given;
    }
    var query = given;
    let is_second = (vec3<u32>(second) & vec3<u32>(1u, 2u, 4u)) != vec3<u32>(0u);
    let is_early = flush_bits(unordered(query.low)) < 0.5 * periods();
    let image = select(vec3<i32>(0), select(vec3<i32>(-1), vec3<i32>(1), is_early), is_second);
    query.image = select(image, vec3<i32>(NEAREST_IMAGE), has_period(query) & spans_period(query));
    return with_search_bounds(query);
}

// For walks that look at everything.
fn nearest_of_all(given: Query) -> Query {
    if (!PERIODIC) {
        return given;
    }
    var query = given;
    query.image = select(vec3<i32>(0), vec3<i32>(NEAREST_IMAGE), has_period(query));
    return query;
}

fn walk_query(query: Query) {
    if (query.answers) {
        walk_candidates(query);
    }
}
