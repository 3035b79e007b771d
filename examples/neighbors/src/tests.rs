use gpu_broad_phase::{BroadPhaseDescriptor, Pair, cpu};

use crate::{Lattice, Links, Spaces, Vector, distance, round_down, round_up};

struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn cloud(&mut self, count: usize, side: f64) -> Vec<Vector> {
        (0..count).map(|_| [0; 3].map(|_| self.next() * side)).collect()
    }
}

fn pairs(spaces: &Spaces<'_>) -> Vec<Pair> {
    let boxes = spaces.boxes();
    let descriptor = BroadPhaseDescriptor {
        worlds: boxes.world_count,
        ..Default::default()
    };
    let scene = gpu_broad_phase::Scene {
        objects: boxes.boxes[..].into(),
        worlds: boxes.worlds[..].into(),
        ..Default::default()
    };
    cpu::step_scene(&descriptor, &scene).unwrap().pairs
}

/// Also checks that few pairs had to be tested in f64.
fn near(points: &[Vector], worlds: Option<&[u32]>, lattice: Lattice, radius: f64) -> Vec<(u32, u32, Vector)> {
    let lattices = [lattice];
    let spaces = Spaces::new(points, worlds, &lattices, radius, 1 << 36).ok().unwrap();
    let is_near = |offset| distance(offset) <= radius;
    let found = pairs(&spaces);
    let links = Links::new(&spaces, &found, true, is_near);
    assert!(
        found.len() <= 3 * links.count() + 10,
        "{} pairs for {}",
        found.len(),
        links.count()
    );
    if let Some(tested) = spaces.tested_pairs() {
        assert_eq!(Links::new(&spaces, &tested, true, is_near).links, links.links);
    }
    let of_row = |row: usize| links.of(row).iter().map(move |&link| (row, link));
    let rows = (0..points.len()).flat_map(of_row);
    rows.map(|(row, link)| {
        let (other, shift, _) = spaces.follow(row, link);
        (row as u32, other, shift)
    })
    .collect()
}

fn expected(points: &[Vector], worlds: Option<&[u32]>, radius: f64) -> Vec<(u32, u32, Vector)> {
    let mut rows = Vec::new();
    for (a, from) in points.iter().enumerate() {
        for (b, to) in points.iter().enumerate().skip(a + 1) {
            let offset = std::array::from_fn(|axis| to[axis] - from[axis]);
            if distance(offset) <= radius && worlds.is_none_or(|worlds| worlds[a] == worlds[b]) {
                rows.push((a as u32, b as u32, [0.0; 3]));
            }
        }
    }
    rows
}

#[test]
fn no_distribution_makes_many_candidates() {
    let mut random = Random(1);
    let cloud = random.cloud(1000, 8.0);
    let with = |strays: &[Vector]| [&cloud[..], strays].concat();
    let mut scales = random.cloud(1000, 1.0);
    for point in &mut scales {
        let scale = 10_f64.powf(random.next() * 12.0 - 6.0);
        *point = point.map(|value| (value - 0.5) * scale);
    }
    let far = |by: Vector| move |point: &Vector| std::array::from_fn(|axis| point[axis] + by[axis]);
    let clusters = with(&cloud.iter().map(far([1e10, -3e11, 0.0])).collect::<Vec<_>>());
    let row: Vec<_> = (0..1000)
        .map(|place| [f64::from(place) * 1e7, 0.0, f64::from(place % 2)])
        .collect();
    for (name, points, radius) in [
        ("plain", cloud.clone(), 0.7),
        ("stray", with(&[[1e10; 3]]), 0.7),
        ("huge", with(&[[1e300, 0.0, 0.0], [-1.7e308, 1.7e308, 0.0]]), 0.7),
        (
            "no data",
            with(&[[1.0, 1.0, -3.4e38], [1.5, 1.0, -3.4e38], [9.0, 1.0, -3.4e38]]),
            0.7,
        ),
        ("scales", scales, 3e-3),
        ("clusters", clusters, 0.7),
        ("row", row, 1.5e7),
        ("same", vec![[1e9 + 0.1, 2.0, 3.0]; 40], 0.0),
        (
            "large",
            cloud.iter().map(|point| point.map(|value| value * 1e290)).collect(),
            7e289,
        ),
        (
            "small",
            cloud.iter().map(|point| point.map(|value| value * 1e-310)).collect(),
            7e-311,
        ),
    ] {
        let found = near(&points, None, Lattice::default(), radius);
        assert!(found == expected(&points, None, radius), "{name}");
        let worlds: Vec<_> = (0..points.len() as u32).map(|row| row * 7 % 3).collect();
        let found = near(&points, Some(&worlds), Lattice::default(), radius);
        assert!(found == expected(&points, Some(&worlds), radius), "{name}");
    }
}

#[test]
fn periods_and_a_stray_on_the_open_axis() {
    let mut random = Random(2);
    let mut points = random.cloud(1000, 8.0);
    let lattice = Lattice::new([[8.0, 0.0, 0.0], [1.0, 8.0, 0.0], [0.0; 3]]).unwrap();
    let alone = near(&points, None, lattice, 0.7);
    assert!(alone.iter().any(|(_, _, shift)| *shift != [0.0; 3]));
    // Shifts of 2^33 cells have a place, too.
    let far = 8.0 * (1_u64 << 33) as f64;
    points.extend([[1.0, 2.0, -3.4e38], [1.2, 2.0 + 8.0, -3.4e38], [far + 1.0, 2.0, 90.0]]);
    let mut found = near(&points, None, lattice, 1.0);
    found.retain(|&(a, _, _)| a >= 1000);
    assert_eq!(found.len(), 1, "{found:?}");
    points.truncate(1002);
    assert!(near(&points, None, lattice, 0.7) == alone);
}

#[test]
fn rounding_is_outward_and_exact_where_it_can_be() {
    assert_eq!(round_down(0.1), 0.1f32.next_down());
    assert_eq!(round_up(0.1), 0.1f32);
    assert_eq!(round_down(0.5), 0.5);
    assert_eq!(round_up(1e300), f32::INFINITY);
    assert_eq!(round_down(1e300), f32::MAX);
    assert_eq!(round_up(1e-60), f32::from_bits(1));
    assert!(round_up(f64::NAN).is_nan());
}
