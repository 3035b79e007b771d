// uses: common/cells, common/prelude

// The placement that the step's scheme gives an object of finite bounds.

fn place(low: vec3<u32>, high: vec3<u32>, base_inverse: f32) -> Placement {
    if (params.scheme == SCHEME_UNIFORM) {
        return place_uniform(low, high, base_inverse);
    }
    return place_one_cell(low, high, base_inverse);
}
