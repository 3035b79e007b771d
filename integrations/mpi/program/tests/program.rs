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

/// Random numbers in [0, 1) (splitmix64; Steele, Lea and Flood, 2014).
fn numbers(seed: u64) -> impl Iterator<Item = f32> {
    (1..).map(move |at: u64| {
        let mut z = seed.wrapping_add(at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / (1 << 24) as f32
    })
}

fn npy(path: &Path, columns: usize, values: &[f32]) {
    let shape = format!("({}, {columns})", values.len() / columns);
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
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
