// uses: common/cells, common/grid, common/prelude, rays/ray, rays/ray_params, rays/ray_passage
// needs: COARSE_FIRST, walks_part, drops_level, resumes_slab, grid, search_limit, visit_slab, walks_again
// needs: without_cells

// Loads rays, and walks the cells that they pass, level by level and slab by slab.
//
// The walk visits the same slab again if `resumes_slab` is true, drops the level if `drops_level` is, and restarts it
// if `walks_again` is. `walks_part` is false for parts that earlier rounds finished.

@group(0) @binding(4) var<storage, read> rays: array<vec4<u32>>;

// Number of four-word vectors of a `Ray` and of a `SweptRay`: values of `ray_params.stride`.
const RAY_STRIDE: u32 = 2u;
const SWEPT_STRIDE: u32 = 4u;

fn load_ray(index: u32) -> Ray {
    let at = select(RAY_STRIDE, SWEPT_STRIDE, SWEPT) * index;
    var sweep = vec4<u32>(0u);
    var world = 0u;
    if (SWEPT) {
        sweep = rays[at + 2u];
        world = rays[at + 3u].x;
    }
    var ray = ray_of_words(rays[at], rays[at + 1u], SWEPT, sweep, world);
    ray.index = index;
    return ray;
}

// Index of a cached hit: two words, object and t. Cached hits follow the offsets and the progress of rounds.
fn cached_at(ray: u32, hit: u32) -> u32 {
    return 2u * ray_params.count + 1u + 2u * (ray_params.cached * ray + hit);
}

fn walk_level(ray: Ray, index: u32) -> bool {
    let level = grid.levels[index];
    let passage = passage_of(ray, level);
    var visit: Visit;
    visit.level = index;
    let nowhere = no_cells();
    visit.lower = nowhere.lower;
    visit.upper = nowhere.upper;
    var slab = passage.first_slab;
    for (var walks = passage.is_walked; walks;) {
        let through = way_through(passage, slab);
        let way = select(-1, 1, passage.major_inverse >= 0.0);
        let ends = slab == passage.past_slab || (through.x > search_limit() && !resumes_slab()) || drops_level();
        if (ends) {
            walks = walks_again();
            slab = passage.first_slab - way;
            visit.lower = nowhere.lower;
            visit.upper = nowhere.upper;
        }
        if (!ends && !(through.x > through.y)) {
            if (!resumes_slab()) {
                visit.previous_lower = visit.lower;
                visit.previous_upper = visit.upper;
            }
            let cells = cells_through(passage, slab, through);
            visit.lower = cells.lower;
            visit.upper = cells.upper;
            visit_slab(ray, level, visit);
        }
        slab += select(way, 0, resumes_slab());
    }
    return passage.without_cells || (passage.is_walked && drops_level());
}

// Coarse layers of the adaptive scheme also hold small boxes, so they do not come first.
fn walk_levels(ray: Ray) {
    let coarse_first = COARSE_FIRST && SCHEME == SCHEME_HIERARCHICAL;
    var rest = grid.occupied;
    for (var visited = 0u; visited < MAX_LEVELS && rest != 0u; visited += 1u) {
        let index = select(firstTrailingBit(rest), firstLeadingBit(rest), coarse_first);
        rest &= ~(1u << index);
        if (walks_part(ray, visited + 1u)) {
            if (walk_level(ray, index)) {
                without_cells(ray, grid.levels[index]);
            }
        }
    }
}
