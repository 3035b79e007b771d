// uses: common/box, common/cells, common/counters, common/grid, common/prelude, common/workgroup, table/base_cell
// uses: table/worlds

// Counts the objects of each level and bounds the cells they occupy. Also counts invalid, excluded and large objects.
// Each workgroup chooses the finest cell itself, which is faster than a separate pass.

@group(0) @binding(1) var<storage, read> objects: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> level_statistics: array<atomic<u32>, 256>;
@group(0) @binding(4) var<storage, read_write> counters: array<atomic<u32>>;

var<workgroup> local_levels: array<atomic<u32>, 256>;
// Invalid, excluded and large objects, indexed as in the counters.
var<workgroup> local_counts: array<atomic<u32>, 3>;

// Reads first: a bound hardly ever moves after a few objects, and atomics on one word serialize.
fn raise(word: u32, value: u32) {
    if (atomicLoad(&local_levels[word]) < value) {
        atomicMax(&local_levels[word], value);
    }
}

// Objects that an invocation meets one after the other on one level, added with few atomics.
struct Run {
    count: u32,
    level: u32,
    lower: vec3<i32>,
    upper: vec3<i32>,
}

fn add_run(run: Run) {
    if (run.count == 0u) {
        return;
    }
    let below = vec3<u32>(BIAS) - bitcast<vec3<u32>>(run.lower);
    let above = vec3<u32>(BIAS) + bitcast<vec3<u32>>(run.upper);
    let word = 8u * run.level;
    atomicAdd(&local_levels[word], run.count);
    raise(word + 1u, below.x);
    raise(word + 2u, below.y);
    raise(word + 3u, below.z);
    raise(word + 4u, above.x);
    raise(word + 5u, above.y);
    raise(word + 6u, above.z);
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    atomicStore(&local_levels[local], 0u);
    if (local < 3u) {
        atomicStore(&local_counts[local], 0u);
    }
    var finest = FinestCell(params.cell_inverse, 0u);
    if (SCHEME == SCHEME_HIERARCHICAL) {
        finest = finest_cell(local);
    }
    workgroupBarrier();

    let first = flat_workgroup(group, groups) * WORKGROUP + local;
    let stride = groups.x * groups.y * WORKGROUP;
    var run: Run;
    for (var object = first; object < params.object_count; object += stride) {
        let low = objects[2u * (params.first_object + object)];
        let high = objects[2u * (params.first_object + object) + 1u];
        let kind = classify(low, high);
        // Objects that are not finite are placed at the origin: no float operation sees a NaN.
        let may_have_cells = enters_cells(kind, world_of(object));
        let has_place = vec3<bool>(may_have_cells);
        let placement = place(
            select(vec3<u32>(0u), low.xyz, has_place),
            select(vec3<u32>(0u), high.xyz, has_place),
            finest.inverse,
            finest.stretch,
        );
        if (kind == CLASS_INVALID) {
            atomicAdd(&local_counts[COUNTER_INVALID], 1u);
        } else if (kind == CLASS_EXCLUDED) {
            atomicAdd(&local_counts[COUNTER_EXCLUDED], 1u);
        } else if (!may_have_cells || placement.level == NO_LEVEL) {
            atomicAdd(&local_counts[COUNTER_LARGE], 1u);
        } else {
            // A loop of one iteration: CPU drivers skip loops that no lane enters, but execute both sides of branches.
            for (var ends = run.count == 0u || run.level != placement.level; ends; ends = false) {
                add_run(run);
                run = Run(0u, placement.level, placement.lower, placement.lower);
            }
            let last = select(placement.lower, placement.upper, params.scheme == SCHEME_UNIFORM);
            run.count += 1u;
            run.lower = min(run.lower, placement.lower);
            run.upper = max(run.upper, last);
        }
    }
    add_run(run);
    workgroupBarrier();

    let value = atomicLoad(&local_levels[local]);
    if (value != 0u) {
        if ((local & 7u) == 0u) {
            atomicAdd(&level_statistics[local], value);
        } else {
            atomicMax(&level_statistics[local], value);
        }
    }
    if (flat_workgroup(group, groups) == 0u && local == 0u) {
        atomicStore(&level_statistics[BASE_INVERSE], bitcast<u32>(finest.inverse));
        atomicStore(&level_statistics[STRETCH], finest.stretch);
        atomicStore(&level_statistics[CROWDED_LEVELS], crowded_levels_found());
    }
    if (local < 3u) {
        let count = atomicLoad(&local_counts[local]);
        if (count != 0u) {
            atomicAdd(&counters[local], count);
        }
    }
}
