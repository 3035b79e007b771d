// uses: common/box, common/cells, common/grid, common/prelude, common/workgroup, common/worlds, cull/view

// Sets a bit for each object and each view that sees it. A workgroup first tests the common box of its consecutive
// records. A plane that does not cross the common box needs no test per record.

@group(0) @binding(1) var<storage, read> views: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> records: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> starts: array<u32>;
@group(0) @binding(4) var<storage, read> grid: Grid;
@group(0) @binding(5) var<storage, read> objects: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read_write> visible: array<atomic<u32>>;

var<workgroup> lows: array<vec3<u32>, 272>;
var<workgroup> highs: array<vec3<u32>, 272>;
// Bounds of each run of records. Later, element 0 is the common box.
var<workgroup> run_lows: array<vec3<u32>, 16>;
var<workgroup> run_highs: array<vec3<u32>, 16>;
// One bit per view, set if the view sees none of the workgroup's records.
var<workgroup> unseeing_views: atomic<u32>;
// Planes that cross the common box, as eight bits per view.
var<workgroup> crossed: array<atomic<u32>, 8>;

// Test of a box against a plane. Each float operation is rounded once and its result passes through integers, so
// compilers cannot fuse or reorder operations.

const SIGN: u32 = 0x80000000u;
const MAGNITUDE: u32 = 0x7fffffffu;
const INFINITE: u32 = 0x7f800000u;
// A box is outside a plane only beyond the slack: 2^-SLACK times the size that `equation_of` returns.
const SLACK: u32 = 21u;
// A common box has twice the slack, so that despite rounding each box in it is also outside by its own test.
const COMMON_SLACK: u32 = 20u;
// 2^126. Sums of two numbers below it are finite.
const COMMON_LIMIT: u32 = 0x7e800000u;
const COMMON_CROSSED: u32 = 0u;
const COMMON_OUTSIDE: u32 = 1u;
const COMMON_INSIDE: u32 = 2u;

// Float bits of the bounds, and of the largest finite magnitude among them, at least 2.
struct Bounds {
    low: vec3<u32>,
    high: vec3<u32>,
    largest: u32,
}

fn largest_of(a: vec3<u32>) -> u32 {
    return max(a.x, max(a.y, a.z));
}

fn finite_magnitudes(bits: vec3<u32>) -> vec3<u32> {
    let magnitudes = bits & vec3<u32>(MAGNITUDE);
    return select(magnitudes, vec3<u32>(0u), magnitudes >= vec3<u32>(INFINITE));
}

fn bounds_of(low: vec3<i32>, high: vec3<i32>) -> Bounds {
    let low_bits = unordered(low);
    let high_bits = unordered(high);
    let largest = largest_of(max(finite_magnitudes(low_bits), finite_magnitudes(high_bits)));
    return Bounds(low_bits, high_bits, max(largest, 0x40000000u));
}

// Flushes denormals, for the same results on every device.
fn flushed(value: vec2<f32>) -> vec2<f32> {
    let bits = bitcast<vec2<u32>>(value);
    let is_small = (bits & vec2<u32>(INFINITE)) == vec2<u32>(0u);
    return bitcast<vec2<f32>>(select(bits, vec2<u32>(0u), is_small));
}

fn with_size(value: f32) -> vec2<f32> {
    return bitcast<vec2<f32>>(vec2<u32>(bitcast<u32>(value), bitcast<u32>(value) & MAGNITUDE));
}

// The plane's equation at a corner, `((x + y) + z) + d`, and its size, `(((|x| + |y|) + |z|) + |d|) + e`. x, y and z
// are products of normal and corner. e outweighs flushed denormals.
fn equation_of(plane: vec4<u32>, corner: vec3<u32>, largest: u32) -> vec2<u32> {
    let products = flush_bits(bitcast<vec3<u32>>(flush_bits(plane.xyz) * flush_bits(corner)));
    let x = with_size(products.x);
    let y = with_size(products.y);
    let z = with_size(products.z);
    let d = with_size(flush_bits(plane.www).x);
    // The largest magnitude times 2^-100.
    let e = max(largest, largest_of(plane.xyz & vec3<u32>(MAGNITUDE))) - (100u << 23u);
    let two = flushed(x + y);
    let three = flushed(two + z);
    let four = flushed(three + d);
    return bitcast<vec2<u32>>(four + vec2<f32>(0.0, bitcast<f32>(e)));
}

// True if the value is below zero by more than 2^-`slack` times the size.
fn is_below(equation: vec2<u32>, slack: u32) -> bool {
    let is_negative = equation.x > SIGN;
    let is_sure = equation.y < INFINITE && (equation.x & MAGNITUDE) > equation.y - (slack << 23u);
    return is_negative && is_sure;
}

fn farthest(plane: vec4<u32>, bounds: Bounds) -> vec3<u32> {
    return select(bounds.low, bounds.high, plane.xyz < vec3<u32>(SIGN));
}

fn is_outside(plane: vec4<u32>, bounds: Bounds) -> bool {
    let corner = farthest(plane, bounds);
    let is_infinite = (corner & vec3<u32>(MAGNITUDE)) == vec3<u32>(INFINITE);
    let counts = is_infinite & ((plane.xyz & vec3<u32>(MAGNITUDE)) != vec3<u32>(0u));
    if (any(counts)) {
        let is_ahead = ((corner ^ plane.xyz) & vec3<u32>(SIGN)) == vec3<u32>(0u);
        return !any(counts & is_ahead);
    }
    return is_below(equation_of(plane, select(corner, vec3<u32>(0u), is_infinite), bounds.largest), SLACK);
}

// Side of the plane that holds a common box, and so all boxes in it. COMMON_CROSSED if there is none, or if a product
// may overflow.
fn side_of_common(plane: vec4<u32>, bounds: Bounds) -> u32 {
    let low = bounds.low & vec3<u32>(MAGNITUDE);
    let high = bounds.high & vec3<u32>(MAGNITUDE);
    if (any(max(low, high) >= vec3<u32>(INFINITE))) {
        return COMMON_CROSSED;
    }
    let nearest = select(bounds.high, bounds.low, plane.xyz < vec3<u32>(SIGN));
    let first = equation_of(plane, farthest(plane, bounds), bounds.largest);
    let last = equation_of(plane, nearest, bounds.largest);
    if (max(first.y, last.y) >= COMMON_LIMIT) {
        return COMMON_CROSSED;
    }
    if (is_below(first, COMMON_SLACK)) {
        return COMMON_OUTSIDE;
    }
    return select(COMMON_CROSSED, COMMON_INSIDE, last.x < SIGN);
}

fn lower(a: vec3<u32>, b: vec3<u32>) -> vec3<u32> {
    return bitcast<vec3<u32>>(min(bitcast<vec3<i32>>(a), bitcast<vec3<i32>>(b)));
}

fn upper(a: vec3<u32>, b: vec3<u32>) -> vec3<u32> {
    return bitcast<vec3<u32>>(max(bitcast<vec3<i32>>(a), bitcast<vec3<i32>>(b)));
}

// True if the table has the object. In the uniform scheme, all objects have records; in the others, records of ignored
// objects come last.
fn is_in_table(record: u32, name: u32) -> bool {
    if (params.scheme == SCHEME_UNIFORM) {
        return classify(objects[2u * name], objects[2u * name + 1u]) < CLASS_INVALID;
    }
    return record < starts[ignored_key(grid.table_cells)];
}

fn join_bounds(local: u32) {
    if (local < WORKGROUP / RUN) {
        var low = lows[padded(local * RUN)];
        var high = highs[padded(local * RUN)];
        for (var k = local * RUN + 1u; k < (local + 1u) * RUN; k += 1u) {
            low = lower(low, lows[padded(k)]);
            high = upper(high, highs[padded(k)]);
        }
        run_lows[local] = low;
        run_highs[local] = high;
    }
    workgroupBarrier();
    if (local == 0u) {
        for (var k = 1u; k < WORKGROUP / RUN; k += 1u) {
            run_lows[0] = lower(run_lows[0], run_lows[k]);
            run_highs[0] = upper(run_highs[0], run_highs[k]);
        }
    }
    workgroupBarrier();
}

fn test_common_bounds(local: u32) {
    let view = local / MAX_PLANES;
    let plane = local % MAX_PLANES;
    if (view >= cull.view_count) {
        return;
    }
    let planes = views[view * VIEW_VECTORS + MAX_PLANES].x;
    if (planes == NO_VIEW) {
        atomicOr(&unseeing_views, 1u << view);
        return;
    }
    if (plane >= planes) {
        return;
    }
    let bounds = bounds_of(bitcast<vec3<i32>>(run_lows[0]), bitcast<vec3<i32>>(run_highs[0]));
    let side = side_of_common(views[view * VIEW_VECTORS + plane], bounds);
    if (side == COMMON_OUTSIDE) {
        atomicOr(&unseeing_views, 1u << view);
    }
    if (side == COMMON_CROSSED) {
        atomicOr(&crossed[local / 32u], 1u << (local % 32u));
    }
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let record = flat_workgroup(group, groups) * WORKGROUP + local;
    var low = vec4<u32>(0x7fffffffu);
    var high = vec4<u32>(0x80000000u);
    var is_there = false;
    if (record < params.object_count) {
        let name = records[2u * record].w;
        is_there = is_in_table(record, name);
        if (is_there) {
            low = records[2u * record];
            high = records[2u * record + 1u];
        }
    }
    if (local == 0u) {
        atomicStore(&unseeing_views, 0u);
    }
    if (local < MAX_VIEWS / 4u) {
        atomicStore(&crossed[local], 0u);
    }
    lows[padded(local)] = low.xyz;
    highs[padded(local)] = high.xyz;
    workgroupBarrier();
    join_bounds(local);
    test_common_bounds(local);
    workgroupBarrier();
    let blind_views = atomicLoad(&unseeing_views);
    if (!is_there || countOneBits(blind_views) == cull.view_count) {
        return;
    }
    let object = low.w;
    let world = high.w;
    let bounds = bounds_of(bitcast<vec3<i32>>(low.xyz), bitcast<vec3<i32>>(high.xyz));
    var layers = 0u;
    if (cull.filters != 0u) {
        layers = objects[2u * object].w;
    }
    for (var view = 0u; view < cull.view_count; view += 1u) {
        // Number of planes, layers, world.
        let about = views[view * VIEW_VECTORS + MAX_PLANES];
        let may_see = ((blind_views >> view) & 1u) == 0u && worlds_meet(about.z, world);
        var is_seen = may_see && (cull.filters == 0u || layers_meet(about.y, layers));
        let planes = (atomicLoad(&crossed[view / 4u]) >> (8u * (view % 4u))) & 0xffu;
        for (var rest = planes; rest != 0u && is_seen; rest &= rest - 1u) {
            is_seen = !is_outside(views[view * VIEW_VECTORS + firstTrailingBit(rest)], bounds);
        }
        if (is_seen) {
            atomicOr(&visible[view * cull.words + object / 32u], 1u << (object % 32u));
        }
    }
}
