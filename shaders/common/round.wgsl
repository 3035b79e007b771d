// Splits walks into rounds, one dispatch each, so that no dispatch takes long. A round makes a bounded number of box
// tests per walk, from test number `first` on. For fields, see src/layout/blocks.rs. Some drivers end loops early:
// llvmpipe allows a group of lanes 65,535 iterations of all loops in total, even if the lanes make them at different
// times. Later loops end after one iteration.

struct Round {
    first: u32,
    tests: u32,
    is_last: u32,
    iterations: u32,
    canary_iterations: u32,
    continues: u32,
    is_continued: u32,
    walks: u32,
    first_row: u32,
}

@group(0) @binding(10) var<uniform> round: Round;

// Number of tests passed so far, including those of other rounds. All loops carry this count and derive others from it.
var<private> tests_passed: u32;

// Always 0, since `iterations_left` is not negative, but compilers see a value that each level and row of cells may
// change. What is computed with it is computed again where it is needed, instead of taking registers in between.
fn unknown_zero() -> u32 {
    return tests_passed & (bitcast<u32>(iterations_left) >> 31u);
}

// True in the first round of the first table.
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

// Iterations left for loops over slabs and rows of cells. A level that needs more is tested without cells, so a round
// stays short.
var<private> iterations_left: f32;

fn reserve_iterations(iterations: f32) -> bool {
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

// Of the walk's next `count` tests, the range `x .. y` that belongs to this round.
fn tests_in_round(count: u32) -> vec2<u32> {
    let skipped = min(round.first - min(tests_passed, round.first), count);
    let taken = min(count - skipped, tests_left());
    tests_passed += min(count, 0xffffffffu - tests_passed);
    return vec2<u32>(skipped, skipped + taken);
}
