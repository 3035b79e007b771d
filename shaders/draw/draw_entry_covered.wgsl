// uses: common/box, common/cells, common/grid, common/prelude

// An object has an entry in every cell that it covers.

@group(0) @binding(4) var<storage, read> objects: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read> values: array<u32>;

fn drawn_record(entry: u32) -> u32 {
    return values[entry] & ID_MASK;
}

// Records come in the order of the objects.
fn cells_entered(record: u32) -> Placement {
    let low = objects[2u * (params.first_object + record)];
    let high = objects[2u * (params.first_object + record) + 1u];
    if (classify(low, high) != CLASS_FINITE) {
        return Placement(NO_LEVEL, vec3<i32>(0), vec3<i32>(0));
    }
    return place_uniform(low.xyz, high.xyz, params.cell_inverse);
}
