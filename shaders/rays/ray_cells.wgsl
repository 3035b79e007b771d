// uses: common/box, common/cells, common/grid, common/prelude, common/round, common/wide
// uses: rays/ray, rays/ray_passage, rays/ray_walk
// needs: take_cells

// Visits the cells that a ray passes, within the occupied bounds of each level.

@group(0) @binding(1) var<storage, read> grid: Grid;

const COARSE_FIRST: bool = false;

// Index of the static table's first level among all levels.
const STATIC_LEVELS: u32 = 32u;

fn search_limit() -> f32 {
    return LARGEST_FLOAT;
}

fn geometry_limit() -> f32 {
    return LARGEST_FLOAT;
}

fn walks_part(ray: Ray, part: u32) -> bool {
    return true;
}

fn walk_pays(ray: Ray, level: Level, steps: i32, breadth: vec3<f32>, most: vec3<f32>) -> bool {
    return reserve_iterations(f32(min(steps, MAX_RAY_STEPS)));
}

fn without_cells(ray: Ray, level: Level) {
}

fn resumes_slab() -> bool {
    return false;
}

fn drops_level() -> bool {
    return false;
}

fn walks_again() -> bool {
    return false;
}

fn visit_slab(ray: Ray, level: Level, visit: Visit) {
    let whole = vec3<u32>(x_detail(), 0u, 0u);
    let lower = max(visit.lower, vec3<i32>(level.lower_x, level.lower_y, level.lower_z)) >> whole;
    let upper = min(visit.upper, vec3<i32>(level.upper_x, level.upper_y, level.upper_z)) >> whole;
    if (all(lower <= upper)) {
        let sizes = vec3<u32>(upper - lower) + 1u;
        let first_level = select(0u, STATIC_LEVELS, params.first_object < params.static_count);
        let count = saturating_product(saturating_product(sizes.x, sizes.y), sizes.z);
        take_cells(first_level + visit.level, lower, sizes, count);
    }
}

fn walk_ray(ray: Ray) {
    if (ray.valid && ray.t_max >= 0.0) {
        walk_levels(ray);
    }
}
