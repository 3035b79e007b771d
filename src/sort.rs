//! How keys are sorted: the choice of a strategy, and into which digits and tiles it cuts them.

use crate::descriptor::SortStrategy;
use crate::reference::blocks::SortParams;
use crate::shaders::{self, Pass};

/// Keys of a tile: `SORT_TILE` in `shaders/sort_scatter.wgsl`.
pub(crate) const PORTABLE_TILE: u32 = 1920;
/// Keys of a tile: `SORT_TILE` in `shaders/sort_scatter_subgroups.wgsl`.
pub(crate) const SUBGROUPS_TILE: u32 = 3328;
/// Strips of a workgroup: `STRIPS` in `shaders/common/sort_strips.wgsl`.
pub(crate) const STRIPS: u32 = 8;
/// Bits of a digit that is counted in workgroup memory, at most.
pub(crate) const LOCAL_DIGIT_BITS: u32 = 8;
/// Keys of a strip: more make the counters few, fewer keep many processors busy. llvmpipe takes no more turns of a loop than
/// 65,535, and clearing the counters takes turns too.
const STRIP_KEYS: std::ops::RangeInclusive<u32> = 1024..=16_384;
/// Strips that keys are cut into where their length allows it.
const WANTED_STRIPS: u32 = 128;
const STRIP_DIGIT_BITS: u32 = 8;

/// The histogram and the scatter of a strategy.
pub(crate) struct Passes {
    pub histogram: &'static Pass,
    pub scatter: &'static Pass,
}

impl SortStrategy {
    /// What a device gets that asks for this.
    pub(crate) fn choose(self, features: wgpu::Features, info: &wgpu::AdapterInfo) -> Self {
        // naga's ballots have 32 lanes in MSL, and some GPUs of older Macs 64.
        let whole_ballots = info.backend != wgpu::Backend::Metal || info.subgroup_max_size <= 32;
        let has_subgroups = features.contains(wgpu::Features::SUBGROUP) && whole_ballots;
        match self {
            Self::Auto if info.device_type == wgpu::DeviceType::Cpu => Self::Strips,
            Self::Auto | Self::Subgroups if has_subgroups => Self::Subgroups,
            Self::Auto | Self::Subgroups | Self::Portable => Self::Portable,
            Self::Strips => Self::Strips,
        }
    }

    pub(crate) fn passes(self) -> Passes {
        match self {
            Self::Auto | Self::Portable => Passes {
                histogram: &shaders::SORT_HISTOGRAM,
                scatter: &shaders::SORT_SCATTER,
            },
            Self::Subgroups => Passes {
                histogram: &shaders::SORT_HISTOGRAM,
                scatter: &shaders::SORT_SCATTER_SUBGROUPS,
            },
            Self::Strips => Passes {
                histogram: &shaders::SORT_HISTOGRAM_STRIPS,
                scatter: &shaders::SORT_SCATTER_STRIPS,
            },
        }
    }

    /// Workgroups that all tiles take.
    pub(crate) fn groups(self, tiles: u32) -> u32 {
        match self {
            Self::Strips => tiles.div_ceil(STRIPS),
            _ => tiles,
        }
    }

    fn digit_bits(self) -> u32 {
        match self {
            Self::Strips => STRIP_DIGIT_BITS,
            _ => LOCAL_DIGIT_BITS,
        }
    }

    fn tile(self, keys: u32) -> u32 {
        match self {
            Self::Auto | Self::Portable => PORTABLE_TILE,
            Self::Subgroups => SUBGROUPS_TILE,
            Self::Strips => keys
                .div_ceil(WANTED_STRIPS)
                .clamp(*STRIP_KEYS.start(), *STRIP_KEYS.end()),
        }
    }

    /// The digits of keys of so many bits, lowest first: as few as there can be, and as wide as each other.
    pub(crate) fn digits(self, keys: u32, key_bits: u32) -> Vec<SortParams> {
        let tile = self.tile(keys);
        let count = key_bits.div_ceil(self.digit_bits());
        let each = key_bits.div_ceil(count.max(1));
        (0..count)
            .map(|digit| SortParams {
                shift: digit * each,
                bits: each.min(key_bits - digit * each),
                tile,
                tiles: keys.div_ceil(tile).max(1),
            })
            .collect()
    }
}

impl SortParams {
    /// The digits that a strategy sorts so many keys of so many bits by, lowest first. `Auto` stands for `Portable` here.
    pub fn digits_of(strategy: SortStrategy, keys: u32, key_bits: u32) -> Vec<Self> {
        strategy.digits(keys, key_bits)
    }
}

/// Words of the counts of the largest digit.
pub(crate) fn counter_words(digits: &[SortParams]) -> u32 {
    digits.iter().map(SortParams::counter_words).max().unwrap_or(0)
}

/// Bits of the keys below `count`.
pub(crate) const fn bits_below(count: u32) -> u32 {
    u32::BITS - count.saturating_sub(1).leading_zeros()
}
