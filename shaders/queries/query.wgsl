// uses: common/box, common/candidates, common/filtered, common/prelude

// A query finds all objects within a radius of a box. Radius 0 finds overlapping boxes, by the exact test of pairs.

const NO_OBJECT: u32 = 0xffffffffu;
// Images of the querier on a periodic axis: one period ahead, one behind, or the nearest to each candidate.
const IMAGE_AHEAD: u32 = 1u;
const IMAGE_BEHIND: u32 = 2u;
const NEAREST_IMAGE: u32 = 3u;
// Distance of an object that is no result. Larger than any squared distance.
const MISS: u32 = 0xffffffffu;
// Gaps are scaled by 2^-66 if the largest is at least 2^60, and by 2^66 if below 2^-40, so that their squares stay in
// the range of floats.
const FAR_BITS: u32 = (127u + 60u) << 23u;
const NEAR_BITS: u32 = (127u - 40u) << 23u;
const SMALLER: f32 = 0x1p-66;
const LARGER: f32 = 0x1p+66;
// Exponent bias of squared distances, added to that of floats.
const DISTANCE_BIAS: u32 = 126u;
// Smaller scaled gaps count as 0. The largest scaled gap is then at least 2^20 times as long, so their squares are lost
// in rounding.
const SMALLEST_GAP: f32 = 0x1p-60;

struct Query {
    low: vec3<i32>,
    high: vec3<i32>,
    radius: f32,
    layers: u32,
    owner: u32,
    world: u32,
    // The querying object, or NO_OBJECT.
    querier: u32,
    // True to compare lower corners instead of boxes.
    seeks_corners: bool,
    // Images of the querier, two bits per axis, packed since all loops of a walk carry them.
    images: u32,
    // Corners of the image, moved outward by the radius and a bound on all rounding.
    search_min: vec3<f32>,
    search_max: vec3<f32>,
    valid: bool,
    answers: bool,
}

fn flat(corner: vec3<u32>) -> vec3<u32> {
    return vec3<u32>(corner.xy, select(corner.z, 0u, params.dimensions == 2u));
}

// Largest distance of results per axis, with a margin for all rounding.
fn reach_of(query: Query) -> vec3<f32> {
    let largest = vec3<i32>(0x7f7fffff);
    let low = flush_bits(unordered(max(query.low, -largest)));
    let high = flush_bits(unordered(min(query.high, largest)));
    let moved = select(vec3<f32>(0.0), periods(), query.seeks_corners);
    let slack = max(abs(low), abs(high)) * 0x1p-20 + (moved + query.radius) * 0x1p-20;
    return select(vec3<f32>(0.0), query.radius + slack, query.radius > 0.0 || query.seeks_corners);
}

fn images_are(query: Query, image: u32) -> vec3<bool> {
    return ((vec3<u32>(query.images) >> vec3<u32>(0u, 2u, 4u)) & vec3<u32>(3u)) == vec3<u32>(image);
}

// Moves corners outward by the reach. Axes where any image may be the nearest are unbounded.
fn with_search_bounds(original: Query) -> Query {
    var query = original;
    // Does not call `images_are`: compilers would keep its common subexpressions through all loops of the walk.
    let is_ahead = (vec3<u32>(query.images) & vec3<u32>(1u, 4u, 16u)) != vec3<u32>(0u);
    let is_behind = (vec3<u32>(query.images) & vec3<u32>(2u, 8u, 32u)) != vec3<u32>(0u);
    let is_anywhere = is_ahead & is_behind;
    let moved = select(vec3<f32>(0.0), periods(), is_ahead) - select(vec3<f32>(0.0), periods(), is_behind);
    let largest = vec3<i32>(0x7f7fffff);
    let low = flush_bits(unordered(max(query.low, -largest)));
    let high = flush_bits(unordered(min(query.high, largest)));
    let reach = reach_of(query);
    let search_min = max(low + moved - reach, vec3<f32>(-LARGEST_FLOAT));
    let search_max = min(high + moved + reach, vec3<f32>(LARGEST_FLOAT));
    query.search_min = select(search_min, vec3<f32>(-LARGEST_FLOAT), is_anywhere);
    query.search_max = select(search_max, vec3<f32>(LARGEST_FLOAT), is_anywhere);
    return query;
}

fn query_of(source_low: vec4<u32>, source_high: vec4<u32>, radius_bits: u32, world: u32) -> Query {
    let low = vec4<u32>(flat(source_low.xyz), source_low.w);
    let high = vec4<u32>(flat(source_high.xyz), source_high.w);
    var query: Query;
    query.world = world;
    let kind = classify(low, high);
    let no_length = radius_bits > 0x7f800000u && radius_bits != 0x80000000u;
    let is_excluded = kind == CLASS_EXCLUDED;
    // An excluded query is valid whatever it holds.
    query.valid = is_excluded || (kind != CLASS_INVALID && !no_length && query.world < params.world_count);
    query.answers = query.valid && !is_excluded;
    query.low = ordered(low.xyz);
    query.high = ordered(high.xyz);
    query.radius = bitcast<f32>(select(min(radius_bits, 0x7f7fffffu), 0u, (radius_bits & 0x7f800000u) == 0u));
    query.layers = low.w;
    query.owner = high.w;
    query.querier = NO_OBJECT;
    return with_search_bounds(query);
}

fn periods() -> vec3<f32> {
    return vec3<f32>(params.period_x, params.period_y, params.period_z);
}

// Squared distance as an integer (see `distance_key`), or MISS.
fn distance_to(query: Query, low_word: vec4<u32>, high_word: vec4<u32>) -> u32 {
    count_candidate();
    let low = bitcast<vec3<i32>>(low_word.xyz);
    let high = bitcast<vec3<i32>>(high_word.xyz);
    if (high_word.w != query.world) {
        return MISS;
    }
    if (query.querier != NO_OBJECT && (low_word.w == query.querier || (params.half != 0u && low_word.w < query.querier))) {
        return MISS;
    }
    if (query.seeks_corners) {
        let infinity = vec3<i32>(0x7f800000);
        if (any(low == -infinity) || any(high == infinity)) {
            return MISS;
        }
        let own = flush_bits(unordered(query.low));
        let other = flush_bits(unordered(low));
        let is_ahead = is_moved(query, IMAGE_AHEAD, other - own);
        let is_behind = is_moved(query, IMAGE_BEHIND, own - other);
        if (query.radius == 0.0) {
            return select(MISS, 0u, all(low == query.low) && !any(is_ahead | is_behind));
        }
        // Subtracting the period from the larger coordinate is exact, so the difference is rounded once. Integers in
        // between keep compilers from reordering the sum.
        return within(query, minus_period(other, is_ahead) - minus_period(own, is_behind));
    }
    if (query.radius == 0.0) {
        return select(MISS, 0u, all(query.low <= high) && all(low <= query.high));
    }
    let below = flush_bits(unordered(low)) - flush_bits(unordered(query.high));
    let above = flush_bits(unordered(query.low)) - flush_bits(unordered(high));
    // Comparing integers distinguishes contact from a gap.
    let gap = select(select(vec3<f32>(0.0), above, query.low > high), below, low > query.high);
    return within(query, gap);
}

fn minus_period(position: vec3<f32>, moves: vec3<bool>) -> vec3<f32> {
    return bitcast<vec3<f32>>(select(bitcast<vec3<u32>>(position), bitcast<vec3<u32>>(position - periods()), moves));
}

// True on axes where the querier counts at `image`. `apart` is the candidate's distance in the direction of the image.
fn is_moved(query: Query, image: u32, apart: vec3<f32>) -> vec3<bool> {
    return images_are(query, image) | (images_are(query, NEAREST_IMAGE) & nearest_image(apart));
}

// True on axes where the image in the direction of `apart` is the nearest to the candidate.
fn nearest_image(apart: vec3<f32>) -> vec3<bool> {
    let half = 0.5 * periods();
    return (half > vec3<f32>(0.0)) & (apart > half);
}

fn within(query: Query, gap: vec3<f32>) -> u32 {
    let distance = distance_key(gap);
    let is_endless = query.radius >= LARGEST_FLOAT;
    return select(MISS, distance, is_endless || distance <= distance_key(vec3<f32>(query.radius, 0.0, 0.0)));
}

// Squared length of a gap, as an integer of the same order: float bits with a nine-bit exponent, so no square
// overflows. Denormal gaps are 0, infinite ones the largest float.
fn distance_key(gap: vec3<f32>) -> u32 {
    let magnitude = bitcast<vec3<u32>>(gap) & vec3<u32>(0x7fffffffu);
    let bits = select(min(magnitude, vec3<u32>(0x7f7fffffu)), vec3<u32>(0u), magnitude < vec3<u32>(0x00800000u));
    let largest = max(bits.x, max(bits.y, bits.z));
    let is_far = largest >= FAR_BITS;
    let is_near = largest < NEAR_BITS;
    let scaled = bitcast<vec3<f32>>(bits) * select(select(1.0, LARGER, is_near), SMALLER, is_far);
    let part = select(scaled, vec3<f32>(0.0), scaled < vec3<f32>(SMALLEST_GAP));
    let sum = bitcast<u32>(part.x * part.x + part.y * part.y + part.z * part.z);
    let exponents = select(select(DISTANCE_BIAS, DISTANCE_BIAS - 132u, is_near), DISTANCE_BIAS + 132u, is_far);
    return select(sum + (exponents << 23u), 0u, sum == 0u);
}

// Float bits of a squared distance: infinity above the largest float, 0 below the smallest normal one.
fn squared_bits(distance: u32) -> u32 {
    let exponent = distance >> 23u;
    let is_large = exponent >= DISTANCE_BIAS + 255u;
    let is_small = exponent <= DISTANCE_BIAS;
    return select(select(distance - (DISTANCE_BIAS << 23u), 0u, is_small), 0x7f800000u, is_large);
}
