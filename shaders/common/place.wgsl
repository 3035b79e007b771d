// The placement that the step's scheme gives an object of finite bounds.

fn place(low: vec3<u32>, high: vec3<u32>) -> Placement {
    if (params.scheme == SCHEME_UNIFORM) {
        return place_uniform(low, high, params.cell_inverse);
    }
    return place_hierarchical(low, high, grid.base_inverse);
}
