// uses: common/cells, common/prelude, rays/ray, rays/ray_passage
// needs: COARSE_FIRST, walks_part, drops_level, resumes_slab, grid, search_limit, unknown_zero, visit_slab, walks_again
// needs: without_cells

// Loads rays, and walks the cells that they pass, level by level and slab by slab.
//
// The walk visits the same slab again if `resumes_slab` is true, drops the level if `drops_level` is, and restarts it
// if `walks_again` is. `walks_part` is false for parts that earlier rounds finished.

@group(0) @binding(4) var<storage, read> rays: array<vec4<u32>>;

// Number of four-word vectors of a `Ray` and of a `SweptRay`: values of `params.ray_stride`.
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
    return 2u * params.ray_count + 1u + 2u * (params.cached_hits * ray + hit);
}

// Loaded again in the uniform scheme, whose walks need more registers.
fn direction_of(ray: Ray) -> vec3<f32> {
    if (SCHEME != SCHEME_UNIFORM) {
        return ray.direction;
    }
    let at = select(RAY_STRIDE, SWEPT_STRIDE, SWEPT) * (ray.index | unknown_zero()) + 1u;
    let is_flat = (params.dimensions | unknown_zero()) == 2u;
    return flush_bits(vec3<u32>(rays[at].xy, select(rays[at].z, 0u, is_flat)));
}

fn walk_level(original: Ray, index: u32) -> bool {
    let level = grid.levels[index];
    var ray = original;
    ray.direction = direction_of(original);
    var visit: Visit;
    visit.level = index;
    visit.passage = passage_of(ray, level);
    visit.slab = visit.passage.first_slab;
    var tests_all = visit.passage.without_cells;
    for (var walks = visit.passage.is_walked; walks;) {
        let through = way_through(visit.passage, visit.slab);
        let ends = visit.slab == visit.passage.past_slab || (through.x > search_limit() && !resumes_slab())
            || drops_level();
        if (ends) {
            walks = walks_again();
            tests_all = drops_level();
            // Only walks that meet objects again restart.
            visit.slab = select(visit.slab, visit.passage.first_slab, SCHEME == SCHEME_UNIFORM);
        } else {
            if (!(through.x > through.y)) {
                let cells = cells_through(visit.passage, visit.slab, through);
                visit.lower = cells.lower;
                visit.upper = cells.upper;
                visit_slab(original, level, visit);
            }
            visit.slab += select(slab_step(visit.passage), 0, resumes_slab());
        }
    }
    return tests_all;
}

// Coarse layers of the adaptive scheme also hold small boxes, so they do not come first.
fn walk_levels(ray: Ray) {
    let coarse_first = COARSE_FIRST && SCHEME == SCHEME_HIERARCHICAL;
    for (var rest = grid.occupied; rest != 0u;) {
        let index = select(firstTrailingBit(rest), firstLeadingBit(rest), coarse_first);
        rest &= ~(1u << index);
        if (walks_part(ray, countOneBits(grid.occupied) - countOneBits(rest))) {
            if (walk_level(ray, index)) {
                without_cells(ray, grid.levels[index]);
            }
        }
    }
}
