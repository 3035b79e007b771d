//! The sort stage: stable radix sort of 32-bit keys with values, least significant digit first.
//!
//! Each digit takes a histogram pass, unless the pass that wrote the keys counted them, and a scatter pass, which also
//! computes offsets. On CPUs, serial tiles use one invocation per tile, and a separate pass computes offsets.

use crate::api::descriptor::SortStrategy;
use crate::gpu::adapter::DeviceClass;
use crate::gpu::buffers::{BufferId, Sizes, buffers};
use crate::gpu::device_context::DeviceContext;
use crate::gpu::passes::{Binds, Passes, Stage, variables};
use crate::gpu::shader::{Pass, passes};
use crate::gpu::upload::{Block, Blocks};
use crate::layout::blocks::SortParams;
use crate::layout::digits::{SERIAL_TILES, count_words, counts_buffer};

passes! {
    "sort" {
    SORT_HISTOGRAM = "sort_histogram";

    SORT_HISTOGRAM_SERIAL = "sort_histogram_serial";

    SORT_SCAN_SERIAL = "sort_scan_serial";

    SORT_SCATTER = "sort_scatter";

    SORT_SCATTER_SUBGROUPS = "sort_scatter_subgroups";

    SORT_SCATTER_SERIAL = "sort_scatter_serial";
    }
}

buffers! {
    /// Number of keys per digit value and tile; with serial tiles, offsets after a scan.
    COUNTS_0 = "digit_counts_0": Objects;
    COUNTS_1 = "digit_counts_1": Objects;
}

variables! {
    SORT = "sort";
    SORTED_KEYS = "sorted_keys";
    SORTED_VALUES = "sorted_values";
    KEYS = "keys";
    VALUES = "values";
    GRID = "grid";
    DIGIT_COUNTS = "digit_counts";
    NEXT_COUNTS = "next_counts";
}

use variable::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyValueBuffers {
    pub keys: BufferId,
    pub values: BufferId,
}

impl KeyValueBuffers {
    pub fn binds(self) -> [Binds; 2] {
        [KEYS.is(self.keys), VALUES.is(self.values)]
    }
}

/// Two pairs of key and value buffers. Each digit moves keys and values to the other pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PingPong(pub [KeyValueBuffers; 2]);

impl PingPong {
    pub const fn unsorted(self) -> KeyValueBuffers {
        self.0[0]
    }

    pub fn other(self, sorted: KeyValueBuffers) -> KeyValueBuffers {
        self.0[usize::from(sorted == self.0[0])]
    }

    pub const fn after(self, digits: usize) -> KeyValueBuffers {
        self.0[digits % 2]
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Digit {
    params: SortParams,
    block: Block,
    /// Buffers for this digit and the next.
    counts: [BufferId; 2],
}

const COUNTS: [BufferId; 2] = [buffer::COUNTS_0, buffer::COUNTS_1];

impl Digit {
    pub fn all(blocks: &mut Blocks, digits: Vec<SortParams>) -> Vec<Self> {
        let digits = digits.into_iter().enumerate().map(|(index, params)| {
            let own = counts_buffer(&params, index);
            Self {
                block: blocks.push(&params),
                params,
                counts: [COUNTS[own], COUNTS[1 - own]],
            }
        });
        digits.collect()
    }
}

pub(crate) fn sizes(count_words: [u32; 2]) -> Sizes {
    let bytes = count_words.map(|words| 4 * u64::from(words));
    COUNTS.into_iter().zip(bytes).collect()
}

pub(crate) fn clear_counts(passes: &mut Passes, digits: &[Digit]) {
    let tiles: Vec<_> = digits
        .iter()
        .map(|digit| digit.params)
        .filter(|digit| digit.tile > 0)
        .collect();
    for (id, words) in COUNTS
        .into_iter()
        .zip(count_words(&tiles))
        .filter(|(_, words)| *words > 0)
    {
        passes.clear_words(id, 0, words.into());
    }
}

pub(crate) fn counting(before_first: Block) -> [Binds; 2] {
    [SORT.is_block(before_first), NEXT_COUNTS.is(buffer::COUNTS_0)]
}

pub(crate) struct Sort {
    pub strategy: SortStrategy,
    pub ping_pong: PingPong,
    pub grid: BufferId,
    /// False if earlier passes counted the first digit.
    pub counts_first: bool,
}

impl Sort {
    pub fn record(&self, stage: &mut Stage, digits: &[Digit], unsorted: KeyValueBuffers) -> KeyValueBuffers {
        let passes = self.strategy.passes();
        let mut counts = self.counts_first;
        digits.iter().fold(unsorted, |from, digit| {
            let to = self.ping_pong.other(from);
            let [keys, values] = from.binds();
            let binds = [
                SORT.is_block(digit.block),
                GRID.is(self.grid),
                keys,
                values,
                SORTED_KEYS.is(to.keys),
                SORTED_VALUES.is(to.values),
                DIGIT_COUNTS.is(digit.counts[0]),
                NEXT_COUNTS.is(digit.counts[1]),
            ];
            let groups = self.strategy.groups(digit.params.tiles);
            if counts {
                stage.run_groups(passes.histogram, groups, &binds);
            }
            counts = digit.params.next_bits == 0;
            if let Some(scan) = passes.scan {
                stage.run_groups(scan, self.strategy.groups(1 << digit.params.bits), &binds);
            }
            stage.run_groups(passes.scatter, groups, &binds);
            to
        })
    }
}

pub(crate) struct DigitPasses {
    pub histogram: &'static Pass,
    /// Pass that turns counts into offsets; `None` if `scatter` does so.
    pub scan: Option<&'static Pass>,
    pub scatter: &'static Pass,
}

impl SortStrategy {
    /// The strategy for a device, which may lack what `self` needs.
    pub(crate) fn of(self, context: &DeviceContext) -> Self {
        let device = context.device();
        self.choose(context.class(), device.features(), &device.adapter_info())
    }

    fn choose(self, class: DeviceClass, features: wgpu::Features, info: &wgpu::AdapterInfo) -> Self {
        // In MSL, naga's ballots have 32 bits; subgroups of some older Macs have 64 invocations.
        let whole_ballots = info.backend != wgpu::Backend::Metal || info.subgroup_max_size <= 32;
        let has_subgroups = features.contains(wgpu::Features::SUBGROUP) && whole_ballots;
        match self {
            Self::Auto if class == DeviceClass::Software => Self::SerialTiles,
            Self::Auto | Self::Subgroups if has_subgroups => Self::Subgroups,
            Self::Auto | Self::Subgroups | Self::Portable => Self::Portable,
            Self::SerialTiles => Self::SerialTiles,
        }
    }

    pub(crate) fn passes(self) -> DigitPasses {
        match self {
            Self::Auto | Self::Portable => DigitPasses {
                histogram: &SORT_HISTOGRAM,
                scan: None,
                scatter: &SORT_SCATTER,
            },
            Self::Subgroups => DigitPasses {
                histogram: &SORT_HISTOGRAM,
                scan: None,
                scatter: &SORT_SCATTER_SUBGROUPS,
            },
            Self::SerialTiles => DigitPasses {
                histogram: &SORT_HISTOGRAM_SERIAL,
                scan: Some(&SORT_SCAN_SERIAL),
                scatter: &SORT_SCATTER_SERIAL,
            },
        }
    }

    /// Number of workgroups for `each` tiles or, in the scan, digit values.
    pub(crate) fn groups(self, each: u32) -> u32 {
        match self {
            Self::SerialTiles => each.div_ceil(SERIAL_TILES),
            _ => each,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_gets_the_strategy_that_it_can_run() {
        use wgpu::{Backend, DeviceType};
        let (with, without) = (wgpu::Features::SUBGROUP, wgpu::Features::empty());
        let info = |device_type, backend, lanes| wgpu::AdapterInfo {
            subgroup_max_size: lanes,
            ..wgpu::AdapterInfo::new(device_type, backend)
        };
        let software = info(DeviceType::Cpu, Backend::Vulkan, 8);
        let hardware = info(DeviceType::DiscreteGpu, Backend::Vulkan, 128);
        let wide_metal = info(DeviceType::DiscreteGpu, Backend::Metal, 64);
        let metal = info(DeviceType::IntegratedGpu, Backend::Metal, 32);
        for (info, features, expected) in [
            (&software, with, SortStrategy::SerialTiles),
            (&software, without, SortStrategy::SerialTiles),
            (&hardware, with, SortStrategy::Subgroups),
            (&hardware, without, SortStrategy::Portable),
            (&metal, with, SortStrategy::Subgroups),
            (&wide_metal, with, SortStrategy::Portable),
        ] {
            assert_eq!(
                SortStrategy::Auto.choose(DeviceClass::of(info), features, info),
                expected
            );
            assert_eq!(
                SortStrategy::Portable.choose(DeviceClass::of(info), features, info),
                SortStrategy::Portable
            );
            assert_eq!(
                SortStrategy::SerialTiles.choose(DeviceClass::of(info), features, info),
                SortStrategy::SerialTiles
            );
            let by_ballots = SortStrategy::Subgroups.choose(DeviceClass::of(info), features, info);
            let can = features == with && info.subgroup_max_size != 64;
            assert_eq!(by_ballots == SortStrategy::Subgroups, can);
            assert_ne!(by_ballots, SortStrategy::SerialTiles);
        }
    }
}
