//! The boxes that benches step.

use gpu_broad_phase::Aabb;
use measure::generate::{Distribution, Random};

/// Boxes of similar size, the same ones each time.
pub fn uniform(count: u32) -> Vec<Aabb> {
    Distribution::Uniform.boxes(count, 3, &mut Random::new(1))
}
