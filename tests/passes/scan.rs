use crate::harness::*;
use gpu_broad_phase::internals::blocks::{SCAN_TILE, ScanParams};
use gpu_broad_phase::internals::reference::scan::{scan_apply, scan_reduce, scan_spine};
use gpu_broad_phase::internals::shaders;

pub fn check_scan(bench: &mut Bench, data: &[u32], spare: usize) {
    let count = data.len() - spare;
    bench.scene = format!("{count} words");
    let total = data[..count].iter().map(|&word| u64::from(word)).sum::<u64>();
    let exact = u32::try_from(total).unwrap_or(u32::MAX);
    for (total_word, capacity) in [(8, exact), (10, exact.saturating_sub(1)), (12, 1000)] {
        let scan = ScanParams {
            count: count as u32,
            total_word,
            capacity,
            status_bit: 2,
        };
        let tiles = count.div_ceil(SCAN_TILE);
        let mut sums = scan_reduce::scan_reduce(&scan, data);
        let reduced = bench.run(
            &shaders::SCAN_REDUCE,
            tiles.max(1) as u32,
            uniform(&scan),
            &[("data", bytes(data)), ("tile_sums", poison::<[u32; 2]>(tiles))],
        );
        reduced.check("tile_sums", &sums);
        let before = ("tile_sums", bytes(&sums));
        let mut counters = used_counters();
        scan_spine::scan_spine(&scan, &mut sums, &mut counters);
        let spine = bench.run(
            &shaders::SCAN_SPINE,
            1,
            uniform(&scan),
            &[before, ("counters", bytes(&used_counters()))],
        );
        spine.check("tile_sums", &sums);
        spine.check("counters", &counters);
        let mut expected = data.to_vec();
        scan_apply::scan_apply(&scan, &mut expected, &sums);
        let applied = bench.run(
            &shaders::SCAN_APPLY,
            tiles.max(1) as u32,
            uniform(&scan),
            &[("data", bytes(data)), ("tile_sums", bytes(&sums))],
        );
        applied.check("data", &expected);
    }
}
