// Turns of the loops over steps and rows, which a walk takes whether or not it finds anything to test there. What would
// take more of them in all is tested without cells, so that a round is never long.

const MAX_TURNS: f32 = 40000.0;

var<private> turns_left: f32 = MAX_TURNS;

// Sets turns aside, unless they are more than there are.
fn takes_turns(turns: f32) -> bool {
    if (!(turns <= turns_left)) {
        return false;
    }
    turns_left -= turns;
    return true;
}
