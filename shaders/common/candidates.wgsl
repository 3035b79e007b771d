// Counts of a walk: box tests and objects found.

override COUNT_CANDIDATES: bool = false;

var<private> candidates: u32;
// Number of objects found, or of cells in `ray_cells_count`. At most 1 in `ray_any`, at most `query_params.nearest` in
// `query_nearest`.
var<private> found: u32;

fn count_candidate() {
    if (COUNT_CANDIDATES) {
        candidates += 1u;
    }
}
