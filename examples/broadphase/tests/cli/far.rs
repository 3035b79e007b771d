//! Coordinates far from zero, whose fractions `f32` does not hold.

use std::fmt::Write;

use crate::support::{Folder, npy, npy_header, pairs};

const CENTER: [f64; 3] = [448_000.0, 4_512_000.0, 100.0];
const SIZE: f64 = 12.0;
const SIDE: f64 = 0.1;

/// Decimals on a lattice of a millimetre, so that what touches differs clearly from what misses.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn position(&mut self) -> [f64; 3] {
        CENTER.map(|center| decimal(center + SIZE * self.unit()))
    }
}

fn decimal(number: f64) -> f64 {
    format!("{number:.3}").parse().unwrap()
}

fn table(rows: impl Iterator<Item = Vec<f64>>) -> String {
    rows.fold(String::new(), |mut text, row| {
        let words: Vec<_> = row.iter().map(f64::to_string).collect();
        writeln!(text, "{}", words.join(",")).unwrap();
        text
    })
}

type Boxed = [[f64; 3]; 2];

fn scene(folder: &Folder, random: &mut Random) -> Vec<Boxed> {
    let around = |low: [f64; 3]| [low, low.map(|value| decimal(value + SIDE))];
    let boxes: Vec<_> = (0..1000).map(|_| around(random.position())).collect();
    folder.write(
        "boxes.csv",
        table(boxes.iter().map(|boxed| boxed.as_flattened().to_vec())),
    );
    boxes
}

fn gap([a_min, a_max]: Boxed, [b_min, b_max]: Boxed) -> f64 {
    let gaps = (0..3).map(|axis| (a_min[axis] - b_max[axis]).max(b_min[axis] - a_max[axis]).max(0.0));
    gaps.fold(0.0, f64::hypot)
}

#[test]
fn boxes_that_are_apart_do_not_pair() {
    let folder = Folder::new();
    let boxes = scene(&folder, &mut Random(1));
    let mut expected = Vec::new();
    for b in 0..boxes.len() {
        let meets = |&a: &usize| gap(boxes[a], boxes[b]) == 0.0;
        expected.extend((0..b).filter(meets).map(|a| [a as u32, b as u32]));
    }
    expected.sort_unstable();
    assert!(expected.len() > 1);
    for scheme in [
        &["--scheme", "uniform", "--cell-size", "0.3"][..],
        &["--scheme", "adaptive"],
        &[],
    ] {
        let ran = folder.quietly(&[&["pairs", "boxes.csv"], scheme].concat());
        assert_eq!(
            (pairs(&ran.stdout), ran.stderr.as_str()),
            (expected.clone(), ""),
            "{scheme:?}"
        );
    }
    let [[a, _], apart] = [expected[0], [0, 1]];
    let near = (0..boxes.len()).find(|&b| b != a as usize && (0.01..0.2).contains(&gap(boxes[a as usize], boxes[b])));
    let asked = near.map_or(apart, |b| [a, b as u32]).map(|id| id.to_string());
    let why = folder.run(&["why", "boxes.csv", &asked[0], &asked[1]]).stdout;
    assert!(why.contains("are not a pair") && why.contains("apart along"), "{why}");
}

#[test]
fn rays_hit_the_boxes_they_meet() {
    let folder = Folder::new();
    let random = &mut Random(2);
    let boxes = scene(&folder, random);
    let down: Vec<_> = (0..500).map(|_| random.position()).collect();
    folder.write(
        "down.csv",
        table(down.iter().map(|&[x, y, _]| vec![x, y, 200.0, 0.0, 0.0, -1.0])),
    );
    let found = folder.cpu(&["rays", "boxes.csv", "down.csv"]);
    let mut hits = 0;
    for (line, &[x, y, _]) in found.lines().zip(&down) {
        let covers = |&&[min, max]: &&Boxed| min[0] <= x && x <= max[0] && min[1] <= y && y <= max[1];
        let top = boxes
            .iter()
            .filter(covers)
            .map(|[_, max]| max[2])
            .fold(f64::NEG_INFINITY, f64::max);
        let words: Vec<_> = line.split(',').collect();
        if top.is_finite() {
            let object: usize = words[1].parse().unwrap();
            assert_eq!(boxes[object][1][2], top, "{line}");
            hits += 1;
        } else {
            assert_eq!(words[1], "-1", "{line}");
        }
    }
    assert!(hits > 20, "{hits}");

    // Slanted rays through the middles of boxes. Row `i` aims at box `i`.
    let aims = boxes.iter().map(|[min, _]| {
        let way: [f64; 3] = std::array::from_fn(|_| decimal(2.0 * random.unit() - 1.0));
        let start = (0..3).map(|axis| min[axis] + SIDE / 2.0 - 8.0 * way[axis]);
        start.chain(way).chain([8.0]).collect()
    });
    folder.write("slanted.csv", table(aims));
    let found = pairs(&folder.cpu(&["rays", "boxes.csv", "slanted.csv", "--mode", "all"]));
    let missed = (0..boxes.len() as u32).filter(|&id| !found.contains(&[id, id]));
    assert_eq!(missed.collect::<Vec<_>>(), [0; 0]);
    let why = folder
        .run(&["why", "boxes.csv", "7", "--rays", "slanted.csv", "--ray", "7"])
        .stdout;
    assert!(why.starts_with("Ray 7 hits object 7 at t = 7.9"), "{why}");
}

#[test]
fn nearest_boxes_are_those_of_the_numbers_in_the_file() {
    let folder = Folder::new();
    let random = &mut Random(3);
    let boxes = scene(&folder, random);
    let points: Vec<_> = (0..300).map(|_| random.position()).collect();
    folder.write("points.csv", table(points.iter().map(|point| point.to_vec())));
    let found = folder.cpu(&["query", "boxes.csv", "points.csv", "--nearest", "1"]);
    for (line, &point) in found.lines().zip(&points) {
        let words: Vec<_> = line.split(',').collect();
        let [object, distance] = [1, 2].map(|word: usize| words[word].parse::<f64>().unwrap());
        let nearest = boxes
            .iter()
            .map(|&boxed| gap([point; 2], boxed))
            .fold(f64::INFINITY, f64::min);
        let of_object = gap([point; 2], boxes[object as usize]);
        assert!(
            of_object <= nearest + 1e-5 && (distance - nearest).abs() < 1e-5,
            "{line}: {nearest}"
        );
    }
    let why = folder
        .run(&["why", "boxes.csv", "0", "--boxes", "points.csv", "--query", "0"])
        .stdout;
    assert!(
        why.starts_with("Query 0 does not find object 0: the boxes are"),
        "{why}"
    );
}

#[test]
fn meshes_and_integers_far_away_keep_their_gaps() {
    let folder = Folder::new();
    let quad = |x: f64| {
        let corners = [[x, 0.0], [x + 0.25, 0.0], [x, 0.25]];
        corners
            .map(|[x, y]| format!("v {x} {} 5.5\n", 4_512_000.1 + y))
            .concat()
    };
    // The second triangle begins a centimetre behind the first, the third shares its corner.
    let text = [quad(448_000.1), quad(448_000.36), quad(448_000.61)].concat() + "f 1 2 3\nf 4 5 6\nf 7 8 9\n";
    folder.write("far.obj", text);
    folder.answers(&["pairs", "far.obj", "--local-ids"], "1,2\n", "");

    let rows = [
        [20_000_001_i64, 0, 20_000_002, 1],
        [20_000_003, 0, 20_000_004, 1],
        [20_000_004, 0, 20_000_005, 1],
    ];
    let bytes: Vec<_> = rows
        .as_flattened()
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    folder.write("nm.npy", npy(&npy_header("<i8", false, "(3, 4)"), &bytes));
    folder.answers(&["pairs", "nm.npy"], "1,2\n", "");
    let times = [[0_i64, 100], [200, 300]]
        .map(|[from, to]| [1_700_000_000_000_000_000 + from, 0, 1_700_000_000_000_000_000 + to, 1]);
    let bytes: Vec<_> = times
        .as_flattened()
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    folder.write("ns.npy", npy(&npy_header("<i8", false, "(2, 4)"), &bytes));
    let ran = folder.quietly(&["pairs", "ns.npy"]);
    assert!(ran.stderr.contains("integers above 2^53 are rounded"), "{}", ran.stderr);
}

#[test]
fn warnings_name_the_numbers_of_the_file() {
    let folder = Folder::new();
    folder.write(
        "boxes.csv",
        "500000.1,0,500000.2,1\n500000.3,0,500000.25,1\n500000.15,0,500000.4,1\n",
    );
    let warning = "the first in row 1: its min x 500000.3 is above its max 500000.25";
    folder.answers(&["pairs", "boxes.csv"], "0,2\n", warning);
}

#[test]
fn numbers_that_floats_hold_are_never_moved() {
    let folder = Folder::new();
    folder.write("boxes.csv", "500000,0,500000.5,1\n500000.5,0,500001,1\n");
    folder.write("exact.csv", "499990,0.5,1,0\n");
    folder.write("inexact.csv", "499990,0.3,1,0\n");
    for (rays, is_moved) in [("exact.csv", false), ("inexact.csv", true)] {
        let ran = folder.run(&["rays", "boxes.csv", rays, "--mode", "all", "--backend", "cpu"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (0, "0,0\n0,1\n"), "{}", ran.stderr);
        assert_eq!(
            ran.stderr.contains("coordinates are measured from 5000"),
            is_moved,
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn coarse_rounding_is_warned_of_with_both_figures() {
    let folder = Folder::new();
    // Boxes of 0.1 in a world of 2,000,000: no origin is near all of them.
    let row = |index: i32| format!("{x}.3,0,{x}.4,0.1\n", x = index * 20_000);
    folder.write("wide.csv", (0..100).map(row).collect::<String>());
    let ran = folder.quietly(&["pairs", "wide.csv"]);
    let warning = "wide.csv: coordinates are rounded to steps of up to 0.125, and the median side of boxes is 0.1";
    assert!(ran.stderr.contains(warning) && ran.stdout.is_empty(), "{}", ran.stderr);
}
