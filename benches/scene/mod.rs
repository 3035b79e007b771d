use gpu_broad_phase::Aabb;
use measure::generate::{Distribution, Random};

pub fn uniform(count: u32) -> Vec<Aabb> {
    Distribution::Uniform.boxes(count, 3, &mut Random::new(1))
}
