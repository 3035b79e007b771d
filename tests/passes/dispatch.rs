//! Indirect arguments.

use crate::harness::*;
use gpu_broad_phase::internals::blocks::DispatchParams;
use gpu_broad_phase::internals::reference::dispatch::dispatch_args;
use gpu_broad_phase::internals::shaders;

pub fn check_dispatch(bench: &mut Bench, needed: u64, [first, capacity, workgroup_rows]: [u32; 3]) {
    bench.scene = format!("{needed} rows, room for {capacity} from {first} on, {workgroup_rows} a workgroup");
    let params = DispatchParams {
        needed_word: 12,
        first,
        capacity,
        workgroup_rows,
    };
    let mut counters = used_counters();
    (counters[12], counters[13]) = (needed as u32, (needed >> 32) as u32);
    let found = bench.run(
        &shaders::DISPATCH_ARGS,
        1,
        uniform(&params),
        &[("step_counters", bytes(&counters)), ("args", poison::<u32>(4))],
    );
    let args = dispatch_args::dispatch_args(&params, &counters);
    found.check("args", &args);
    let [x, y, z, rows] = args.map(u64::from);
    assert!(x <= 65_535 && y <= 65_535 && z == 1);
    assert!(x * y * u64::from(workgroup_rows) >= rows, "{args:?}");
}
