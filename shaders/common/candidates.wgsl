// Box tests and results of a walk.

override COUNT_CANDIDATES: bool = false;

var<private> candidates: u32;
// Objects found; in `ray_cells_count`, cells. `ray_any` stops at one, `query_nearest` keeps the wanted number.
var<private> found: u32;

fn count_candidate() {
    if (COUNT_CANDIDATES) {
        candidates += 1u;
    }
}
