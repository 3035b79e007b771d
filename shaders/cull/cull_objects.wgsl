// uses: common/box, common/cells, common/grid, common/prelude, common/workgroup, cull/plane, cull/view

// A bit for each object of a table and each view that sees it. A workgroup takes records that follow each other, and
// holds the box around all of them to the planes first: what lies outside with it, or inside, is not looked at again.

@group(0) @binding(1) var<storage, read> views: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> records: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> starts: array<u32>;
@group(0) @binding(4) var<storage, read> grid: Grid;
@group(0) @binding(5) var<storage, read> objects: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read_write> visible: array<atomic<u32>>;

// Ordered integers of the records' bounds.
var<workgroup> lows: array<vec3<u32>, 272>;
var<workgroup> highs: array<vec3<u32>, 272>;
// Of the runs, then of all in the first place.
var<workgroup> run_lows: array<vec3<u32>, 16>;
var<workgroup> run_highs: array<vec3<u32>, 16>;
// Views that see none of the records, a bit each.
var<workgroup> blind: atomic<u32>;
// Planes that the common box crosses: eight bits per view.
var<workgroup> crossed: array<atomic<u32>, 8>;

fn lower(a: vec3<u32>, b: vec3<u32>) -> vec3<u32> {
    return bitcast<vec3<u32>>(min(bitcast<vec3<i32>>(a), bitcast<vec3<i32>>(b)));
}

fn upper(a: vec3<u32>, b: vec3<u32>) -> vec3<u32> {
    return bitcast<vec3<u32>>(max(bitcast<vec3<i32>>(a), bitcast<vec3<i32>>(b)));
}

// Whether the table has the object. Records of the uniform scheme are those of all objects. In the others, records are
// in the order of the entries, and those of objects that the table leaves out come last.
fn takes_part(record: u32, name: u32) -> bool {
    if (params.scheme == SCHEME_UNIFORM) {
        return classify(objects[2u * name], objects[2u * name + 1u]) < CLASS_INVALID;
    }
    return record < starts[absent_key(grid.table_cells)];
}

// The box around the records of the workgroup, in the first place of the runs.
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

// One plane of one view for each invocation.
fn hold_common_bounds(local: u32) {
    let view = local / MOST_PLANES;
    let plane = local % MOST_PLANES;
    if (view >= cull.view_count) {
        return;
    }
    let planes = views[view * VIEW_VECTORS + MOST_PLANES].x;
    if (planes == NO_VIEW) {
        atomicOr(&blind, 1u << view);
        return;
    }
    if (plane >= planes) {
        return;
    }
    let bounds = bounds_of(bitcast<vec3<i32>>(run_lows[0]), bitcast<vec3<i32>>(run_highs[0]));
    let side = side_of_common(views[view * VIEW_VECTORS + plane], bounds);
    if (side == COMMON_OUTSIDE) {
        atomicOr(&blind, 1u << view);
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
    // Around nothing.
    var low = vec4<u32>(0x7fffffffu);
    var high = vec4<u32>(0x80000000u);
    var is_there = false;
    if (record < params.object_count) {
        let name = records[2u * record].w;
        is_there = takes_part(record, name);
        if (is_there) {
            low = records[2u * record];
            high = records[2u * record + 1u];
        }
    }
    if (local == 0u) {
        atomicStore(&blind, 0u);
    }
    if (local < MOST_VIEWS / 4u) {
        atomicStore(&crossed[local], 0u);
    }
    lows[padded(local)] = low.xyz;
    highs[padded(local)] = high.xyz;
    workgroupBarrier();
    join_bounds(local);
    hold_common_bounds(local);
    workgroupBarrier();
    let blind_views = atomicLoad(&blind);
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
        // Planes, layers, world.
        let about = views[view * VIEW_VECTORS + MOST_PLANES];
        let may_see = ((blind_views >> view) & 1u) == 0u && about.z == world;
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
