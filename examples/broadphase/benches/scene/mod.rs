//! The boxes that benches step.

use gpu_broad_phase::Aabb;

#[allow(
    dead_code,
    unused_imports,
    reason = "the generator of the command line has more than is measured"
)]
#[path = "../../src/generate/boxes.rs"]
mod boxes;
#[allow(dead_code, reason = "the generator of the command line has more than is measured")]
#[path = "../../src/generate/random.rs"]
mod random;

use random::Random;

/// Boxes of similar size, the same ones each time.
pub fn uniform(count: u32) -> Vec<Aabb> {
    let rows = boxes::uniform(count, 3, &mut Random::new(1));
    rows.chunks_exact(6)
        .map(|row| Aabb::new([row[0], row[1], row[2]], [row[3], row[4], row[5]]))
        .collect()
}
