// uses: common/counters, common/wide, events/event

// Rows of a step's pairs.

@group(0) @binding(1) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> static_generations: array<u32>;
@group(0) @binding(3) var<storage, read> generations: array<u32>;
@group(0) @binding(4) var<storage, read> step_counters: array<u32>;

const STATIC_BIT: u32 = 0x80000000u;

fn permanent_id(object: u32) -> vec2<u32> {
    if (object < event.static_count) {
        var generation = 0u;
        if (object < event.static_generations) {
            generation = static_generations[object];
        }
        return vec2<u32>(object | STATIC_BIT, generation);
    }
    let index = object - event.static_count;
    var generation = 0u;
    if (index < event.generations) {
        generation = generations[index];
    }
    return vec2<u32>(index, generation);
}

fn row_of(pair: u32) -> vec4<u32> {
    let objects = pairs[pair];
    return vec4<u32>(permanent_id(objects.x), permanent_id(objects.y));
}

fn shown() -> u32 {
    let needed = vec2<u32>(step_counters[COUNTER_PAIRS_NEEDED], step_counters[COUNTER_PAIRS_NEEDED + 1u]);
    return min(saturate64(needed), event.pair_capacity);
}
