// A walk is cut into rounds, a dispatch each, of so many box tests an invocation: no dispatch takes long, however
// crowded the scene. Rounds go by the place of a test among all tests of the walk, so that they need no memory of each
// other. Some drivers even end loops on their own: llvmpipe gives all loops of a group of lanes 65,535 turns together,
// to which lanes that are busy at different times add up, and then ends each after one more.

struct Round {
    // Tests of each walk that earlier rounds made.
    first: u32,
    // Tests that this round makes, at most.
    tests: u32,
    // Whether no further round is recorded.
    is_last: u32,
    // Turns of the loops over steps and rows that a walk takes, at most.
    turns: u32,
    // Turns of a loop that shows whether the driver cut loops short.
    canary_turns: u32,
    // Where moving and static objects have a table each: whether the walks went through the other one before, and
    // whether they go on through the other one. `first` and `is_last` speak of one table's rounds.
    continues: u32,
    is_continued: u32,
}

@group(0) @binding(10) var<uniform> round: Round;

var<private> to_skip: u32;
var<private> tests_left: u32;
// Tests that are left to later rounds.
var<private> tests_beyond: u32;

// Whether the walks begin here, with nothing found yet.
fn is_first_of_all() -> bool {
    return round.first == 0u && round.continues == 0u;
}

fn is_last_of_all() -> bool {
    return round.is_last != 0u && round.is_continued == 0u;
}

fn begin_round() {
    turns_left = f32(round.turns);
    to_skip = round.first;
    tests_left = round.tests;
}

// Turns of the loops over steps and rows, which a walk takes whether or not it finds anything to test there. What would
// take more of them in all is tested without cells, so that a round is never long.
var<private> turns_left: f32;

// Sets turns aside, unless they are more than there are.
fn takes_turns(turns: f32) -> bool {
    if (!(turns <= turns_left)) {
        return false;
    }
    turns_left -= turns;
    return true;
}

// Which of the walk's next `count` tests are this round's: from x on, up to y.
fn share_of(count: u32) -> vec2<u32> {
    let skipped = min(to_skip, count);
    let taken = min(count - skipped, tests_left);
    to_skip -= skipped;
    tests_left -= taken;
    let beyond = count - skipped - taken;
    tests_beyond += min(beyond, 0xffffffffu - tests_beyond);
    return vec2<u32>(skipped, skipped + taken);
}
