//! Random numbers, the same on every machine and with every version of the crates below.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

pub struct Random(ChaCha8Rng);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Uniform in 0 to 1, excluding 1.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    pub fn between(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.unit()
    }

    /// Uniform below `bound`; the bias of 2^-32 does not matter here.
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.0.next_u32()) * u64::from(bound)) >> 32) as u32
    }

    /// Approximates a normal distribution of deviation 1 without transcendental functions.
    pub fn bell(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// Uniform on the unit sphere, or the unit circle of the first two axes.
    pub fn direction(&mut self, axes: usize) -> [f64; 3] {
        loop {
            let mut vector = [0.0; 3];
            for value in vector.iter_mut().take(axes) {
                *value = self.between(-1.0, 1.0);
            }
            let square: f64 = vector.iter().map(|value| value * value).sum();
            if (1e-6..=1.0).contains(&square) {
                return vector.map(|value| value / square.sqrt());
            }
        }
    }
}
