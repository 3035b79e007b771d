//! The pass of the limits stage.

use crate::common::Rng;
use crate::harness::*;
use gpu_broad_phase::internals::blocks::LimitParams;
use gpu_broad_phase::internals::reference::limits::limit_asked;
use gpu_broad_phase::internals::shaders;

/// The first of so many rows are asked.
pub fn check_limit(bench: &mut Bench, rows: u32, stride: u32, limit: u32, rng: &mut Rng) {
    bench.scene = format!("{limit} of {rows} rows of {stride} vectors");
    let params = LimitParams {
        rows,
        stride,
        limit_word: 2,
        row_word: 4 * stride - 1 - rows % 3,
        value: 0x0dd5,
    };
    let given: Vec<u32> = (0..4 * stride * rows).map(|_| rng.bits() as u32).collect();
    let limits = [9, 7, limit];
    let found = bench.run(
        &shaders::LIMIT_ASKED,
        rows.div_ceil(256),
        uniform(&params),
        &[
            ("limits", bytes(&limits)),
            ("given", bytes(&given)),
            ("asked", poison::<u32>(given.len())),
        ],
    );
    found.check("asked", &limit_asked::limit_asked(&params, &limits, &given));
}
