// Splits a walk into rounds, one dispatch each, with a bounded number of box tests per invocation, so no dispatch takes
// long. A round is a range of the walk's tests by number; rounds share no state. Fields: `Round` in
// src/layout/blocks.rs.
// Some drivers end loops on their own: llvmpipe allows all loops of a group of lanes 65,535 iterations together, summed
// over lanes that are busy at different times. Later loops end after one iteration.

struct Round {
    first: u32,
    tests: u32,
    is_last: u32,
    iterations: u32,
    canary_iterations: u32,
    // For tables of moving and static objects. `first` and `is_last` refer to one table.
    continues: u32,
    is_continued: u32,
}

@group(0) @binding(10) var<uniform> round: Round;

// Includes other rounds. All loops carry it, so everything else is derived from it.
var<private> tests_passed: u32;

// True if the walks begin here.
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

// Iterations left of the loops over steps and rows. A level that needs more is tested without cells, so a round stays
// short.
var<private> iterations_left: f32;

// Reserves iterations if enough are left.
fn takes_iterations(iterations: f32) -> bool {
    if (!(iterations <= iterations_left)) {
        return false;
    }
    iterations_left -= iterations;
    return true;
}

fn tests_begun() -> u32 {
    return tests_passed - min(tests_passed, round.first);
}

fn tests_left() -> u32 {
    return round.tests - min(tests_begun(), round.tests);
}

fn tests_after_round() -> u32 {
    return tests_begun() - min(tests_begun(), round.tests);
}

// This round's share `x .. y` of the next `count` tests.
fn tests_in_round(count: u32) -> vec2<u32> {
    let skipped = min(round.first - min(tests_passed, round.first), count);
    let taken = min(count - skipped, tests_left());
    tests_passed += min(count, 0xffffffffu - tests_passed);
    return vec2<u32>(skipped, skipped + taken);
}
