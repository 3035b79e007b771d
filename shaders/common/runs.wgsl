// Values of a workgroup in runs, each of which one invocation adds up: few barriers, where a step for each power of two
// would take sixteen.

const RUN: u32 = 16u;

// A word of room lies behind each run, so that invocations of one step read different memory banks.
fn padded(local: u32) -> u32 {
    return local + local / RUN;
}
