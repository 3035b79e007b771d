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
    iterations: u32,
    // Turns of a loop that shows whether the driver cut loops short.
    canary_iterations: u32,
    // Where moving and static objects have a table each: whether the walks went through the other one before, and
    // whether they go on through the other one. `first` and `is_last` speak of one table's rounds.
    continues: u32,
    is_continued: u32,
}

@group(0) @binding(10) var<uniform> round: Round;

// Tests of the walk so far, those of other rounds included. Where a round is follows from that: one number, since all
// loops of a walk carry it.
var<private> tests_passed: u32;

// Whether the walks begin here, with nothing found yet.
fn is_first_of_all() -> bool {
    return round.first == 0u && round.continues == 0u;
}

fn is_last_of_all() -> bool {
    return round.is_last != 0u && round.is_continued == 0u;
}

fn begin_round() {
    iterations_left = f32(round.iterations);
    tests_passed = 0u;
}

// Turns of the loops over steps and rows, which a walk takes whether or not it finds anything to test there. What would
// take more of them in all is tested without cells, so that a round is never long.
var<private> iterations_left: f32;

// Sets turns aside, unless they are more than there are.
fn takes_iterations(iterations: f32) -> bool {
    if (!(iterations <= iterations_left)) {
        return false;
    }
    iterations_left -= iterations;
    return true;
}

// Tests of this round and later ones, so far.
fn tests_begun() -> u32 {
    return tests_passed - min(tests_passed, round.first);
}

// Tests that this round has left.
fn tests_left() -> u32 {
    return round.tests - min(tests_begun(), round.tests);
}

// Tests that are left to later rounds.
fn tests_beyond() -> u32 {
    return tests_begun() - min(tests_begun(), round.tests);
}

// Which of the walk's next `count` tests are this round's: from x on, up to y.
fn share_of(count: u32) -> vec2<u32> {
    let skipped = min(round.first - min(tests_passed, round.first), count);
    let taken = min(count - skipped, tests_left());
    tests_passed += min(count, 0xffffffffu - tests_passed);
    return vec2<u32>(skipped, skipped + taken);
}
