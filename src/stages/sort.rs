//! How keys are sorted: the choice of a strategy, and into which digits and tiles it cuts them.

use crate::api::descriptor::SortStrategy;
use crate::shaders::{self, Pass};
use crate::shared::blocks::SortParams;

/// Keys of a tile: `SORT_TILE` in `shaders/sort/sort_scatter.wgsl`.
pub(crate) const PORTABLE_TILE: u32 = 1920;
/// Keys of a tile: `SORT_TILE` in `shaders/sort/sort_scatter_subgroups.wgsl`.
pub(crate) const SUBGROUPS_TILE: u32 = 3328;
/// Bits of a digit that is counted in workgroup memory, at most.
const LOCAL_DIGIT_BITS: u32 = 8;
/// Invocations of a workgroup of the passes of strips: `STRIPS` in `shaders/sort/sort_strips.wgsl`.
pub(crate) const STRIPS: u32 = 8;
/// Bits of a digit that strips are sorted by, at most. With more the places that are written next outgrow the caches.
const STRIP_DIGIT_BITS: u32 = 11;
/// Keys of a strip, about: as many as make its counters few, and not more, since each processor takes [`STRIPS`] at
/// once.
const STRIP_KEYS: std::ops::RangeInclusive<u32> = 4096..=8192;
/// Strips that keys are cut into at least, a multiple of which it always is: two processors full.
const FEWEST_STRIPS: u32 = 2 * STRIPS;
/// Strips at most, of which a loop takes a turn each: llvmpipe takes 65,535.
const MOST_STRIPS: u32 = 1 << 15;

/// The passes of a strategy.
pub(crate) struct Passes {
    pub histogram: &'static Pass,
    pub scan: &'static Pass,
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
                scan: &shaders::SORT_SCAN,
                scatter: &shaders::SORT_SCATTER,
            },
            Self::Subgroups => Passes {
                histogram: &shaders::SORT_HISTOGRAM,
                scan: &shaders::SORT_SCAN,
                scatter: &shaders::SORT_SCATTER_SUBGROUPS,
            },
            Self::Strips => Passes {
                histogram: &shaders::SORT_HISTOGRAM_STRIPS,
                scan: &shaders::SORT_SCAN_STRIPS,
                scatter: &shaders::SORT_SCATTER_STRIPS,
            },
        }
    }

    /// Workgroups that so many tiles take, or so many digits of the scan.
    pub(crate) fn groups(self, each: u32) -> u32 {
        match self {
            Self::Strips => each.div_ceil(STRIPS),
            _ => each,
        }
    }

    /// The digits of keys of so many bits, lowest first, as wide as each other.
    pub(crate) fn digits(self, keys: u32, key_bits: u32) -> Vec<SortParams> {
        if key_bits == 0 {
            return Vec::new();
        }
        let count = match self {
            Self::Strips => {
                // What moving the keys takes, counting in a table of that size, and starting passes.
                let words = |&count: &u32| {
                    let bits = key_bits.div_ceil(count);
                    let counting = (10 * u64::from(strips(keys, bits) + 1)) << bits;
                    u64::from(count) * (9 * u64::from(keys) + counting + 100_000)
                };
                let counts = key_bits.div_ceil(STRIP_DIGIT_BITS)..=key_bits.div_ceil(LOCAL_DIGIT_BITS);
                counts.min_by_key(words).unwrap_or(1)
            }
            _ => key_bits.div_ceil(LOCAL_DIGIT_BITS),
        };
        let each = key_bits.div_ceil(count);
        let (tile, tiles) = match self {
            Self::Auto | Self::Portable => (PORTABLE_TILE, keys.div_ceil(PORTABLE_TILE)),
            Self::Subgroups => (SUBGROUPS_TILE, keys.div_ceil(SUBGROUPS_TILE)),
            // Keys may be fewer than there is room for, and all processors are to have their share.
            Self::Strips => (0, strips(keys, each)),
        };
        (0..count)
            .map(|digit| SortParams {
                shift: digit * each,
                bits: each.min(key_bits - digit * each),
                tile,
                tiles: tiles.max(1),
            })
            .collect()
    }
}

/// Strips that keys are cut into where a digit has so many bits.
fn strips(keys: u32, bits: u32) -> u32 {
    let tile = (4u32 << bits).clamp(*STRIP_KEYS.start(), *STRIP_KEYS.end());
    let wanted = keys.div_ceil(tile).next_multiple_of(FEWEST_STRIPS);
    wanted.clamp(FEWEST_STRIPS, MOST_STRIPS)
}

impl SortParams {
    /// The digits that a strategy sorts so many keys of so many bits by, lowest first. `Auto` stands for `Portable`
    /// here.
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
            (&software, with, SortStrategy::Strips),
            (&software, without, SortStrategy::Strips),
            (&hardware, with, SortStrategy::Subgroups),
            (&hardware, without, SortStrategy::Portable),
            (&metal, with, SortStrategy::Subgroups),
            (&wide_metal, with, SortStrategy::Portable),
        ] {
            assert_eq!(SortStrategy::Auto.choose(features, info), expected);
            assert_eq!(SortStrategy::Portable.choose(features, info), SortStrategy::Portable);
            assert_eq!(SortStrategy::Strips.choose(features, info), SortStrategy::Strips);
            let by_ballots = SortStrategy::Subgroups.choose(features, info);
            let can = features == with && info.subgroup_max_size != 64;
            assert_eq!(by_ballots == SortStrategy::Subgroups, can);
            assert_ne!(by_ballots, SortStrategy::Strips);
        }
    }

    #[test]
    fn counters_take_few_words_a_key() {
        for strategy in [SortStrategy::Portable, SortStrategy::Subgroups, SortStrategy::Strips] {
            for keys in [100_000, 250_000, 1_000_000, 4_000_000] {
                for bits in 12..=26 {
                    let words = counter_words(&strategy.digits(keys, bits));
                    assert!(
                        words < keys / 2,
                        "{strategy:?}, {keys} keys of {bits} bits: {words} words"
                    );
                }
            }
        }
    }
}
