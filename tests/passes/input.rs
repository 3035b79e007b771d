use crate::common::Rng;
use crate::harness::*;
use gpu_broad_phase::internals::blocks::{CENTER_HALF, CountParams, GatherParams, SourceLayout, UNFILTERED};
use gpu_broad_phase::internals::reference::input::{device_count, gather_input};
use gpu_broad_phase::internals::shaders;

pub fn check_count(bench: &mut Bench, rows: u32, stride: u32, limit: u32, rng: &mut Rng) {
    bench.scene = format!("{limit} of {rows} rows of {stride} vectors");
    let params = CountParams {
        rows,
        stride,
        limit_word: 2,
        row_word: 4 * stride - 1 - rows % 3,
        value: 0x0dd5,
    };
    let layout: Vec<u32> = (0..4 * stride * rows).map(|_| rng.bits() as u32).collect();
    let limits = [9, 7, limit];
    let found = bench.run(
        &shaders::DEVICE_COUNT,
        rows.div_ceil(256),
        uniform(&params),
        &[
            ("counts", bytes(&limits)),
            ("source", bytes(&layout)),
            ("gathered", poison::<u32>(layout.len())),
        ],
    );
    found.check("gathered", &device_count::device_count(&params, &limits, &layout));
}

pub fn strided(elements: u32, flags: u32, words: u32, rng: &mut Rng) -> (SourceLayout, Vec<u32>) {
    let is_tight = flags & UNFILTERED != 0 && rng.below(2) == 0;
    let element = if is_tight { 6 } else { words };
    let layout = SourceLayout {
        first: rng.below(9) as u32,
        stride: element + rng.below(5) as u32,
        second: if is_tight { 3 } else { 4 },
        flags,
    };
    let count = layout.first + layout.stride * elements.saturating_sub(1) + element * elements.min(1);
    let mut source_words: Vec<u32> = (0..count).map(|_| rng.bits() as u32).collect();
    for word in &mut source_words {
        *word = match rng.below(8) {
            0 => *word,
            1 => *word & 0x80ff_ffff,
            2 => *word & 0x8000_0000 | [0, 0x7f80_0000, 0x7f7f_ffff, 0x7fc0_0000, 0x0080_0000][rng.below(5)],
            _ => *word & 0x03ff_ffff | 0x3c00_0000,
        };
    }
    (layout, source_words)
}

pub fn check_gather(bench: &mut Bench, elements: u32, words: u32, limit: Option<u32>, rng: &mut Rng) {
    let all_flags: &[u32] = match words {
        8 => &[0, UNFILTERED, CENTER_HALF, CENTER_HALF | UNFILTERED],
        _ => &[0],
    };
    for &flags in all_flags {
        let (layout, source_words) = strided(elements, flags, words, rng);
        let params = GatherParams {
            elements,
            words,
            limit: limit.map_or(0, |_| 3),
            row_word: words - 1,
            value: 0x0dd5,
            ..layout.into()
        };
        bench.scene = format!("{limit:?} of {params:?}");
        let limits = [9, 7, limit.unwrap_or(0)];
        let found = bench.run(
            &shaders::GATHER_INPUT,
            (elements * words).div_ceil(256),
            uniform(&params),
            &[
                ("counts", bytes(&limits)),
                ("source", bytes(&source_words)),
                ("gathered", poison::<u32>((elements * words) as usize)),
            ],
        );
        found.check("gathered", &gather_input::gather_input(&params, &limits, &source_words));
    }
}
