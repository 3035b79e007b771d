// A query: everything within a radius of a box. With radius 0 that is everything that meets the box, by the exact test of
// pairs.

@group(0) @binding(5) var<storage, read> objects: array<vec4<u32>>;

override FILTERS: bool = true;
override COUNT_CANDIDATES: bool = false;

const NO_OBJECT: u32 = 0xffffffffu;
const LARGEST_FLOAT: f32 = 0x1.fffffep+127;
const MISS: f32 = -1.0;
// Gaps beyond this are this, gaps below the other are 0: the sum of three squares is a normal float.
const FARTHEST_GAP: f32 = 0x1p+63;
const SMALLEST_GAP: f32 = 0x1p-60;
// Its square is no less than that of three farthest gaps, and finite.
const FARTHEST_LIMIT: f32 = 0x1.fp+63;

struct Query {
    low: vec3<i32>,
    high: vec3<i32>,
    radius: f32,
    // A power of two that brings the squares of extreme radii into the range of floats; else 1.
    scale: f32,
    layers: u32,
    owner: u32,
    world: u32,
    // The object that asks for others, or NO_OBJECT.
    asker: u32,
    // Whether objects are looked for by their lower corners in place of whole boxes.
    seeks_corners: bool,
    // Periods that the asker is moved by.
    image: vec3<i32>,
    // Floats of both corners, moved, and widened by the radius and a bound on all rounding.
    search_min: vec3<f32>,
    search_max: vec3<f32>,
    valid: bool,
    answers: bool,
}

var<private> candidates: u32;

fn count_candidate() {
    if (COUNT_CANDIDATES) {
        candidates += 1u;
    }
}

fn flat(corner: vec3<u32>) -> vec3<u32> {
    return vec3<u32>(corner.xy, select(corner.z, 0u, params.dimensions == 2u));
}

// Corners move outward by the radius and by more than differences, sums and squares can round.
fn with_search_bounds(given: Query) -> Query {
    var query = given;
    let moved = vec3<f32>(query.image) * periods();
    let largest = vec3<i32>(0x7f7fffff);
    let low = flush_bits(unordered(max(query.low, -largest)));
    let high = flush_bits(unordered(min(query.high, largest)));
    let slack = (max(abs(low), abs(high)) * 0x1p-20) + (abs(moved) + query.radius) * 0x1p-20;
    let reach = select(vec3<f32>(0.0), query.radius + slack, query.radius > 0.0 || query.seeks_corners);
    query.search_min = max(low + moved - reach, vec3<f32>(-LARGEST_FLOAT));
    query.search_max = min(high + moved + reach, vec3<f32>(LARGEST_FLOAT));
    let exponent = clamp(bitcast<u32>(query.radius) >> 23u, 1u, 253u);
    let is_extreme = query.radius < 0x1p-40 || (query.radius > 0x1p+60 && query.radius < LARGEST_FLOAT);
    query.scale = select(1.0, bitcast<f32>((254u - exponent) << 23u), is_extreme && query.radius > 0.0);
    return query;
}

// The query of a box with its filter words.
fn query_of(given_low: vec4<u32>, given_high: vec4<u32>, radius_bits: u32, world: u32) -> Query {
    let low = vec4<u32>(flat(given_low.xyz), given_low.w);
    let high = vec4<u32>(flat(given_high.xyz), given_high.w);
    var query: Query;
    query.world = world;
    let kind = classify(low, high);
    let no_length = radius_bits > 0x7f800000u && radius_bits != 0x80000000u;
    query.valid = kind != CLASS_INVALID && !no_length && query.world < params.world_count;
    query.answers = query.valid && kind != CLASS_EXCLUDED;
    query.low = ordered(low.xyz);
    query.high = ordered(high.xyz);
    query.radius = bitcast<f32>(select(min(radius_bits, 0x7f7fffffu), 0u, (radius_bits & 0x7f800000u) == 0u));
    query.layers = low.w;
    query.owner = high.w;
    query.asker = NO_OBJECT;
    return with_search_bounds(query);
}

fn periods() -> vec3<f32> {
    return vec3<f32>(params.period_x, params.period_y, params.period_z);
}

// Squared distance of the object in units of the query's scale, or MISS if it is none of the query's.
fn distance_to(query: Query, low_word: vec4<u32>, high_word: vec4<u32>) -> f32 {
    count_candidate();
    let low = bitcast<vec3<i32>>(low_word.xyz);
    let high = bitcast<vec3<i32>>(high_word.xyz);
    if (high_word.w != query.world) {
        return MISS;
    }
    if (query.asker != NO_OBJECT && (low_word.w == query.asker || (params.once != 0u && low_word.w < query.asker))) {
        return MISS;
    }
    if (query.seeks_corners) {
        let infinity = vec3<i32>(0x7f800000);
        if (any(low == -infinity) || any(high == infinity)) {
            return MISS;
        }
        if (query.radius == 0.0) {
            return select(MISS, 0.0, all(low == query.low) && all(query.image == vec3<i32>(0)));
        }
        let own = flush_bits(unordered(query.low));
        let other = flush_bits(unordered(low));
        // Taking the period off the larger of two coordinates is exact, so that what is between them is rounded once.
        let ahead = select(other, other - periods(), query.image > vec3<i32>(0));
        let behind = select(own, own - periods(), query.image < vec3<i32>(0));
        return select(MISS, within(query, ahead - behind), all(nearest_image(other - own) == query.image));
    }
    if (query.radius == 0.0) {
        return select(MISS, 0.0, all(query.low <= high) && all(low <= query.high));
    }
    let below = flush_bits(unordered(low)) - flush_bits(unordered(query.high));
    let above = flush_bits(unordered(query.low)) - flush_bits(unordered(high));
    // Touching and overlapping are told apart from gaps in integers.
    let gap = select(select(vec3<f32>(0.0), above, query.low > high), below, low > query.high);
    return within(query, gap);
}

// The image of the asker that is nearest to what lies so far apart: just one, so that an object is found once.
fn nearest_image(apart: vec3<f32>) -> vec3<i32> {
    let half = 0.5 * periods();
    let ahead = select(vec3<i32>(0), vec3<i32>(1), apart > half);
    let behind = select(vec3<i32>(0), vec3<i32>(1), apart < -half);
    return select(vec3<i32>(0), ahead - behind, half > vec3<f32>(0.0));
}

fn within(query: Query, gap: vec3<f32>) -> f32 {
    var scaled = min(abs(gap) * query.scale, vec3<f32>(FARTHEST_GAP));
    scaled = select(scaled, vec3<f32>(0.0), scaled < vec3<f32>(SMALLEST_GAP));
    let squared = scaled.x * scaled.x + scaled.y * scaled.y + scaled.z * scaled.z;
    let limit = min(query.radius * query.scale, FARTHEST_LIMIT);
    return select(MISS, squared, squared <= limit * limit);
}
