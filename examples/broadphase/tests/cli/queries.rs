//! Every scheme gives the same answers, on the CPU engine and on the adapter.

use crate::support::{Folder, pairs};

const SCHEMES: [&[&str]; 5] = [
    &[],
    &["--scheme", "uniform"],
    &["--scheme", "uniform", "--cell-size", "0.4"],
    &["--scheme", "adaptive"],
    &["--scheme", "adaptive", "--min-scale", "0.05"],
];

/// Checks that every scheme and both engines agree.
fn answer(folder: &Folder, arguments: &[&str]) -> Vec<[u32; 2]> {
    let expected = folder.cpu(arguments);
    for scheme in SCHEMES {
        let arguments = [arguments, scheme].concat();
        assert_eq!(folder.cpu(&arguments), expected, "{arguments:?}");
        let ran = folder.run_on_adapter(&arguments);
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
    // A box that only touches, a point in the second box, one that finds nothing, one that finds everything.
    folder.write(
        "asked.csv",
        "-1,0,0,0,1,1\n1.5,0.5,0.5,1.5,0.5,0.5\n3,3,3,4,4,4\n-9,-9,-9,9,9,inf\n",
    );
    let found = answer(&folder, &["query", "boxes.csv", "asked.csv"]);
    assert_eq!(found, [[0, 0], [1, 1], [3, 0], [3, 1], [3, 3]]);

    // A scene queried with itself: pairs from both sides, and each box with itself.
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
        "min_x,min_y,max_x,max_y,layers,group\n0,0,4,4,4294967295,0\n6,0,9,4,131074,0\n",
    );
    folder.write("asked.csv", "-1,0,1,1\n4,4,6,6\n");
    assert_eq!(
        answer(&folder, &["query", "flat.csv", "asked.csv"]),
        [[0, 0], [1, 0], [1, 1]]
    );
    // The first query is in layer 1 and meets only that; the second, layer 0.
    folder.write(
        "layered.csv",
        "min_x,min_y,max_x,max_y,layers,group\n4,4,6,6,131074,0\n4,4,6,6,65537,0\n",
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
    // Points 0 and 3 are neighbours across the periodic border in x.
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
fn all_images_within_the_radius_are_neighbors() {
    let folder = Folder::new();
    folder.write("two.csv", "0.5,0\n3,0\n");
    let neighbors = |radius: &str, options: &[&str]| {
        let arguments = [&["neighbors", "two.csv", "--period", "6", "--radius", radius], options].concat();
        let expected = folder.cpu(&arguments);
        assert_eq!(folder.run_on_adapter(&arguments).stdout, expected, "{arguments:?}");
        expected
    };
    let all = ["--distances", "--shifts"];
    assert_eq!(neighbors("3", &all), "0,1,2.5,0,0\n");
    assert_eq!(neighbors("3.5", &all), "0,1,3.5,-1,0\n0,1,2.5,0,0\n");
    assert_eq!(neighbors("3.5", &[]), "0,1\n0,1\n");
    assert_eq!(neighbors("3.5", &["--count-only"]), "2\n");
    assert_eq!(
        neighbors("3.5", &["--full", "--shifts"]),
        "0,1,-1,0\n0,1,0,0\n1,0,0,0\n1,0,1,0\n"
    );
    // Points are neighbours of their own images, once or in both directions.
    assert_eq!(
        neighbors("6", &["--shifts"]),
        "0,0,0,1\n0,0,1,0\n0,1,-1,0\n0,1,0,0\n1,1,0,1\n1,1,1,0\n"
    );
    assert_eq!(neighbors("6", &["--full", "--count-only"]), "12\n");
    // The nearest ones are points, each at its nearest image.
    let nearest = ["neighbors", "two.csv", "--period", "6", "--nearest", "2", "--distances"];
    assert_eq!(folder.cpu(&nearest), "0,1,2.5\n1,0,2.5\n");
}

/// Rows by brute force, with distances.
fn nearest(points: &[[f64; 3]], count: usize) -> String {
    let mut rows = String::new();
    for (row, from) in points.iter().enumerate() {
        let distance = |to: &[f64; 3]| (0..3).map(|axis| (to[axis] - from[axis]).powi(2)).sum::<f64>().sqrt();
        let others = points.iter().enumerate().filter(|(other, _)| *other != row);
        let mut others: Vec<_> = others.map(|(other, to)| (distance(to), other)).collect();
        others.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (distance, other) in &others[..count] {
            rows += &format!("{row},{other},{distance}\n");
        }
    }
    rows
}

#[test]
fn far_points_change_no_other_ones() {
    let folder = Folder::new();
    folder.generate(&[
        "points",
        "--count",
        "3000",
        "--side",
        "12",
        "--seed",
        "3",
        "-o",
        "points.csv",
    ]);
    let text = String::from_utf8(folder.read("points.csv")).unwrap();
    let radius = ["--radius", "0.5", "--distances"];
    let rows = |name: &str, options: &[&str]| folder.cpu(&[&["neighbors", name], options].concat());
    let expected = rows("points.csv", &radius);
    assert!(expected.lines().count() > 1000);
    let step = ["--radius", "0.5", "--count-only", "--snapshot", "step"];
    for (name, stray) in [
        ("one.csv", "1e10,1e10,1e10\n"),
        ("no_data.csv", "1,1,-3.4e38\n1,2,-3.4e38\n"),
        ("scales.csv", "1e3,0,0\n-1e7,0,0\n1e14,0,0\n0,-1e100,0\n0,0,1e300\n"),
    ] {
        folder.write(name, format!("{text}{stray}"));
        assert_eq!(rows(name, &radius), expected, "{name}");
        // Boxes around points overlap at up to twice as many pairs.
        folder.cpu(&[&["neighbors", name], &step[..]].concat());
        let replayed = folder.cpu(&["replay", "step"]);
        let pairs: usize = replayed
            .lines()
            .nth(1)
            .unwrap()
            .split_whitespace()
            .nth(4)
            .unwrap()
            .parse()
            .unwrap();
        assert!(pairs < 5 * expected.lines().count() / 2, "{name}: {replayed}");
        let near = ["--nearest", "3", "--radius", "0.5", "--distances"];
        assert_eq!(rows(name, &near), rows("points.csv", &near), "{name}");
    }
    // Clusters that f32 cannot resolve in one frame.
    let points: Vec<[f64; 3]> = text
        .lines()
        .take(1200)
        .enumerate()
        .map(|(row, line)| {
            let position: Vec<f64> = line.split(',').map(|number| number.parse().unwrap()).collect();
            let far = [0.0, 1e10, -3e11][row % 3];
            [position[0] + far, position[1], position[2] - far]
        })
        .collect();
    let text: String = points.iter().map(|[x, y, z]| format!("{x},{y},{z}\n")).collect();
    folder.write("clusters.csv", text);
    assert_eq!(
        rows("clusters.csv", &["--nearest", "5", "--distances"]),
        nearest(&points, 5)
    );
    // All are as near as can be, so the smallest rows are nearest.
    folder.write("same.csv", "1.5,2,3\n".repeat(2000));
    let same = rows("same.csv", &["--nearest", "2"]);
    assert!(same.starts_with("0,1\n0,2\n1,0\n1,2\n2,0\n2,1\n3,0\n3,1\n"), "{same}");
    assert_eq!(same.lines().count(), 4000);
}

#[test]
fn queries_reach_as_far_as_they_are_told_to() {
    let folder = Folder::new();
    folder.write("boxes.csv", "0,0,0,1,1,1\n3,0,0,4,1,1\n0,5,0,1,6,1\nnan,0,0,1,1,1\n");
    folder.write("asked.csv", "2,0.5,0.5\n-3,-4,1\n");
    fn query<'a>(options: &[&'a str]) -> Vec<&'a str> {
        [&["query", "boxes.csv", "asked.csv"], options].concat()
    }
    assert_eq!(answer(&folder, &query(&["--radius", "0.5"])), [[0; 2]; 0]);
    assert_eq!(answer(&folder, &query(&["--radius", "1"])), [[0, 0], [0, 1]]);
    assert_eq!(
        answer(&folder, &query(&["--radius", "5"])),
        [[0, 0], [0, 1], [0, 2], [1, 0]]
    );
    let lists = [
        (query(&["--nearest", "1"]), "0,0,1\n1,0,5\n"),
        (query(&["--nearest", "2", "--radius", "6"]), "0,0,1\n0,1,1\n1,0,5\n"),
    ];
    for (arguments, expected) in lists {
        assert_eq!(folder.cpu(&arguments), expected);
        assert_eq!(folder.run_on_adapter(&arguments).stdout, expected);
    }
    let everything = folder.cpu(&query(&["--nearest", "1024"]));
    assert_eq!(everything.lines().count(), 6);
    folder.cpu(&query(&["--nearest", "1", "-o", "near.npy"]));
    assert!(String::from_utf8_lossy(&folder.read("near.npy")).contains("'<f8'"));
}

#[test]
fn neighbors_tell_distances_images_and_both_sides() {
    let folder = Folder::new();
    folder.write("points.csv", "0.5,0\n9.5,0\n3.5,4\n-20.5,0\n");
    let neighbors = |options: &[&str]| {
        let arguments = [&["neighbors", "points.csv"], options].concat();
        let expected = folder.cpu(&arguments);
        assert_eq!(folder.run_on_adapter(&arguments).stdout, expected, "{options:?}");
        expected
    };
    assert_eq!(neighbors(&["--radius", "5", "--distances"]), "0,2,5\n");
    assert_eq!(neighbors(&["--radius", "5", "--full"]), "0,2\n2,0\n");
    let periodic = ["--radius", "1", "--period", "10", "--distances", "--shifts"];
    assert_eq!(neighbors(&periodic), "0,1,1,-1,0\n0,3,1,2,0\n1,3,0,3,0\n");
    let full = neighbors(&[&periodic[..], &["--full"]].concat());
    assert_eq!(
        full,
        "0,1,1,-1,0\n0,3,1,2,0\n1,0,1,1,0\n1,3,0,3,0\n3,0,1,-2,0\n3,1,0,-3,0\n"
    );
    assert_eq!(
        neighbors(&["--radius", "1", "--period", "10", "--shifts"]),
        "0,1,-1,0\n0,3,2,0\n1,3,3,0\n"
    );
    assert_eq!(
        neighbors(&["--nearest", "1", "--distances"]),
        "0,2,5\n1,2,7.211102550927978\n2,0,5\n3,0,21\n"
    );
    assert_eq!(neighbors(&["--nearest", "2", "--radius", "8"]), "0,2\n1,2\n2,0\n2,1\n");
}

#[test]
fn all_hits_come_with_t_and_along_the_ray() {
    let folder = Folder::new();
    folder.write("boxes.csv", "8,0,0,9,1,1\n5,0,0,6,1,1\n-1,0,0,1,1,1\n5,0,0,7,1,1\n");
    folder.write("rays.csv", "0,0.5,0.5,2,0,0,inf\n0,9,0,0,0,1,inf\n");
    let rays = |options: &[&str]| {
        let arguments = [&["rays", "boxes.csv", "rays.csv", "--mode", "all"], options].concat();
        let expected = folder.cpu(&arguments);
        assert_eq!(folder.run_on_adapter(&arguments).stdout, expected, "{options:?}");
        expected
    };
    assert_eq!(rays(&[]), "0,0\n0,1\n0,2\n0,3\n");
    assert_eq!(rays(&["--with-t"]), "0,0,4\n0,1,2.5\n0,2,0\n0,3,2.5\n");
    assert_eq!(rays(&["--along"]), "0,2\n0,1\n0,3\n0,0\n");
    assert_eq!(rays(&["--along", "--with-t"]), "0,2,0\n0,1,2.5\n0,3,2.5\n0,0,4\n");
    for option in ["--along", "--with-t"] {
        folder.refuses(&["rays", "boxes.csv", "rays.csv", option], &[option, "--mode all"]);
    }
}

#[test]
fn counts_are_those_of_the_rows() {
    let folder = Folder::new();
    folder.generate(&["clustered", "--count", "700", "--seed", "9", "-o", "boxes.npy"]);
    folder.generate(&[
        "rays", "--count", "200", "--seed", "9", "--side", "30", "-o", "rays.npy",
    ]);
    folder.generate(&[
        "points",
        "--count",
        "500",
        "--seed",
        "9",
        "--side",
        "9",
        "-o",
        "points.npy",
    ]);
    for arguments in [
        &["pairs", "boxes.npy"][..],
        &["pairs", "boxes.npy", "--margin", "0.5"],
        // Needs more entries than the initial capacity.
        &["pairs", "boxes.npy", "--scheme", "uniform", "--cell-size", "0.3"],
        &["rays", "boxes.npy", "rays.npy", "--mode", "all"],
        &["query", "boxes.npy", "boxes.npy"],
        &["query", "boxes.npy", "boxes.npy", "--radius", "1"],
        &["query", "boxes.npy", "boxes.npy", "--nearest", "3"],
        &["neighbors", "points.npy", "--radius", "1", "--full"],
        &["neighbors", "points.npy", "--nearest", "4"],
    ] {
        let rows = folder.cpu(arguments).lines().count();
        assert!(rows > 50, "{arguments:?}: {rows}");
        let counting = [arguments, &["--count-only"]].concat();
        assert_eq!(folder.cpu(&counting), format!("{rows}\n"), "{arguments:?}");
        let ran = folder.run_on_adapter(&counting);
        assert_eq!(
            (ran.status, ran.stdout),
            (0, format!("{rows}\n")),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
    let closest = ["rays", "boxes.npy", "rays.npy"];
    let rows = folder.cpu(&closest);
    let hits = rows.lines().filter(|row| !row.ends_with("inf")).count();
    assert!(hits > 10);
    assert_eq!(
        folder.cpu(&[&closest[..], &["--count-only"]].concat()),
        format!("{hits}\n")
    );
    folder.refuses(
        &["pairs", "boxes.npy", "--count-only", "-o", "rows.csv"],
        &["--count-only", "--output"],
    );
}

/// The far ray misses the first box: it leaves y <= 1 at t = 999999.75.
#[test]
fn rays_that_begin_near_the_scene_do_not_hit_what_far_ones_narrowly_miss() {
    let folder = Folder::new();
    folder.write("boxes.csv", "0,0,0,1,1,1\n9,9,9,13,13,13\n");
    for (ray, expected) in [
        ("-1000000,-999998.75,-1000000,1,1,1\n", "0,0,1000000\n"),
        ("-10,-8.75,-10,1,1,1\n", "0,1,19\n"),
    ] {
        folder.write("ray.csv", ray);
        for scheme in SCHEMES {
            let arguments = [&["rays", "boxes.csv", "ray.csv"], scheme].concat();
            assert_eq!(folder.cpu(&arguments), expected, "{arguments:?}");
        }
        let ran = folder.run_on_adapter(&["rays", "boxes.csv", "ray.csv"]);
        assert_eq!(ran.stdout, expected, "{}", ran.stderr);
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
    folder.write("layered.csv", "x,y,z,layers,group\n0,0,0,1,2\n");
    folder.refuses(&["query", "boxes.csv", "flat.csv"], &["flat.csv", "2D", "3D"]);
    folder.refuses(&["query", "flat.csv", "points.csv"], &["points.csv", "3D", "2D"]);
    folder.refuses(&["query", "boxes.csv", "none.csv"], &["none.csv"]);
    folder.refuses(&["query", "boxes.csv"], &["<BOXES>"]);
    folder.refuses(
        &["neighbors", "boxes.csv", "--radius", "1"],
        &["boxes.csv", "6 columns"],
    );
    folder.refuses(&["neighbors", "layered.csv", "--radius", "1"], &["layered.csv"]);
    folder.refuses(&["neighbors", "points.csv"], &["--radius"]);
    for radius in ["-1", "-1e3", "nan", "inf", "x"] {
        let named = format!("'{radius}' for '--radius");
        folder.refuses(
            &["neighbors", "points.csv", "--radius", radius],
            &[&named, "zero or more"],
        );
    }
    let negative = ["neighbors", "points.csv", "--radius", "1", "--period", "-1,2,2"];
    folder.refuses(&negative, &["'-1,2,2' for '--period", "zero or more"]);
    folder.refuses(&["neighbors", "points.csv", "--radius", "1", "--shifts"], &["--period"]);
    folder.refuses(
        &["query", "boxes.csv", "boxes.csv", "--nearest", "0"],
        &["--nearest", "1..=1024"],
    );
    folder.refuses(
        &["query", "boxes.csv", "boxes.csv", "--nearest", "2", "--margin", "1"],
        &["--margin"],
    );
    folder.refuses(
        &["neighbors", "points.csv", "--radius", "1", "--period", "1,2"],
        &["--period", "2 numbers", "use 1 or 3"],
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
