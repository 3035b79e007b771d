// How many boxes a walk tests, counted where the descriptor asks for it, and how many of them it finds.

override COUNT_CANDIDATES: bool = false;

var<private> candidates: u32;
var<private> found: u32;

fn count_candidate() {
    if (COUNT_CANDIDATES) {
        candidates += 1u;
    }
}
