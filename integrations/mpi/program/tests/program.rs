use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use gpu_broad_phase::{Aabb, cpu};

fn run(ranks: usize, arguments: &[&str]) -> Output {
    // Open MPI shares one session folder between a user's runs. The first run to end removes it.
    let sessions = tempfile::tempdir().unwrap();
    Command::new("mpirun")
        .env("TMPDIR", sessions.path())
        .args(["--allow-run-as-root", "--oversubscribe", "--timeout", "600"])
        .args(["-n", &ranks.to_string()])
        .arg(env!("CARGO_BIN_EXE_broadphase-mpi"))
        .args(arguments)
        .args(["--backend", "cpu"])
        .output()
        .expect("mpirun starts")
}

/// Numbers in [0, 1), by splitmix64.
fn numbers(seed: u64) -> impl Iterator<Item = f32> {
    (1..).map(move |at: u64| {
        let mut z = seed.wrapping_add(at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / (1 << 24) as f32
    })
}

fn npy(path: &Path, columns: usize, values: &[f32]) {
    npy_of(path, "<f4", columns, values);
}

fn npy_of<T: bytemuck::Pod>(path: &Path, kind: &str, columns: usize, values: &[T]) {
    let shape = format!("({}, {columns})", values.len() / columns);
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    file.extend(format!("{header:<117}\n").bytes());
    assert_eq!(file.len(), 128);
    file.extend(bytemuck::cast_slice(values));
    fs::write(path, file).unwrap();
}

fn boxes(count: usize) -> Vec<f32> {
    let mut numbers = numbers(5);
    let mut next = || numbers.next().unwrap();
    (0..count)
        .flat_map(|_| {
            let low = [0; 3].map(|_| 12.0 * next());
            let high = low.map(|low| low + 2.0 * next());
            [low, high].concat()
        })
        .collect()
}

#[test]
fn files_are_the_same_on_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let given = boxes(1500);
    npy(Path::new(&at("boxes.npy")), 6, &given);
    let mut next = numbers(8);
    let rays: Vec<_> = (0..200)
        .flat_map(|_| {
            let mut next = || next.next().unwrap();
            let from = [0; 3].map(|_| 12.0 * next());
            let way = [0; 3].map(|_| next() - 0.5);
            [&from[..], &way, &[f32::INFINITY]].concat()
        })
        .collect();
    npy(Path::new(&at("rays.npy")), 7, &rays);
    npy(Path::new(&at("queries.npy")), 6, &boxes(150));
    let points: Vec<_> = given.chunks(6).flat_map(|row| row[..3].to_vec()).collect();
    npy(Path::new(&at("points.npy")), 3, &points);
    let [boxes, rays, queries, points] = ["boxes", "rays", "queries", "points"].map(|name| at(&format!("{name}.npy")));
    let commands: [&[&str]; 8] = [
        &["pairs", &boxes],
        &[
            "pairs",
            &boxes,
            "--margin",
            "0.5",
            "--scheme",
            "uniform",
            "--cell-size",
            "2",
        ],
        &["rays", &boxes, &rays],
        &["rays", &boxes, &rays, "--mode", "any"],
        &["rays", &boxes, &rays, "--mode", "all"],
        &["query", &boxes, &queries, "--radius", "0.5"],
        &["query", &boxes, &queries, "--nearest", "7"],
        &["neighbors", &points, "--radius", "1", "--period", "12", "--full"],
    ];
    for (number, command) in commands.iter().enumerate() {
        let mut files = Vec::new();
        for ranks in [1, 2, 3, 8] {
            let output = at(&format!("{number}-{ranks}.npy"));
            let done = run(ranks, &[command, &["-o", output.as_str()][..]].concat());
            let told = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "{command:?} on {ranks} ranks: {told}");
            assert!(told.contains("mean ms"), "a table of stages: {told}");
            files.push(fs::read(&output).unwrap());
        }
        assert!(files[0].len() > 1000, "{command:?} finds something");
        assert!(files.iter().all(|file| *file == files[0]), "{command:?}");
    }
    let objects: Vec<_> = given
        .chunks(6)
        .map(|row| Aabb::new([row[0], row[1], row[2]], [row[3], row[4], row[5]]))
        .collect();
    let mut expected: Vec<_> = cpu::step(&Default::default(), &objects, &[])
        .unwrap()
        .pairs
        .iter()
        .map(|pair| [u64::from(pair.a), u64::from(pair.b)])
        .collect();
    expected.sort_unstable();
    let file = fs::read(at("0-3.npy")).unwrap();
    assert_eq!(bytemuck::pod_collect_to_vec::<u8, [u64; 2]>(&file[128..]), expected);
}

#[test]
fn bad_input_on_any_rank_ends_all_with_one_message_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    npy(Path::new(&at("good.npy")), 6, &boxes(50));
    npy(Path::new(&at("columns.npy")), 5, &boxes(50)[..250]);
    let whole = fs::read(at("good.npy")).unwrap();
    fs::write(at("short.npy"), &whole[..whole.len() - 4]).unwrap();
    let headed = |header: &str| [b"\x93NUMPY\x01\x00\x76\x00", format!("{header:<117}\n").as_bytes()].concat();
    fs::write(at("deep.npy"), headed(&["{".repeat(30), "}".repeat(30)].concat())).unwrap();
    let huge = "{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551615, 6), }";
    fs::write(at("huge.npy"), headed(huge)).unwrap();
    fs::write(at("text.npy"), "1,2,3,4,5,6\n").unwrap();
    let spoiled = |name: &str, columns: usize, row: usize, column: usize, number: f32| {
        let mut numbers = boxes(50);
        if columns == 4 {
            numbers = numbers
                .chunks(6)
                .flat_map(|row| [row[0], row[1], row[3], row[4]])
                .collect();
        }
        numbers.truncate(numbers.len() / columns * columns);
        numbers[columns * row + column] = number;
        npy(Path::new(&at(name)), columns, &numbers);
    };
    // Rank 0 of 3 reads 16 of 50 rows, the others 17 each.
    spoiled("nan.npy", 6, 0, 5, f32::NAN);
    spoiled("inverted.npy", 6, 49, 0, 99.0);
    spoiled("flat.npy", 4, 40, 1, 99.0);
    spoiled("nan-rays.npy", 7, 30, 3, f32::NAN);
    spoiled("far-rays.npy", 7, 2, 1, f32::INFINITY);
    spoiled("long-rays.npy", 7, 2, 4, f32::MAX);
    spoiled("nan-points.npy", 3, 99, 2, f32::NAN);
    let cases: [(&[&str], &str); 22] = [
        (&["pairs", "nan.npy"], "nan.npy: row 0 has a NaN"),
        (
            &["pairs", "inverted.npy"],
            "inverted.npy: row 49 has a min above its max",
        ),
        (&["pairs", "flat.npy"], "flat.npy: row 40 has a min above its max"),
        (&["rays", "nan.npy", "good-rays.npy"], "nan.npy: row 0 has a NaN"),
        (
            &["query", "inverted.npy", "good.npy"],
            "inverted.npy: row 49 has a min above its max",
        ),
        (&["query", "good.npy", "nan.npy"], "nan.npy: row 0 has a NaN"),
        (&["rays", "good.npy", "nan-rays.npy"], "nan-rays.npy: row 30 has a NaN"),
        (
            &["rays", "good.npy", "far-rays.npy"],
            "far-rays.npy: row 2 has an origin that is not finite",
        ),
        (
            &["rays", "good.npy", "long-rays.npy"],
            "long-rays.npy: row 2 has a direction past 2^126",
        ),
        (
            &["neighbors", "nan-points.npy", "--radius", "1"],
            "nan-points.npy: row 99 has a number that is not finite",
        ),
        (&["query", "good.npy", "good.npy", "--radius", "nan"], "--radius is NaN"),
        (&["pairs", "none.npy"], "No such file"),
        (&["pairs", "columns.npy"], "5 columns"),
        (&["pairs", "short.npy"], "do not make"),
        (&["pairs", "deep.npy"], "a broken header"),
        (&["pairs", "huge.npy"], "a broken header"),
        (&["pairs", "text.npy"], "not an NPY file"),
        (&["pairs", "good.npy", "--margin", "nan"], "margin"),
        (&["rays", "good.npy", "good.npy"], "6 columns, not 7"),
        (&["query", "good.npy", "good.npy", "--nearest", "0"], "nearest"),
        (&["neighbors", "good.npy", "--radius", "1"], "6 columns"),
        (
            &["pairs", "good.npy", "--scheme", "uniform", "--cell-size", "0"],
            "cell",
        ),
    ];
    for (command, wanted) in cases {
        let named: Vec<_> = command
            .iter()
            .map(|argument| {
                if argument.ends_with(".npy") {
                    at(argument)
                } else {
                    (*argument).to_owned()
                }
            })
            .collect();
        let named: Vec<_> = named.iter().map(String::as_str).collect();
        let output = at("result.npy");
        let done = run(3, &[&named[..], &["-o", &output]].concat());
        let told = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{command:?}: {told}");
        let ours: Vec<_> = told
            .lines()
            .filter(|line| line.starts_with("broadphase-mpi: "))
            .collect();
        let begins = |line: &str| line.starts_with("broadphase-mpi: rank ");
        assert!(
            ours.len() == 1 && begins(ours[0]) && ours[0].contains(wanted),
            "{command:?}: {told}"
        );
        assert!(
            !Path::new(&output).exists() && !Path::new(&at("result.npy.part")).exists(),
            "{command:?}"
        );
    }
    let done = run(2, &["pairs", &at("good.npy"), "-o", "/nowhere/at/all.npy"]);
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.code() == Some(2) && told.contains("/nowhere/at/all.npy"),
        "{told}"
    );
}

#[test]
fn an_output_that_is_an_input_is_refused_by_path_and_by_link() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    npy(Path::new(&at("boxes.npy")), 6, &boxes(50));
    let points: Vec<_> = boxes(50).chunks(6).flat_map(|row| row[..3].to_vec()).collect();
    npy(Path::new(&at("points.npy")), 3, &points);
    let rays: Vec<_> = boxes(7).into_iter().chain([1.0; 7]).collect();
    npy(Path::new(&at("rays.npy")), 7, &rays);
    std::os::unix::fs::symlink(at("boxes.npy"), at("symbolic.npy")).unwrap();
    fs::hard_link(at("boxes.npy"), at("hard.npy")).unwrap();
    fs::copy(at("boxes.npy"), at("other.npy.part")).unwrap();
    let before: Vec<_> = ["boxes.npy", "points.npy", "rays.npy", "other.npy.part"]
        .map(|name| (name, fs::read(at(name)).unwrap()))
        .into();
    let cases: [&[&str]; 9] = [
        &["pairs", "boxes.npy", "boxes.npy"],
        &["pairs", "boxes.npy", "./boxes.npy"],
        &["pairs", "boxes.npy", "symbolic.npy"],
        &["pairs", "symbolic.npy", "boxes.npy"],
        &["pairs", "boxes.npy", "hard.npy"],
        &["pairs", "other.npy.part", "other.npy"],
        &["rays", "boxes.npy", "rays.npy", "rays.npy"],
        &["query", "points.npy", "boxes.npy", "boxes.npy"],
        &["neighbors", "points.npy", "points.npy", "--radius", "1"],
    ];
    for case in cases {
        let (inputs, options) = case.split_at(case.iter().position(|word| word.starts_with('-')).unwrap_or(case.len()));
        let (output, inputs) = inputs.split_last().unwrap();
        let mut words = vec![inputs[0].to_owned()];
        words.extend(inputs[1..].iter().map(|name| at(name)));
        words.extend(["-o".to_owned(), at(output)]);
        words.extend(options.iter().map(|&word| word.to_owned()));
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let done = run(3, &words);
        let told = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{case:?}: {told}");
        assert!(told.contains("would replace the input"), "{case:?}: {told}");
        for (name, bytes) in &before {
            assert!(fs::read(at(name)).unwrap() == *bytes, "{case:?}: {name} has changed");
        }
        assert!(
            fs::symlink_metadata(at("symbolic.npy")).unwrap().is_symlink(),
            "{case:?}"
        );
        let parts = fs::read_dir(folder.path()).unwrap().filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_str().unwrap().ends_with(".part")
        });
        assert_eq!(parts.count(), 1, "{case:?}");
    }
    let done = run(3, &["pairs", &at("symbolic.npy"), "-o", &at("pairs.npy")]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Random numbers of 48 bits.
fn doubles(seed: u64) -> impl FnMut() -> f64 {
    let mut numbers = numbers(seed);
    move || {
        let [high, low] = [0; 2].map(|_| f64::from(numbers.next().unwrap()));
        high + low * (-24f64).exp2()
    }
}

/// Runs the command on 1 and 3 ranks, with equal rows. Also returns the messages.
fn rows<T: bytemuck::Pod>(command: &[&str], output: &str) -> (Vec<T>, String) {
    let mut found: Vec<(Vec<u8>, String)> = Vec::new();
    for ranks in [1, 3] {
        let done = run(ranks, &[command, &["-o", output]].concat());
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{command:?} on {ranks} ranks: {told}");
        found.push((fs::read(output).unwrap(), told));
    }
    assert!(found[0].0 == found[1].0, "{command:?}");
    let (file, told) = found.remove(1);
    (bytemuck::pod_collect_to_vec(&file[128..]), told)
}

#[test]
fn doubles_far_from_zero_give_the_answers_of_doubles() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut next = doubles(66);
    let corner = [500_000.0, 4_500_000.0, 100.0];
    let mut place = || [0, 1, 2].map(|axis| corner[axis] + [20.0, 20.0, 6.0][axis] * next());
    let boxes: Vec<[[f64; 3]; 2]> = (0..2000)
        .map(|_| place())
        .map(|low| [low, low.map(|low| low + 0.1)])
        .collect();
    let places: Vec<[f64; 3]> = (0..500).map(|_| place()).collect();
    let middles = boxes.iter().map(|[low, _]| low.map(|low| low + 0.05));
    let aimed: Vec<f64> = middles
        .flat_map(|middle| {
            let from = [0, 1, 2].map(|axis| corner[axis] + 100.0 * next() - 50.0);
            let way = [0, 1, 2].map(|axis| middle[axis] - from[axis]);
            [&from[..], &way, &[1.1]].concat()
        })
        .collect();
    let down: Vec<f64> = places
        .iter()
        .flat_map(|place| [place[0], place[1], 150.0, 0.0, 0.0, -1.0, f64::INFINITY])
        .collect();
    let points: Vec<_> = places.iter().flat_map(|&place| [place, place].concat()).collect();
    npy_of(
        Path::new(&at("boxes.npy")),
        "<f8",
        6,
        boxes.as_flattened().as_flattened(),
    );
    npy_of(Path::new(&at("aimed.npy")), "<f8", 7, &aimed);
    npy_of(Path::new(&at("down.npy")), "<f8", 7, &down);
    npy_of(Path::new(&at("points.npy")), "<f8", 6, &points);
    let [file, aimed, down, points] = ["boxes", "aimed", "down", "points"].map(|name| at(&format!("{name}.npy")));
    let output = at("result.npy");

    let meet =
        |a: &[[f64; 3]; 2], b: &[[f64; 3]; 2]| (0..3).all(|axis| a[0][axis] <= b[1][axis] && b[0][axis] <= a[1][axis]);
    let mut expected = Vec::new();
    for a in 0..boxes.len() {
        for b in a + 1..boxes.len() {
            if meet(&boxes[a], &boxes[b]) {
                expected.extend([a as u64, b as u64]);
            }
        }
    }
    assert!((6..40).contains(&expected.len()), "{expected:?}");
    for scheme in ["hierarchical", "uniform", "adaptive"] {
        let command = ["pairs", &file, "--scheme", scheme, "--cell-size", "0.3"];
        let (pairs, told) = rows::<u64>(&command, &output);
        assert_eq!(pairs, expected, "{scheme}");
        assert!(!told.contains("warning"), "{told}");
    }

    let (hits, _) = rows::<f64>(&["rays", &file, &down], &output);
    for (place, hit) in places.iter().zip(hits.chunks(3)) {
        let passed = (0..)
            .zip(&boxes)
            .filter(|(_, [low, high])| (0..2).all(|axis| low[axis] <= place[axis] && place[axis] <= high[axis]));
        let highest = passed.max_by(|(_, a), (_, b)| a[1][2].total_cmp(&b[1][2]));
        let (object, t) = highest.map_or((-1.0, f64::INFINITY), |(id, bounds)| {
            (f64::from(id), 150.0 - bounds[1][2])
        });
        assert_eq!(hit[1], object, "{place:?}");
        assert!(t == hit[2] || (t - hit[2]).abs() < 1e-4, "{t} {hit:?}");
    }
    let (any, _) = rows::<u64>(&["rays", &file, &aimed, "--mode", "any"], &output);
    assert!(any.len() == 4000 && any.chunks(2).all(|row| row[1] == 1));
    let (near, _) = rows::<f64>(&["query", &file, &points, "--nearest", "1"], &output);
    for (place, near) in places.iter().zip(near.chunks(3)) {
        let distance = |[low, high]: &[[f64; 3]; 2]| {
            let away = |axis: usize| (low[axis] - place[axis]).max(place[axis] - high[axis]).max(0.0);
            (0..3).map(|axis| away(axis).powi(2)).sum::<f64>().sqrt()
        };
        let (nearest, least) = (0..)
            .zip(boxes.iter().map(distance))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .unwrap();
        assert!(
            near[1] == f64::from(nearest) && (near[2] - least).abs() < 1e-5,
            "{place:?}: {near:?}"
        );
    }

    // Integers that f32 does not hold, 1 apart.
    npy_of(
        Path::new(&at("integers.npy")),
        "<f8",
        4,
        &[
            16_777_216.0,
            0.0,
            16_777_216.0,
            1.0,
            16_777_217.0,
            0.0,
            16_777_217.0,
            1.0,
        ],
    );
    let (pairs, _) = rows::<u64>(&["pairs", &at("integers.npy")], &output);
    assert_eq!(pairs, []);
}

#[test]
fn doubles_that_singles_hold_give_the_file_of_singles() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    // Far from zero, where an origin would help numbers that f32 does not hold.
    let far = |values: Vec<f32>| values.iter().map(|value| 3e6 + value.round()).collect::<Vec<f32>>();
    let rays: Vec<_> = boxes(350).chunks(6).flat_map(|row| [row, &[2.0]].concat()).collect();
    let files = [
        ("boxes", 6, far(boxes(400))),
        ("queries", 6, far(boxes(50))),
        ("rays", 7, far(rays)),
        ("points", 2, far(boxes(400)[..500].to_vec())),
    ];
    for (name, columns, values) in &files {
        npy(Path::new(&at(&format!("{name}4.npy"))), *columns, values);
        let doubles: Vec<_> = values.iter().map(|&value| f64::from(value)).collect();
        npy_of(Path::new(&at(&format!("{name}8.npy"))), "<f8", *columns, &doubles);
    }
    let commands: [&[&str]; 5] = [
        &["pairs", "boxes", "--margin", "0.3"],
        &["rays", "boxes", "rays", "--mode", "all"],
        &["query", "boxes", "queries", "--radius", "0.7"],
        &["query", "boxes", "queries", "--nearest", "3"],
        &["neighbors", "points", "--radius", "1.4", "--period", "7.3"],
    ];
    for command in commands {
        let [single, double] = [4, 8].map(|bytes| {
            let named = |word: &&str| match files.iter().any(|(name, ..)| name == word) {
                true => at(&format!("{word}{bytes}.npy")),
                false => (*word).to_owned(),
            };
            let words: Vec<_> = command[1..].iter().map(named).collect();
            let words: Vec<_> = [command[0]]
                .into_iter()
                .chain(words.iter().map(String::as_str))
                .collect();
            rows::<u64>(&words, &at("result.npy")).0
        });
        assert!(single == double && !single.is_empty(), "{command:?}");
    }
}

#[test]
fn a_radius_above_half_a_period_is_refused_on_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let output = at("result.npy");
    // f32 does not hold the numbers of the second file.
    let points = [0.125, 0.0, 0.5, 0.875, 0.0, 0.5];
    npy_of(Path::new(&at("singles.npy")), "<f8", 3, &points);
    npy_of(
        Path::new(&at("doubles.npy")),
        "<f8",
        3,
        &points.map(|number| number + 0.1),
    );
    for file in [at("singles.npy"), at("doubles.npy")] {
        for (radius, period, short) in [
            ("0.75", "1", Some("1")),
            ("0.5000000001", "1", Some("1")),
            ("0.75", "2,0,1.25", Some("1.25")),
            ("1e300", "1,0,0", Some("1")),
            ("inf", "0,0,1", Some("1")),
            ("0.5", "1", None),
            ("0.35", "0.7", None),
            ("0.8", "0,2,1.6", None),
            ("0.8", "2,1e-50,0", None),
        ] {
            let command = ["neighbors", &file, "--radius", radius, "--period", period];
            let Some(short) = short else {
                assert_eq!(rows::<u64>(&command, &output).0, [0, 1], "{command:?}");
                fs::remove_file(&output).unwrap();
                continue;
            };
            let done = run(3, &[&command[..], &["-o", &output]].concat());
            let told = String::from_utf8_lossy(&done.stderr);
            assert_eq!(done.status.code(), Some(2), "{command:?}: {told}");
            let ours: Vec<_> = told
                .lines()
                .filter(|line| line.starts_with("broadphase-mpi: "))
                .collect();
            let wanted = format!("is above half of --period {short}, and only nearest images would be listed");
            assert!(ours.len() == 1 && ours[0].contains(&wanted), "{command:?}: {told}");
            let left = [&output, &at("result.npy.part")].map(|path| Path::new(path).exists());
            assert_eq!(left, [false; 2], "{command:?}");
        }
    }
}

#[test]
fn coarse_rounding_is_a_warning_that_quiet_silences() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut next = doubles(9);
    let boxes: Vec<f64> = (0..300)
        .flat_map(|_| {
            let low = [next(), next()].map(|part| 1e7 * part);
            [low[0], low[1], low[0] + 0.1, low[1] + 0.1]
        })
        .collect();
    npy_of(Path::new(&at("boxes.npy")), "<f8", 4, &boxes);
    let command = ["pairs", &at("boxes.npy")];
    let (_, told) = rows::<u64>(&command, &at("result.npy"));
    let warnings = told.lines().filter(|line| line.contains("warning"));
    assert_eq!(warnings.count(), 1, "{told}");
    assert!(told.contains("up to 1.0,") && told.contains("is 0.1 long"), "{told}");
    let (_, told) = rows::<u64>(&[&command[..], &["--quiet"]].concat(), &at("result.npy"));
    assert!(!told.contains("warning"), "{told}");
}

#[test]
fn neighbors_among_doubles_are_those_of_doubles() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut next = doubles(3);
    // A grid of step 0.1, of which f64 holds few distances exactly, moved; then strays, alone and on one axis.
    let grid = (0..1000).map(|index| [index % 10, index / 10 % 10, index / 100].map(|step| 0.1 * f64::from(step)));
    let mut points: Vec<[f64; 3]> = grid
        .map(|at| [4_500_000.0 + at[0], at[1] - 0.05, 77.7 + at[2]])
        .collect();
    points.extend((0..600).map(|_| [4_500_000.0 + next(), next(), 77.7 + next()]));
    points.extend([[1e10; 3], [1e10, 1e10, 1e10 + 0.05], [4_500_000.5, 0.5, -1e10]]);
    points.extend([[4_500_000.45, 0.47, -1e10], [-3e38, 0.0, 3e38]]);
    for (radius, periods) in [
        (0.1, [0.0; 3]),
        (0.25, [0.0; 3]),
        (0.1, [0.0, 1.0, 0.0]),
        (0.1, [0.7, 0.9, 1.1]),
    ] {
        if periods[0] > 0.0 {
            // Of 3e38, no f64 has the remainder.
            points.pop();
        }
        npy_of(Path::new(&at("points.npy")), "<f8", 3, points.as_flattened());
        let distance = |a: &[f64; 3], b: &[f64; 3]| {
            let sides = [0, 1, 2].map(|axis| {
                let away = b[axis] - a[axis];
                match periods[axis] > 0.0 {
                    true => away - (away / periods[axis]).round() * periods[axis],
                    false => away,
                }
            });
            sides.iter().map(|side| side * side).sum::<f64>().sqrt()
        };
        let [mut half, mut full] = [const { Vec::new() }; 2];
        for (a, of_a) in (0..).zip(&points) {
            for (b, of_b) in (0..).zip(&points).filter(|&(b, _)| b != a) {
                if distance(of_a, of_b) <= radius {
                    full.push([a, b]);
                    if a < b {
                        half.push([a, b]);
                    }
                }
            }
        }
        let radius = radius.to_string();
        let period = periods.map(|period| period.to_string()).join(",");
        let file = at("points.npy");
        let command = ["neighbors", &file, "--radius", &radius, "--period", &period, "--full"];
        let (found, _) = rows::<[u64; 2]>(&command, &at("result.npy"));
        assert!(found == full, "{command:?}: {} of {}", found.len(), full.len());
        let (found, _) = rows::<[u64; 2]>(&command[..6], &at("result.npy"));
        assert!(found == half, "{command:?}: {} of {}", found.len(), half.len());
    }
}
