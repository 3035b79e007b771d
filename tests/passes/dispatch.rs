use crate::harness::*;
use gpu_broad_phase::internals::blocks::DispatchParams;
use gpu_broad_phase::internals::reference::dispatch::dispatch_args;
use gpu_broad_phase::internals::shaders;

pub fn check_dispatch(bench: &mut Bench, needed: u64, [first, capacity, workgroup_rows]: [u32; 3]) {
    bench.scene = format!("{needed} rows, room for {capacity} from {first} on, {workgroup_rows} a workgroup");
    let mut counters = used_counters();
    (counters[12], counters[13]) = (needed as u32, (needed >> 32) as u32);
    let status = counters[5] | counters[29];
    assert!(status != 0 && status != u32::MAX, "{status:#x}");
    for missing_bits in [0, !status, u32::MAX] {
        check_args(
            bench,
            &counters,
            DispatchParams {
                needed_word: 12,
                first,
                capacity,
                workgroup_rows,
                missing_bits,
            },
        );
    }
}

fn check_args(bench: &mut Bench, counters: &[u32], params: DispatchParams) {
    let found = bench.run(
        &shaders::DISPATCH_ARGS,
        1,
        uniform(&params),
        &[("step_counters", bytes(counters)), ("args", poison::<u32>(4))],
    );
    let args = dispatch_args::dispatch_args(&params, counters);
    found.check("args", &args);
    if params.missing_bits == u32::MAX {
        return assert_eq!(args, [0; 4]);
    }
    let [x, y, z, rows] = args.map(u64::from);
    assert!(x <= 65_535 && y <= 65_535 && z == 1);
    assert!(x * y * u64::from(params.workgroup_rows) >= rows, "{args:?}");
}
