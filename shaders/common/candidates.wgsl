// How many boxes a walk tests, counted where the descriptor asks for it, and what it found.

override COUNT_CANDIDATES: bool = false;

var<private> candidates: u32;
// Number of objects found so far; in `ray_cells_count`, of cells. `ray_any` has at most one, `query_nearest` as many as
// it keeps.
var<private> found: u32;

fn count_candidate() {
    if (COUNT_CANDIDATES) {
        candidates += 1u;
    }
}
