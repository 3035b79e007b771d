//! Queries, neighbours and rays that ask for any hit: the same answer from every scheme, on the CPU and on the adapter.

mod support;

use support::{Folder, pairs};

const SCHEMES: [&[&str]; 5] = [
    &[],
    &["--scheme", "uniform"],
    &["--scheme", "uniform", "--cell-size", "0.4"],
    &["--scheme", "adaptive"],
    &["--scheme", "adaptive", "--min-scale", "0.05"],
];

/// What every scheme answers on both engines.
fn answer(folder: &Folder, arguments: &[&str]) -> Vec<[u32; 2]> {
    let expected = folder.cpu(arguments);
    for scheme in SCHEMES {
        let arguments = [arguments, scheme].concat();
        assert_eq!(folder.cpu(&arguments), expected, "{arguments:?}");
        let ran = folder.run(&arguments);
        assert_eq!(
            (ran.status, &ran.stdout),
            (0, &expected),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
    pairs(&expected)
}

#[test]
fn queries_find_what_touches_them() {
    let folder = Folder::new();
    folder.write("boxes.csv", "0,0,0,1,1,1\n1,0,0,2,1,1\nnan,0,0,1,1,1\n5,5,5,6,6,6\n");
    // A box that only touches, a point in the second box, nothing, everything.
    folder.write(
        "asked.csv",
        "-1,0,0,0,1,1\n1.5,0.5,0.5,1.5,0.5,0.5\n3,3,3,4,4,4\n-9,-9,-9,9,9,inf\n",
    );
    let found = answer(&folder, &["query", "boxes.csv", "asked.csv"]);
    assert_eq!(found, [[0, 0], [1, 1], [3, 0], [3, 1], [3, 3]]);

    // A scene asks itself: its pairs from both sides, and itself.
    folder.generate(&["lattice", "--count", "500", "--seed", "3", "-o", "lattice.npy"]);
    let both = answer(&folder, &["query", "lattice.npy", "lattice.npy"]);
    let once = pairs(&folder.cpu(&["pairs", "lattice.npy"]));
    assert_eq!(both.len(), 2 * once.len() + 500);
    assert!(
        once.iter()
            .all(|&[a, b]| both.binary_search(&[a, b]).is_ok() && both.binary_search(&[b, a]).is_ok())
    );
}

#[test]
fn queries_in_two_dimensions_and_with_layers() {
    let folder = Folder::new();
    folder.write(
        "flat.csv",
        "min_x,min_y,max_x,max_y,layers,owner\n0,0,4,4,4294967295,0\n6,0,9,4,131074,0\n",
    );
    folder.write("asked.csv", "-1,0,1,1\n4,4,6,6\n");
    assert_eq!(
        answer(&folder, &["query", "flat.csv", "asked.csv"]),
        [[0, 0], [1, 0], [1, 1]]
    );
    // A member of layer 1 that meets layer 1 alone, against one of layer 0 alone.
    folder.write(
        "layered.csv",
        "min_x,min_y,max_x,max_y,layers,owner\n4,4,6,6,131074,0\n4,4,6,6,65537,0\n",
    );
    assert_eq!(
        answer(&folder, &["query", "flat.csv", "layered.csv"]),
        [[0, 0], [0, 1], [1, 0]]
    );
}

#[test]
fn neighbors_are_told_once_a_pair() {
    let folder = Folder::new();
    folder.write("points.csv", "0,0,0\n1,0,0\n0,3,4\n9.5,0,0\nnan,0,0\n");
    assert_eq!(answer(&folder, &["neighbors", "points.csv", "--radius", "1"]), [[0, 1]]);
    assert_eq!(
        answer(&folder, &["neighbors", "points.csv", "--radius", "5"]),
        [[0, 1], [0, 2]]
    );
    // Around the border of x.
    let periodic = ["neighbors", "points.csv", "--radius", "1", "--period", "10,0,0"];
    assert_eq!(answer(&folder, &periodic), [[0, 1], [0, 3]]);
    folder.write("flat.csv", "0,0\n3,4\n0,9\n");
    let flat = ["neighbors", "flat.csv", "--radius", "5", "--period", "0,10"];
    assert_eq!(answer(&folder, &flat), [[0, 1], [0, 2]]);
}

#[test]
fn neighbors_of_many_points_are_those_of_the_definition() {
    let folder = Folder::new();
    folder.generate(&[
        "points",
        "--count",
        "800",
        "--side",
        "8",
        "--seed",
        "5",
        "-o",
        "points.csv",
    ]);
    let text = String::from_utf8(folder.read("points.csv")).unwrap();
    let points: Vec<Vec<f64>> = text
        .lines()
        .map(|line| line.split(',').map(|number| number.parse().unwrap()).collect())
        .collect();
    for period in [0.0, 8.0] {
        let apart = |a: f64, b: f64| match (a - b).abs() {
            apart if period > 0.0 => apart.min(period - apart),
            apart => apart,
        };
        let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(&a, &b)| apart(a, b).powi(2)).sum::<f64>().sqrt();
        let mut expected = Vec::new();
        for a in 0..points.len() {
            for b in a + 1..points.len() {
                let distance = distance(&points[a], &points[b]);
                assert!((distance - 1.25).abs() > 1e-6, "no case for a definition in f64");
                if distance < 1.25 {
                    expected.push([a as u32, b as u32]);
                }
            }
        }
        let periods = [0; 3].map(|_| period.to_string()).join(",");
        let arguments = ["neighbors", "points.csv", "--radius", "1.25", "--period", &periods];
        assert_eq!(answer(&folder, &arguments), expected);
    }
}

#[test]
fn rays_tell_whether_they_hit_anything() {
    let folder = Folder::new();
    folder.write("boxes.csv", "0,0,0,1,1,1\n5,0,0,6,1,1\n");
    folder.write(
        "rays.csv",
        "-1,0.5,0.5,1,0,0,inf\n-1,0.5,0.5,1,0,0,0.5\n3,9,9,0,-1,-1,inf\nnan,0,0,1,0,0,1\n5.5,0.5,0.5,0,0,0,0\n",
    );
    let found = answer(&folder, &["rays", "boxes.csv", "rays.csv", "--mode", "any"]);
    assert_eq!(found, [[0, 1], [1, 0], [2, 0], [3, 0], [4, 1]]);
}

#[test]
fn bad_queries_are_refused() {
    let folder = Folder::new();
    folder.write("boxes.csv", "0,0,0,1,1,1\n");
    folder.write("flat.csv", "0,0,1,1\n");
    folder.write("points.csv", "0,0,0\n1,1,1\n");
    folder.write("layered.csv", "x,y,z,layers,owner\n0,0,0,1,2\n");
    folder.refuses(&["query", "boxes.csv", "flat.csv"], &["flat.csv", "2D", "3D"]);
    folder.refuses(&["query", "boxes.csv", "points.csv"], &["points.csv", "3 columns"]);
    folder.refuses(&["query", "boxes.csv", "none.csv"], &["none.csv"]);
    folder.refuses(&["query", "boxes.csv"], &["<BOXES>"]);
    folder.refuses(
        &["neighbors", "boxes.csv", "--radius", "1"],
        &["boxes.csv", "6 columns"],
    );
    folder.refuses(&["neighbors", "layered.csv", "--radius", "1"], &["layered.csv"]);
    folder.refuses(&["neighbors", "points.csv"], &["--radius"]);
    for radius in ["-1", "nan", "inf", "x"] {
        let radius = format!("--radius={radius}");
        folder.refuses(&["neighbors", "points.csv", &radius], &["zero or above"]);
    }
    folder.refuses(
        &["neighbors", "points.csv", "--radius", "1", "--period", "1,2"],
        &["--period", "2 numbers", "3D"],
    );
    folder.refuses(
        &["neighbors", "points.csv", "--radius", "1", "--period", "1,2,1e-40"],
        &["period"],
    );
    folder.refuses(
        &["neighbors", "points.csv", "--radius", "1", "--dimensions", "2"],
        &["points.csv", "3D"],
    );
}
