use std::collections::BTreeMap;

use crate::support::{Folder, Ran, pairs};

const HEADER: &str = "scene,objects,engine,threads,stage,median_ms,min_ms,results,hash";

#[derive(Debug)]
struct Row {
    scene: String,
    objects: usize,
    engine: String,
    threads: usize,
    stage: String,
    results: u64,
    hash: Option<u64>,
}

fn rows(ran: &Ran) -> Vec<Row> {
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let mut lines = ran.stdout.lines();
    assert_eq!(lines.next(), Some(HEADER));
    lines
        .map(|line| {
            let cells: Vec<_> = line.split(',').collect();
            let [scene, objects, engine, threads, stage, median, min, results, hash] = cells[..] else {
                panic!("{line}");
            };
            let [median, min] = [median, min].map(|time| time.parse::<f64>().unwrap());
            assert!(0.0 < min && min <= median && median.is_finite(), "{line}");
            let hash = (!hash.is_empty()).then(|| u64::from_str_radix(hash, 16).unwrap());
            Row {
                scene: scene.to_owned(),
                objects: objects.parse().unwrap(),
                engine: engine.to_owned(),
                threads: threads.parse().unwrap(),
                stage: stage.to_owned(),
                results: results.parse().unwrap(),
                hash,
            }
        })
        .collect()
}

fn totals(rows: &[Row]) -> Vec<&Row> {
    rows.iter().filter(|row| row.stage == "total").collect()
}

fn has_device() -> bool {
    std::env::var_os("GPU_BROAD_PHASE_ADAPTERS").is_some()
}

#[test]
fn every_scene_gives_everyone_the_same_answer() {
    let folder = Folder::new();
    let scenes = ["uniform", "power-law", "clustered", "planar", "one-cell"];
    let ran = folder.run(&[
        "bench",
        &scenes.join(","),
        "--count",
        "600",
        "--runs",
        "2",
        "--rays",
        "100",
    ]);
    let rows = rows(&ran);
    for scene in scenes {
        let mut answers: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.scene == scene && row.objects == 600) {
            answers.entry(&row.stage).or_default().push(row);
        }
        assert_eq!(answers["total"][0].engine, "gpu-broad-phase");
        for stage in ["total", "rays_closest", "rays_all"] {
            let first = answers[stage][0];
            for row in &answers[stage] {
                assert_eq!(row.results, first.results, "{scene} {stage}: {row:?}");
                assert!(row.hash.is_none() || row.hash == first.hash, "{scene} {stage}: {row:?}");
            }
        }
        let mut grids = answers["total"].iter().filter(|row| row.engine == "grid");
        assert_eq!(grids.next().map(|row| row.threads), Some(1), "{scene}");
        assert_eq!(answers["total"][0].results == 0, scene == "one-cell", "{scene}");
        assert!(answers["rays_all"][0].results >= answers["rays_closest"][0].results);
        if has_device() {
            for stage in ["total_resident", "sort", "pair_count", "stages"] {
                assert_eq!(answers[stage].len(), 1, "{scene} {stage}");
            }
            let kernels = answers["total"].iter().filter(|row| row.engine == "brute-force");
            assert_eq!(kernels.count(), usize::from(scene == "one-cell"), "{scene}");
            assert!(ran.stderr.contains("bytes, 8 per pair and "), "{}", ran.stderr);
        }
    }
}

#[test]
fn results_and_hashes_are_those_of_the_pairs() {
    let folder = Folder::new();
    folder.generate(&["clustered", "--count", "700", "--seed", "9", "-o", "boxes.npy"]);
    let pairs = pairs(&folder.cpu(&["pairs", "boxes.npy"]));
    let expected = pairs.iter().fold(0_u64, |sum, &[a, b]| {
        // SplitMix64 of both ids in one number.
        let mut value = (u64::from(a) << 32 | u64::from(b)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        sum.wrapping_add(value ^ value >> 31)
    });
    for backend in ["auto", "cpu"] {
        let ran = folder.run(&["bench", "boxes.npy", "--runs", "1", "--backend", backend]);
        let rows = rows(&ran);
        assert!(totals(&rows).len() >= 3, "{}", ran.stdout);
        for row in totals(&rows) {
            assert_eq!((row.scene.as_str(), row.objects), ("boxes", 700));
            assert_eq!((row.results, row.hash), (pairs.len() as u64, Some(expected)), "{row:?}");
        }
        let made = folder.run(&[
            "bench",
            "clustered",
            "--count",
            "700",
            "--seed",
            "9",
            "--runs",
            "1",
            "--backend",
            backend,
        ]);
        assert_eq!(totals(&self::rows(&made))[0].hash, Some(expected));
    }
    let arguments = [
        "bench",
        "boxes.npy",
        "--runs",
        "1",
        "--backend",
        "cpu",
        "--engines",
        "reference",
    ];
    let rows = rows(&folder.run(&arguments));
    assert!(!rows.is_empty() && rows.iter().all(|row| row.hash == Some(expected)));
}

#[test]
fn brute_force_runs_where_it_is_asked_for() {
    if !has_device() {
        println!("skipped: no adapter is promised");
        return;
    }
    let folder = Folder::new();
    // Boxes that touch or just miss fill two tiles of the brute-force kernel; 1,001 boxes leave a workgroup partly
    // empty.
    folder.generate(&["lattice", "--count", "16500", "--seed", "3", "-o", "lattice.npy"]);
    let engines = ["--runs", "1", "--engines", "gpu-broad-phase,brute-force"];
    let ran = folder.run(&[&["bench", "lattice.npy,power-law", "--count", "1001"], &engines[..]].concat());
    let rows = rows(&ran);
    for totals in totals(&rows).chunks(2) {
        assert_eq!((totals[1].engine.as_str(), totals[1].hash), ("brute-force", None));
        assert!(totals[0].results > 0 && totals[0].results == totals[1].results);
    }
    assert_eq!(totals(&rows).len(), 4, "{}", ran.stdout);
}

#[test]
fn rays_files_schemes_dimensions_and_the_sort_are_measured() {
    let folder = Folder::new();
    folder.generate(&["planar", "--count", "400", "--dimensions", "2", "-o", "flat.npy"]);
    folder.generate(&[
        "rays",
        "--count",
        "50",
        "--dimensions",
        "2",
        "--side",
        "60",
        "--t-max",
        "9",
        "-o",
        "rays.npy",
    ]);
    let all = folder.cpu(&["rays", "flat.npy", "rays.npy", "--mode", "all"]);
    for scheme in ["hierarchical", "uniform"] {
        let ran = folder.run(&[
            "bench", "flat.npy", "rays.npy", "--scheme", scheme, "--runs", "1", "--sort",
        ]);
        let rows = rows(&ran);
        let hits: Vec<_> = rows.iter().filter(|row| row.stage == "rays_all").collect();
        assert_eq!(hits[0].results, all.lines().count() as u64, "{scheme}");
        let sorts = rows
            .iter()
            .filter(|row| row.stage == "sort_keys" && row.engine == "gpu-broad-phase");
        assert_eq!(sorts.count(), usize::from(has_device()), "{scheme}: {}", ran.stderr);
    }
}

#[test]
fn the_second_frame_of_a_folder_counts() {
    let folder = Folder::new();
    folder.generate(&["cloth", "--count", "150", "-o", "frame.ply"]);
    std::fs::create_dir(folder.path("cloth")).unwrap();
    for frame in ["frame0.ply", "frame1.ply"] {
        std::fs::rename(folder.path(frame), folder.path(&format!("cloth/{frame}"))).unwrap();
    }
    let all = ["--elements", "vertices,edges,faces", "--next", "cloth/frame1.ply"];
    let expected = pairs(&folder.cpu(&[&["pairs", "cloth/frame0.ply"], &all[..]].concat()));
    let ran = folder.run(&["bench", "cloth,uniform", "--count", "50", "--runs", "1"]);
    let rows = rows(&ran);
    let totals = totals(&rows);
    assert_eq!(totals[0].scene, "cloth");
    assert_eq!(totals[0].results, expected.len() as u64);
    assert!(totals.iter().any(|row| row.scene == "uniform" && row.objects == 50));
}

#[test]
fn tables_and_reports_go_to_files() {
    let folder = Folder::new();
    for backend in ["cpu", "auto"] {
        let measured = [
            "bench",
            "--count",
            "100,400",
            "--runs",
            "1",
            "--rays",
            "10",
            "--backend",
            backend,
        ];
        let files = ["-o", "rows.csv", "--markdown", "report.md"];
        let ran = folder.run(&[&measured[..], &files].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains("cost per box"), "{}", ran.stderr);
    }
    let csv = String::from_utf8(folder.read("rows.csv")).unwrap();
    assert_eq!(csv.lines().next(), Some(HEADER));
    let report = String::from_utf8(folder.read("report.md")).unwrap();
    let folder_name = folder.path("").display().to_string();
    assert!(!report.contains(&folder_name), "{report}");
    for needle in [
        "- Adapter: ",
        "- CPU: ",
        "bench --count 100,400",
        "| engine |",
        "µs per ray",
        "## Cost per box",
    ] {
        assert!(report.contains(needle), "{needle} in {report}");
    }
}

#[test]
fn a_report_tells_what_was_right_what_it_took_and_what_was_left_out() {
    let folder = Folder::new();
    if !has_device() {
        folder.refuses(&["bench", "--report", "report.md"], &["--report needs an adapter"]);
        return;
    }
    let report = |options: &[&str]| {
        let ran = folder.run(&[&["bench", "--report", "report.md", "--runs", "1"], options].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
        String::from_utf8(folder.read("report.md")).unwrap()
    };
    // The last size exceeds any device's binding.
    let text = report(&["--count", "300,700,4000000000", "--rays", "50", "--budget", "100000"]);
    for needle in [
        "# Results of ",
        "- Adapter: ",
        "- CPU: ",
        "- Kind of adapter: ",
        "; gpu-broad-phase 0.",
        "- Buffer copy of ",
        " GB/s read plus write",
        "- Answers: passed",
        "| hierarchical |",
        "| uniform |",
        "| adaptive |",
        "## Skipped",
        "| power-law, 4,000,000,000 boxes | too large: a binding of this device holds ",
        "| dispatches |",
        "| bytes per box |",
        "## uniform, 300 boxes: build and all pairs",
        "## power-law, 700 boxes: stages",
        "| share of the copy's rate |",
        "## power-law, 700 boxes: 50 rays",
        "## uniform, 700 boxes: sort of keys and values",
        "| grid (",
    ] {
        assert!(text.contains(needle), "{needle} in {text}");
    }
    for stage in ["| levels |", "| sort |", "| gather |", "| pair_count |"] {
        let mut rows = text.lines().filter(|line| line.starts_with(stage));
        assert!(
            rows.next().is_some_and(|row| row.ends_with(" % |")),
            "{stage} in {text}"
        );
    }
    // The report lists skipped measurements, and checks at least one scene.
    let text = report(&["--count", "300", "--budget", "1"]);
    assert!(text.contains("- Answers: passed"), "{text}");
    let scenes = ["uniform", "power-law"].map(|scene| {
        let is_measured = text.contains(&format!("## {scene}, 300 boxes: build"));
        is_measured || text.contains(&format!("| {scene}, 300 boxes | the budget of 1 s was used up |"))
    });
    assert_eq!(scenes, [true; 2], "{text}");
}

#[test]
fn bad_arguments_are_refused() {
    let folder = Folder::new();
    folder.write("infinite.csv", "0,0,0,1,1,1\n-inf,0,0,1,1,1\n");
    folder.write("boxes.csv", "0,0,0,1,1,1\n0,0,0,1,1,1\n");
    folder.write("rays.csv", "0,0,0,1,0,0,1\n0,0,nan,1,0,0,1\n");
    folder.write("none.csv", "a,b,c,d,e,f\n");
    for (arguments, needles) in [
        (&["bench", "missing.csv"][..], &["missing.csv", "one-cell"][..]),
        (&["bench", "uniform,lattice"], &["lattice"]),
        (&["bench", "infinite.csv"], &["infinite.csv", "box 1"]),
        (&["bench", "boxes.csv", "rays.csv"], &["rays.csv", "ray 1"]),
        (&["bench", "boxes.csv", "rays.csv", "--rays", "5"], &["--rays"]),
        (&["bench", "--count", "0"], &["--count"]),
        (&["bench", "--count", "10,many"], &["many"]),
        (&["bench", "--runs", "0"], &["--runs"]),
        (
            &["bench", "--engines", "gpu-broad-phase,fastest"],
            &["fastest", "brute-force"],
        ),
        (&["bench", "--budget", "9"], &["--report"]),
        (&["bench", "--report", "r.md", "--budget", "0"], &["--budget"]),
        (
            &["bench", "--report", "nowhere/r.md"],
            &["nowhere/r.md", "no such folder"],
        ),
        (&["bench", "uniform", "--report", "r.md"], &["--report", "SCENE"]),
        (
            &["bench", "--report", "r.md", "--engines", "grid"],
            &["--report", "--engines"],
        ),
        (
            &["bench", "--report", "r.md", "--markdown", "m.md"],
            &["--report", "--markdown"],
        ),
        (&["bench", "--report", "r.md", "-o", "r.csv"], &["--report", "--output"]),
        (&["bench", "-o", "rows.npy"], &["rows.npy", ".csv"]),
        (&["bench", "boxes.csv", "--elements", "edges"], &["--elements"]),
        (&["bench", "--count", "10", "--cell-size", "2"], &["--cell-size"]),
        (
            &["bench", "--count", "10", "--scheme", "uniform", "--cell-size", "1e38"],
            &["cell"],
        ),
    ] {
        folder.refuses(arguments, needles);
    }
    let text = folder.refuses(&["bench", "none.csv"], &["none.csv"]);
    assert!(text.contains("none.csv"), "{text}");
    if !cfg!(feature = "peers") {
        folder.refuses(&["bench", "--engines", "parry3d"], &["parry3d", "feature `peers`"]);
    }
}
