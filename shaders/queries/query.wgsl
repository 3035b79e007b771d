// uses: common/box, common/candidates, common/filtered, common/prelude, common/worlds
// needs: is_half

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
// Exponent bias of squared distances, added to that of floats.
const DISTANCE_BIAS: u32 = 126u;
// Smaller scaled gaps count as 0. The largest scaled gap is then at least 2^20 times as long, so their squares are lost
// in rounding.
const SMALLEST_GAP: f32 = 0x1p-60;

struct Query {
    low: vec3<i32>,
    high: vec3<i32>,
    radius: f32,
    // Largest squared distance of results: see `distance_key`.
    farthest: u32,
    layers: u32,
    group: u32,
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

// Moves the corners by `moved`, then outward by the reach.
fn with_search_bounds(original: Query, moved: vec3<f32>) -> Query {
    var query = original;
    let largest = vec3<i32>(0x7f7fffff);
    let low = flush_bits(unordered(max(query.low, -largest)));
    let high = flush_bits(unordered(min(query.high, largest)));
    let reach = reach_of(query);
    query.search_min = max(low + moved - reach, vec3<f32>(-LARGEST_FLOAT));
    query.search_max = min(high + moved + reach, vec3<f32>(LARGEST_FLOAT));
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
    query.farthest = farthest_of(query.radius);
    query.layers = low.w;
    query.group = high.w;
    query.querier = NO_OBJECT;
    return with_search_bounds(query, vec3<f32>(0.0));
}

fn periods() -> vec3<f32> {
    return vec3<f32>(params.period_x, params.period_y, params.period_z);
}

// Squared distance as an integer (see `distance_key`), or MISS. Early returns would cost a register in all loops.
fn distance_to(query: Query, low_word: vec4<u32>, high_word: vec4<u32>) -> u32 {
    count_candidate();
    let low = bitcast<vec3<i32>>(low_word.xyz);
    let high = bitcast<vec3<i32>>(high_word.xyz);
    let is_excluded = low_word.w == query.querier || (is_half() && low_word.w < query.querier);
    var distance = MISS;
    if (worlds_meet(high_word.w, query.world) && !(query.querier != NO_OBJECT && is_excluded)) {
        if (query.seeks_corners) {
            distance = corner_distance(query, low, high);
        } else {
            distance = box_distance(query, low, high);
        }
    }
    return distance;
}

fn corner_distance(query: Query, low: vec3<i32>, high: vec3<i32>) -> u32 {
    let infinity = vec3<i32>(0x7f800000);
    let gap = vec3<f32>(corner_gap(query, low, 0u), corner_gap(query, low, 1u), corner_gap(query, low, 2u));
    // Gaps are rounded, but a radius of 0 finds equal corners only.
    let is_apart = query.farthest == 0u && any(low != query.low);
    return select(within(query, gap), MISS, is_apart || any(low == -infinity) || any(high == infinity));
}

fn corner_gap(query: Query, low: vec3<i32>, axis: u32) -> f32 {
    let own = flush_bits(unordered(vec3<i32>(query.low[axis]))).x;
    let other = flush_bits(unordered(vec3<i32>(low[axis]))).x;
    let images = (query.images >> (2u * axis)) & 3u;
    let period = periods()[axis];
    // Subtracting the period from the larger coordinate is exact, so the difference is rounded once. Integers in
    // between keep compilers from reordering the sum.
    let moved_other = minus_period(other, period, is_moved(images, IMAGE_AHEAD, other - own, period));
    return moved_other - minus_period(own, period, is_moved(images, IMAGE_BEHIND, own - other, period));
}

fn box_distance(query: Query, low: vec3<i32>, high: vec3<i32>) -> u32 {
    var distance = MISS;
    if (query.farthest == 0u) {
        distance = select(MISS, 0u, all(query.low <= high) && all(low <= query.high));
    } else {
        let x = gap_on_axis(query.low.x, query.high.x, low.x, high.x);
        let y = gap_on_axis(query.low.y, query.high.y, low.y, high.y);
        distance = within(query, vec3<f32>(x, y, gap_on_axis(query.low.z, query.high.z, low.z, high.z)));
    }
    return distance;
}

fn gap_on_axis(own_low: i32, own_high: i32, low: i32, high: i32) -> f32 {
    // Comparing integers distinguishes contact from a gap.
    let is_below = low > own_high;
    let start = flush_bits(unordered(vec3<i32>(select(own_low, low, is_below)))).x;
    let end = flush_bits(unordered(vec3<i32>(select(high, own_high, is_below)))).x;
    return select(0.0, start - end, is_below || own_low > high);
}

fn minus_period(position: f32, period: f32, moves: bool) -> f32 {
    return bitcast<f32>(select(bitcast<u32>(position), bitcast<u32>(position - period), moves));
}

// True if the querier counts at `image`. `apart` is the candidate's distance in the direction of the image.
fn is_moved(images: u32, image: u32, apart: f32, period: f32) -> bool {
    return images == image || (images == NEAREST_IMAGE && nearest_image(apart, period));
}

fn nearest_image(apart: f32, period: f32) -> bool {
    return period > 0.0 && apart + apart > period;
}

fn within(query: Query, gap: vec3<f32>) -> u32 {
    let distance = distance_key(gap);
    return select(MISS, distance, distance <= query.farthest);
}

fn farthest_of(radius: f32) -> u32 {
    return select(distance_key(vec3<f32>(radius, 0.0, 0.0)), MISS, radius >= LARGEST_FLOAT);
}

// Squared length of a gap, as an integer of the same order: float bits with a nine-bit exponent, so no square
// overflows. Denormal gaps are 0, infinite ones the largest float.
fn distance_key(gap: vec3<f32>) -> u32 {
    let magnitude = bitcast<vec3<u32>>(gap) & vec3<u32>(0x7fffffffu);
    let bits = select(min(magnitude, vec3<u32>(0x7f7fffffu)), vec3<u32>(0u), magnitude < vec3<u32>(0x00800000u));
    let largest = max(bits.x, max(bits.y, bits.z));
    // 66, 0 or -66. Constants in a `select` would take registers in all loops.
    let steps = u32(largest >= FAR_BITS) - u32(largest < NEAR_BITS);
    let exponent = (steps << 6u) + (steps << 1u);
    let scaled = bitcast<vec3<f32>>(bits) * bitcast<f32>(0x3f800000u - (exponent << 23u));
    let part = select(scaled, vec3<f32>(0.0), scaled < vec3<f32>(SMALLEST_GAP));
    let sum = bitcast<u32>(part.x * part.x + part.y * part.y + part.z * part.z);
    return select(sum + (DISTANCE_BIAS << 23u) + (exponent << 24u), 0u, sum == 0u);
}

// Float bits of a squared distance: infinity above the largest float, 0 below the smallest normal one.
fn squared_bits(distance: u32) -> u32 {
    let exponent = distance >> 23u;
    let is_large = exponent >= DISTANCE_BIAS + 255u;
    let is_small = exponent <= DISTANCE_BIAS;
    return select(select(distance - (DISTANCE_BIAS << 23u), 0u, is_small), 0x7f800000u, is_large);
}
