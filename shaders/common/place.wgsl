// uses: common/cells, common/prelude
// needs: grid

// The placement that the step's scheme gives an object of finite bounds.

fn place(low: vec3<u32>, high: vec3<u32>) -> Placement {
    if (params.scheme == SCHEME_UNIFORM) {
        return place_uniform(low, high, params.cell_inverse);
    }
    return place_one_cell(low, high, base_inverse());
}

// Of the finest level: found by the passes before, or given.
fn base_inverse() -> f32 {
    return select(params.cell_inverse, grid.base_inverse, params.scheme == SCHEME_HIERARCHICAL);
}
