// Some drivers end loops on their own: llvmpipe gives all loops of an invocation 65,535 turns together and then ends each
// after one more. An answer that such a driver cut short must not pass for a whole one.

// Run after the walk, with a bound that no compiler knows.
fn all_turns_taken() -> bool {
    var turns = 0u;
    for (var k = 0u; k < params.canary_turns; k += 1u) {
        turns += 1u;
    }
    return turns == params.canary_turns;
}
