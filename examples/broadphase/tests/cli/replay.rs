use crate::support::{Folder, pairs};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, Dimensions, Growth, OutputOptions, Pair, Queries, Query, QueryInput,
    QueryMode, Ray, RayMode, ResultOrder, Scene, Scheme, SelfQuery, Snapshot, Source, Statics, SweptRay,
};

const BOXES: &str = "min_x,min_y,min_z,max_x,max_y,max_z,layers,group\n\
    0,0,0,1,1,1,4294967295,0\n1,0,0,2,1,1,4294967295,0\nnan,0,0,1,1,1,4294967295,0\n2,0,0,1,1,1,4294967295,0\n\
    0.5,-inf,0,inf,inf,1,4294967295,0\n0,0,0,9,9,9,4294967295,2147483648\n";

fn keep(folder: &Folder, name: &str, descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) {
    let mut bytes = Vec::new();
    Snapshot::of(descriptor, scene).unwrap().write(&mut bytes).unwrap();
    folder.write(name, bytes);
}

/// Columns after the engine's name.
fn columns(table: &str, row: usize) -> Vec<&str> {
    let line = table.lines().nth(row).unwrap();
    // Two blanks or more separate columns.
    line.split("  ")
        .map(str::trim)
        .filter(|cell| !cell.is_empty())
        .skip(1)
        .collect()
}

fn has_adapter() -> bool {
    std::env::var_os("GPU_BROAD_PHASE_ADAPTERS").is_some()
}

/// Counts of the CPU engine, which equal those of a required adapter.
fn counts(folder: &Folder, name: &str) -> Vec<String> {
    let table = folder.cpu(&["replay", name]);
    assert_eq!(table.lines().count(), 2, "{table}");
    assert_eq!(
        columns(&table, 0),
        [
            "objects",
            "invalid",
            "excluded",
            "pairs",
            "hits",
            "results",
            "differences",
            "status"
        ]
    );
    let on_cpu = columns(&table, 1);
    if has_adapter() {
        let ran = folder.run(&["replay", name, "--verify"]);
        assert_eq!(ran.status, 0, "{name}: {}{}", ran.stdout, ran.stderr);
        for row in [1, 2] {
            let mut verified = columns(&ran.stdout, row);
            assert_eq!(verified[6], "0", "{name}: {}{}", ran.stdout, ran.stderr);
            verified[6] = "-";
            assert_eq!(verified, on_cpu, "{name}: {}{}", ran.stdout, ran.stderr);
        }
    }
    on_cpu.into_iter().map(str::to_owned).collect()
}

#[test]
fn what_a_command_keeps_is_what_it_was_asked() {
    let folder = Folder::new();
    folder.write("boxes.csv", BOXES);
    folder.write("rays.csv", "-1,0.5,0.5,1,0,0,inf\nnan,0,0,1,0,0,1\n0,9,0.5,1,0,0,3\n");
    folder.write("asked.csv", "-1,0,0,0,1,1\n-9,-9,-9,9,9,inf\n");
    folder.write("points.csv", "0,0\n1,0\n9.5,0\nnan,0\n");
    let kept = |arguments: &[&str]| {
        let plain = folder.cpu(arguments);
        let with = folder.cpu(&[arguments, &["--snapshot", "kept"]].concat());
        assert_eq!(with, plain, "{arguments:?}");
        (plain.lines().count(), counts(&folder, "kept"))
    };
    let (rows, counted) = kept(&["pairs", "boxes.csv", "--scheme", "uniform", "--order", "sorted"]);
    assert_eq!(
        (rows, &counted[..]),
        (
            3,
            &["6", "2", "1", "3", "0", "0", "-", "complete"].map(String::from)[..]
        )
    );
    for (mode, hits) in [("closest", "2"), ("any", "2"), ("all", "4")] {
        let (_, counted) = kept(&["rays", "boxes.csv", "rays.csv", "--mode", mode]);
        assert_eq!(counted[3..6], ["0", hits, "0"], "{mode}");
    }
    // The snapshot asks for all hits, although this command only counts them.
    let arguments = [
        "rays",
        "boxes.csv",
        "rays.csv",
        "--mode",
        "all",
        "--count-only",
        "--snapshot",
        "counted",
    ];
    assert_eq!(folder.cpu(&arguments), "4\n");
    assert_eq!(counts(&folder, "counted")[3..6], ["0", "4", "0"]);
    let (rows, counted) = kept(&["query", "boxes.csv", "asked.csv", "--scheme", "adaptive"]);
    assert_eq!((rows, &counted[3..6]), (4, &["0", "0", "4"].map(String::from)[..]));
    let (rows, counted) = kept(&["neighbors", "points.csv", "--radius", "1", "--period", "10,0"]);
    assert_eq!(
        (rows, &counted[..]),
        (
            2,
            &["4", "1", "0", "0", "0", "2", "-", "complete"].map(String::from)[..]
        )
    );
}

#[test]
fn every_kind_of_step_is_replayed_with_its_own_descriptor() {
    let folder = Folder::new();
    folder.generate(&["clustered", "--count", "400", "--seed", "9", "-o", "boxes.csv"]);
    let text = String::from_utf8(folder.read("boxes.csv")).unwrap();
    let mut objects: Vec<_> = text
        .lines()
        .zip(0..)
        .map(|(line, place)| {
            let numbers: Vec<f32> = line.split(',').map(|number| number.parse().unwrap()).collect();
            let corner = |from: usize| std::array::from_fn(|axis| numbers[from + axis]);
            Aabb::new(corner(0), corner(3)).with_group(place % 5)
        })
        .collect();
    objects[3] = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);
    objects[4].min[1] = f32::from_bits(0xffc0_1234);
    objects[5].group |= Aabb::EXCLUDED;
    let (statics, moving) = objects.split_at(150);
    let worlds: Vec<u32> = (0..moving.len() as u32).map(|place| place % 4).collect();
    let static_worlds: Vec<u32> = (0..150).map(|place| place % 3).collect();
    let rays: Vec<_> = moving
        .iter()
        .zip(0..)
        .map(|(object, place)| {
            SweptRay::new(Ray::new(object.min, [0.3, -1.0, 0.2], 40.0))
                .with_half_extents([0.5, 0.0, 0.25])
                .with_world(place % 4)
        })
        .collect();
    let spheres: Vec<_> = moving
        .iter()
        .zip(0..)
        .map(|(object, place)| Query::sphere(object.max, 3.0).in_world(place % 4))
        .collect();
    let neighbors = SelfQuery::Within {
        radius: 2.5,
        half: false,
    };
    let of_worlds = BroadPhaseDescriptor {
        worlds: 3,
        margin: 0.125,
        outputs: OutputOptions {
            order: ResultOrder::Sorted,
            ..Default::default()
        },
        ..Default::default()
    };
    let excluded: Vec<_> = (0..400)
        .map(|a| Pair {
            a,
            b: (7 * a + 1) % 400,
        })
        .collect();
    let mut found = Vec::new();
    for (queries, query_mode, descriptor) in [
        (Queries::None, QueryMode::All, of_worlds),
        (spheres[..].into(), QueryMode::All, of_worlds),
        (
            spheres[..].into(),
            QueryMode::Nearest(3),
            BroadPhaseDescriptor {
                outputs: OutputOptions {
                    ray_mode: RayMode::All,
                    ..of_worlds.outputs
                },
                filters: false,
                scheme: Scheme::Uniform { cell_size: 2.0 },
                ..of_worlds
            },
        ),
        (
            SelfQuery::Overlaps { half: false }.into(),
            QueryMode::All,
            BroadPhaseDescriptor {
                outputs: OutputOptions {
                    ray_mode: RayMode::Any,
                    ..of_worlds.outputs
                },
                dimensions: Dimensions::Two,
                ..of_worlds
            },
        ),
        (neighbors.into(), QueryMode::All, of_worlds),
        (
            neighbors.into(),
            QueryMode::Nearest(2),
            BroadPhaseDescriptor {
                periods: [64.0, 0.0, 32.0],
                scheme: Scheme::Adaptive { min_scale: 0.5 },
                ..of_worlds
            },
        ),
    ] {
        let scene = Scene {
            objects: Source::Host(moving),
            worlds: Source::Host(&worlds),
            statics: Statics {
                objects: Source::Host(statics),
                worlds: Source::Host(&static_worlds),
                generation: 5,
            },
            excluded_pairs: Source::Host(&excluded),
            query: QueryInput {
                rays: rays[..].into(),
                queries,
                query_mode,
                ..QueryInput::default()
            },
            ..Scene::default()
        };
        keep(&folder, "kept", &descriptor, &scene);
        let counted = counts(&folder, "kept");
        assert_eq!(
            (counted[0].as_str(), counted[2].as_str(), counted[7].as_str()),
            ("400", "1", "complete")
        );
        let [pairs, hits, results] = [3, 4, 5].map(|column| counted[column].parse::<u64>().unwrap());
        assert!(pairs > 100 && hits > 50, "{counted:?}");
        assert_eq!(results == 0, matches!(queries, Queries::None), "{counted:?}");
        found.push((pairs, hits, results));
    }
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), 6);
}

#[test]
fn an_answer_that_does_not_fit_is_not_whole_and_is_compared_as_a_whole() {
    let folder = Folder::new();
    folder.generate(&["lattice", "--count", "300", "--seed", "2", "-o", "boxes.npy"]);
    let all = pairs(&folder.cpu(&["pairs", "boxes.npy", "--snapshot", "kept"])).len();
    let snapshot = Snapshot::read(&folder.read("kept")[..]).unwrap();
    let descriptor = BroadPhaseDescriptor {
        outputs: OutputOptions {
            growth: Growth::Fixed,
            capacities: Capacities {
                pairs: Some(9),
                ..Default::default()
            },
            ..snapshot.descriptor.outputs
        },
        ..snapshot.descriptor
    };
    keep(&folder, "short", &descriptor, &snapshot.scene());
    for arguments in [
        &["replay", "short", "--backend", "cpu"][..],
        &["replay", "short", "--verify"],
    ] {
        if arguments.contains(&"--verify") && !has_adapter() {
            continue;
        }
        let ran = folder.run(arguments);
        assert_eq!(ran.status, 1, "{}", ran.stderr);
        let counted = columns(&ran.stdout, 1);
        assert_eq!(
            (counted[3], counted[7]),
            (all.to_string().as_str(), "pairs"),
            "{}",
            ran.stdout
        );
        assert!(ran.stderr.contains("incomplete"), "{}", ran.stderr);
        assert!(counted[6] == "-" || counted[6] == "0", "{}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn what_is_no_snapshot_or_cannot_be_replayed_is_refused() {
    let folder = Folder::new();
    folder.write("boxes.csv", BOXES);
    folder.cpu(&["pairs", "boxes.csv", "--snapshot", "kept"]);
    let bytes = folder.read("kept");
    folder.write("empty", []);
    folder.write("cut", &bytes[..bytes.len() - 1]);
    let mut other = bytes.clone();
    other[60] ^= 1;
    folder.write("changed", other);
    folder.refuses(&["replay", "boxes.csv"], &["boxes.csv: ", "not a snapshot"]);
    folder.refuses(&["replay", "empty"], &["empty: the file is empty"]);
    folder.refuses(&["replay", "cut"], &["cut: ", "cut short or damaged", "again"]);
    folder.refuses(&["replay", "changed"], &["changed: ", "cut short or damaged"]);
    folder.refuses(&["replay", "nothing"], &["nothing: ", "os error 2"]);
    folder.refuses(&["replay", "."], &[".: not a file"]);
    folder.refuses(&["replay", "kept", "--verify"], &["the CPU cannot verify itself"]);
    folder.refuses(&["replay"], &["<SNAPSHOT>"]);
    folder.refuses(&["pairs", "boxes.csv", "--snapshot", "nowhere/kept"], &["nowhere/kept"]);
    if cfg!(target_os = "linux") {
        let ran = folder.run_without_adapter(&["replay", "kept", "--verify", "--quiet"]);
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("no adapter"), "{}", ran.stderr);
    }

    let plain = BroadPhaseDescriptor::default();
    let margin = BroadPhaseDescriptor {
        margin: f32::NAN,
        ..plain
    };
    keep(&folder, "margin", &margin, &Scene::default());
    folder.refuses(&["replay", "margin"], &["margin: the margin is NaN"]);
    let worlds = BroadPhaseDescriptor {
        worlds: u32::MAX,
        ..plain
    };
    keep(&folder, "worlds", &worlds, &Scene::default());
    folder.refuses(&["replay", "worlds"], &["worlds: 4294967295 worlds"]);
    let objects = [Aabb::point([0.0; 3])];
    let scene = Scene {
        objects: Source::Host(&objects),
        ..Scene::default()
    };
    keep(&folder, "missing", &BroadPhaseDescriptor { worlds: 2, ..plain }, &scene);
    folder.refuses(&["replay", "missing"], &["missing: 1 objects have 0 world ids"]);
}
