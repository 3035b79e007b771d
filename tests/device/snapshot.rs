//! Snapshots keep every bit of their input. No file makes reading panic or allocate memory that it does not fill.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::error::Error;
use std::io;

use crate::common::Rng;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, OutputOptions, Pair, Queries, Query, QueryInput, QueryMode, Ray, Rays, Scene, Scheme,
    SelfQuery, Snapshot, SnapshotError, Source, Statics, SweptRay, cpu,
};

const EXCLUDED: [Pair; 2] = [Pair { a: 7, b: 3 }, Pair { a: u32::MAX, b: 0 }];
const DATA: [u32; 4] = [1, u32::MAX, 3, 0];

/// Allocator that counts the bytes held by each thread.
struct Counting;

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
}

fn hold(more: usize, less: usize) {
    let held = HELD.get() + more;
    MOST.set(MOST.get().max(held));
    HELD.set(held.saturating_sub(less));
}

// SAFETY: forwards every call to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        hold(layout.size(), 0);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        hold(0, layout.size());
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The old and the new block may exist at once.
        hold(size, layout.size());
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn random_rows<T: bytemuck::Pod>(count: usize, rng: &mut Rng) -> Vec<T> {
    const SPECIAL: [u32; 7] = [
        0x7fc0_0001,
        0xff80_0001,
        0x7f80_0000,
        0xff80_0000,
        0x8000_0000,
        0,
        0x8000_0001,
    ];
    let mut rows = vec![T::zeroed(); count];
    for word in bytemuck::cast_slice_mut::<T, u32>(&mut rows) {
        *word = match rng.below(2 * SPECIAL.len()) {
            special if special < SPECIAL.len() => SPECIAL[special],
            _ => rng.below(1 << 31) as u32 * 2 + rng.below(2) as u32,
        };
    }
    rows
}

struct Rows {
    objects: Vec<Aabb>,
    worlds: Vec<u32>,
    rays: Vec<Ray>,
    swept: Vec<SweptRay>,
    queries: Vec<Query>,
}

impl Rows {
    fn random(count: usize, rng: &mut Rng) -> Self {
        Self {
            objects: random_rows(count, rng),
            worlds: random_rows(count, rng),
            rays: random_rows(count, rng),
            swept: random_rows(count, rng),
            queries: random_rows(count, rng),
        }
    }

    fn scenes(&self) -> Vec<Scene<'_>> {
        let rays = [
            Rays::Plain(Source::Host(&self.rays)),
            Rays::Swept(Source::Host(&self.swept)),
        ];
        let neighbors = SelfQuery::Within {
            radius: f32::from_bits(0x7fc0_4321),
            half: true,
        };
        let queries = [
            Queries::None,
            Queries::Boxes(Source::Host(&self.objects)),
            Queries::General(Source::Host(&self.queries)),
            Queries::Objects(neighbors),
            Queries::Objects(SelfQuery::Overlaps { half: true }),
        ];
        let with = |rays, (place, queries): (usize, _)| Scene {
            objects: Source::Host(&self.objects),
            worlds: Source::Host(&self.worlds),
            statics: Statics {
                objects: Source::Host(&self.objects[..self.objects.len() / 2]),
                worlds: Source::Host(&self.worlds[..self.worlds.len() / 2]),
                generation: u64::MAX - 7,
            },
            excluded_pairs: Source::Host(&EXCLUDED[..place % 3]),
            pair_filter_data: Source::Host(&DATA[..place]),
            query: QueryInput {
                rays,
                queries,
                query_mode: [QueryMode::All, QueryMode::Nearest(300)][place % 2],
                ..QueryInput::default()
            },
            ..Scene::default()
        };
        let scenes = rays.map(|rays| queries.into_iter().enumerate().map(move |queries| with(rays, queries)));
        scenes.into_iter().flatten().collect()
    }
}

fn of_host<T: bytemuck::NoUninit>(source: Source<'_, T>) -> &[u8] {
    bytemuck::cast_slice(source.elements().unwrap())
}

/// Returns the input as bytes, since NaNs are not equal.
fn bits(scene: &Scene<'_>) -> Vec<u8> {
    let statics = &scene.statics;
    let mut bytes = [
        of_host(scene.objects),
        of_host(scene.worlds),
        of_host(statics.objects),
        of_host(statics.worlds),
        bytemuck::bytes_of(&statics.generation),
        of_host(scene.excluded_pairs),
        of_host(scene.pair_filter_data),
    ]
    .concat();
    bytes.extend_from_slice(match scene.query.rays {
        Rays::Plain(rays) => of_host(rays),
        Rays::Swept(rays) => of_host(rays),
        _ => unreachable!(),
    });
    bytes.extend_from_slice(match scene.query.queries {
        Queries::Boxes(boxes) => of_host(boxes),
        Queries::General(queries) => of_host(queries),
        Queries::Objects(SelfQuery::Within { ref radius, .. }) => bytemuck::bytes_of(radius),
        _ => &[],
    });
    let kinds = (
        scene.query.query_mode,
        matches!(scene.query.rays, Rays::Plain(_)),
        match scene.query.queries {
            Queries::None => 0,
            Queries::Boxes(_) => 1,
            Queries::General(_) => 2,
            Queries::Objects(SelfQuery::Within { half, .. }) => 3 + u32::from(half),
            Queries::Objects(SelfQuery::Overlaps { half }) => 5 + u32::from(half),
            _ => unreachable!(),
        },
    );
    bytes.extend(format!("{kinds:?}").into_bytes());
    bytes
}

fn written(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    Snapshot::of(descriptor, scene).unwrap().write(&mut bytes).unwrap();
    bytes
}

fn seal(bytes: &mut [u8]) {
    let (summed, sum) = bytes.split_last_chunk_mut().unwrap();
    *sum = crc32fast::hash(summed).to_le_bytes();
}

/// Reads a snapshot. Panics if this takes over four times the memory of `bytes`, plus 1 KiB.
fn read(bytes: &[u8]) -> Result<Snapshot, SnapshotError> {
    let before = HELD.get();
    MOST.set(before);
    let result = Snapshot::read(bytes);
    let most = MOST.get() - before;
    // Allocations: the file in a vector that doubles, its rows, and an error text.
    assert!(most <= 4 * bytes.len() + 1_024, "{most} bytes for {}", bytes.len());
    if let Err(error) = &result {
        let text = error.to_string();
        assert!(text.len() < 250 && !text.contains('\n'), "{text}");
    }
    result
}

fn small_scene() -> (BroadPhaseDescriptor<'static>, [Aabb; 3], [Ray; 1]) {
    let descriptor = BroadPhaseDescriptor {
        scheme: Scheme::Adaptive { min_scale: 0.5 },
        margin: 0.25,
        outputs: OutputOptions {
            max_bytes: Some(1 << 20),
            ..Default::default()
        },
        ..BroadPhaseDescriptor::default()
    };
    let objects = [
        Aabb::new([0.0; 3], [1.0; 3]),
        Aabb::new([-0.0, 1.0, f32::NEG_INFINITY], [f32::INFINITY; 3]),
        Aabb::new([f32::NAN; 3], [1.0; 3]).with_group(Aabb::EXCLUDED),
    ];
    (
        descriptor,
        objects,
        [Ray::new([0.5; 3], [0.0, 0.0, 1.0], f32::INFINITY)],
    )
}

#[test]
fn every_kind_of_input_comes_back_bit_for_bit() {
    let rng = &mut Rng(5);
    for count in [0, 1, 2, 97] {
        let rows = Rows::random(count, rng);
        for scene in rows.scenes() {
            let descriptor = BroadPhaseDescriptor {
                label: Some("mine"),
                margin: f32::from_bits(0xffc0_0007),
                periods: [f32::INFINITY, -0.0, 3.0],
                worlds: 17,
                ..BroadPhaseDescriptor::default()
            };
            let snapshot = read(&written(&descriptor, &scene)).unwrap();
            assert_eq!(bits(&snapshot.scene()), bits(&scene));
            let read = snapshot.descriptor;
            assert_eq!(read.margin.to_bits(), descriptor.margin.to_bits());
            assert_eq!(read.periods.map(f32::to_bits), descriptor.periods.map(f32::to_bits));
            assert_eq!((read.worlds, read.label), (17, None));
        }
    }
}

#[test]
fn a_snapshot_gives_the_answer_of_its_scene() {
    let (descriptor, objects, rays) = small_scene();
    let scene = Scene {
        objects: Source::Host(&objects),
        query: QueryInput {
            rays: rays[..].into(),
            ..QueryInput::default()
        },
        ..Scene::default()
    };
    let snapshot = read(&written(&descriptor, &scene)).unwrap();
    let expected = cpu::step_scene(&descriptor, &scene).unwrap();
    assert_eq!((expected.pairs.len(), expected.counters.excluded), (1, 1));
    assert_eq!(cpu::step_scene(&snapshot.descriptor, &snapshot.scene()), Ok(expected));
}

/// [`small_scene`] as written by version 0.1.0.
const FORMAT_3: &str = "\
    89474250530d0a1a0305302e312e3001020000003f0000803e000000000000000000000000010100000000000000000000000080\
    3e01808040d804000000010060000000000000000000000000ffffffff0000803f0000803f0000803f0000000000000080000080\
    3f000080ffffffffff0000807f0000807f0000807f000000000000c07f0000c07f0000c07fffffffff0000803f0000803f000080\
    3f0000008000000000000000200000003f0000003f0000003f0000807f00000000000000000000803fffffffff0000fbb76759";

/// If this fails, the format has changed: raise `FORMAT`, and replace `FORMAT_3` by the printed text.
#[test]
fn a_file_of_this_format_is_still_read() {
    let (descriptor, objects, rays) = small_scene();
    let scene = Scene {
        objects: Source::Host(&objects),
        query: QueryInput {
            rays: rays[..].into(),
            ..QueryInput::default()
        },
        ..Scene::default()
    };
    let now: String = written(&descriptor, &scene)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let hex = |place: usize| u8::from_str_radix(&FORMAT_3[place..place + 2], 16).unwrap();
    let bytes: Vec<_> = (0..FORMAT_3.len()).step_by(2).map(hex).collect();
    let snapshot = read(&bytes).unwrap_or_else(|error| panic!("{error}: {now}"));
    assert_eq!(snapshot.descriptor, descriptor);
    assert_eq!(bits(&snapshot.scene()), bits(&scene));
}

#[test]
fn other_files_are_told_from_damaged_ones_and_from_other_formats() {
    let (descriptor, objects, _) = small_scene();
    let scene = Scene {
        objects: Source::Host(&objects),
        ..Scene::default()
    };
    let bytes = written(&descriptor, &scene);
    let as_text: Vec<u8> = String::from_utf8_lossy(&bytes).replace("\r\n", "\n").into_bytes();
    for other in [&b""[..], b"\x89GBPS\r\n", b"0,0,0,1,1,1\n", &as_text] {
        let error = read(other).unwrap_err();
        assert!(matches!(error, SnapshotError::NotASnapshot), "{error:?}");
    }
    for (place, value, told) in [(8, 9, "9"), (10, b'\n', "1")] {
        let mut other = bytes.clone();
        other[8] = 9;
        other[place] = value;
        seal(&mut other);
        let error = read(&other).unwrap_err();
        assert!(
            matches!(error, SnapshotError::OtherFormat { format: 9, .. }),
            "{error:?}"
        );
        let text = error.to_string();
        assert!(text.contains(told) && text.contains("use gpu-broad-phase"), "{text}");
    }
    let mut longer = bytes.clone();
    longer.extend([0; 4]);
    seal(&mut longer);
    let error = read(&longer).unwrap_err().to_string();
    assert!(error.contains("4 extra bytes") && error.contains("again"), "{error}");
}

#[test]
fn no_cut_and_no_flipped_bit_goes_unnoticed() {
    let (descriptor, objects, rays) = small_scene();
    let scene = Scene {
        objects: Source::Host(&objects),
        query: QueryInput {
            rays: rays[..].into(),
            ..QueryInput::default()
        },
        ..Scene::default()
    };
    let bytes = written(&descriptor, &scene);
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_err(), "{length}");
    }
    for bit in 0..8 * bytes.len() {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(read(&flipped).is_err(), "{bit}");
    }
}

#[test]
fn hostile_bytes_take_no_more_memory_than_they_fill() {
    let rng = &mut Rng(11);
    let rows = Rows::random(9, rng);
    let files: Vec<_> = rows
        .scenes()
        .iter()
        .map(|scene| written(&BroadPhaseDescriptor::default(), scene))
        .collect();
    let (mut whole, mut refused) = (0, 0);
    for round in 0..40_000 {
        let mut bytes = files[round % files.len()].clone();
        for _ in 0..=rng.below(3) {
            let place = match rng.below(4) {
                0 => rng.below(bytes.len()),
                _ => 8 + rng.below(120),
            };
            let value = [rng.below(256) as u8, 0xff, 0x7f, 0x80, 0][rng.below(5)];
            let run = 1 + rng.below(10);
            bytes[place..].iter_mut().take(run).for_each(|byte| *byte = value);
        }
        if rng.below(4) == 0 {
            bytes.truncate(12 + rng.below(bytes.len() - 12));
        }
        if rng.below(8) != 0 {
            seal(&mut bytes);
        }
        match read(&bytes) {
            Ok(snapshot) => {
                whole += 1;
                let again = read(&written(&snapshot.descriptor, &snapshot.scene())).unwrap();
                assert_eq!(bits(&again.scene()), bits(&snapshot.scene()));
            }
            Err(_) => refused += 1,
        }
    }
    assert!(whole > 1_000 && refused > 10_000, "{whole} read, {refused} refused");
}

#[test]
fn errors_of_readers_and_writers_are_handed_on() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::new(io::ErrorKind::StorageFull, "no room"))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    struct Broken;
    impl io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("pulled out"))
        }
    }
    let rows = Rows::random(2_000, &mut Rng(3));
    for count in [0, rows.objects.len()] {
        let scene = Scene {
            objects: Source::Host(&rows.objects[..count]),
            ..Scene::default()
        };
        let error = Snapshot::of(&BroadPhaseDescriptor::default(), &scene)
            .unwrap()
            .write(Full)
            .unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (io::ErrorKind::StorageFull, "no room")
        );
    }
    let error = Snapshot::read(Broken).unwrap_err();
    assert!(
        matches!(error, SnapshotError::Io(_)) && error.source().is_none(),
        "{error:?}"
    );
    assert_eq!(error.to_string(), "pulled out");
}
