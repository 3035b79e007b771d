//! Snapshots keep every bit of their input. No file makes reading panic or allocate memory that it does not fill.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::error::Error;
use std::io;

use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, OutputOptions, Queries, Ray, Rays, Scene, Scheme, SelfQuery, Snapshot, SnapshotError,
    Source,
};
use wild::{Rng, Wild};

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

/// Scene `number`, with random bits in some words.
fn input(number: u64) -> (BroadPhaseDescriptor<'static>, Wild, Vec<u32>) {
    let mut rng = Rng(number);
    let mut descriptor = wild::descriptor(number);
    let mut wild = wild::scene(number, &descriptor);
    let mut words: Vec<_> = (0..rng.below(5)).map(|_| rng.bits() as u32).collect();
    for words in [
        bytemuck::cast_slice_mut(&mut wild.objects),
        bytemuck::cast_slice_mut(&mut wild.rays),
        bytemuck::cast_slice_mut(&mut wild.plain),
        &mut words[..],
    ] {
        for word in words {
            if rng.once_in(9) {
                *word = rng.one_of(&[0x7fc0_0001, 0xff80_0001, 0x8000_0000, number as u32]);
            }
        }
    }
    descriptor.margin = f32::from_bits(rng.one_of(&[0xffc0_0007, 0x8000_0000, 0x3f80_0000]));
    (descriptor, wild, words)
}

fn scene<'s>(wild: &'s Wild, words: &'s [u32]) -> Scene<'s> {
    Scene {
        pair_filter_data: Source::Host(words),
        ..wild.scene(u64::MAX - words.len() as u64)
    }
}

fn of_host<T: bytemuck::NoUninit>(source: Source<'_, T>) -> Vec<u8> {
    bytemuck::cast_slice(source.elements().unwrap()).to_vec()
}

/// Returns all rows as bytes, since NaNs are not equal, and the other fields as text.
fn bits(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> (Vec<Vec<u8>>, String) {
    let floats = [descriptor.periods.map(f32::to_bits), [descriptor.margin.to_bits(); 3]];
    let rows = vec![
        of_host(scene.objects),
        of_host(scene.worlds),
        of_host(scene.statics.objects),
        of_host(scene.statics.worlds),
        of_host(scene.excluded_pairs),
        of_host(scene.pair_filter_data),
        bytemuck::cast_slice(&floats).to_vec(),
        match scene.query.rays {
            Rays::Plain(rays) => of_host(rays),
            Rays::Swept(rays) => of_host(rays),
            _ => Vec::new(),
        },
        match scene.query.queries {
            Queries::Boxes(boxes) => of_host(boxes),
            Queries::General(queries) => of_host(queries),
            Queries::Objects(SelfQuery::Within { radius, .. }) => radius.to_bits().to_le_bytes().to_vec(),
            _ => Vec::new(),
        },
    ];
    (rows, format!("{descriptor:?} {scene:?}"))
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

#[test]
fn every_kind_of_input_comes_back_bit_for_bit() {
    for number in 0..500 {
        let (descriptor, wild, words) = input(number);
        let scene = scene(&wild, &words);
        let labelled = BroadPhaseDescriptor {
            label: Some("mine"),
            ..descriptor
        };
        let read = read(&written(&labelled, &scene)).unwrap();
        assert_eq!(
            bits(&read.descriptor, &read.scene()),
            bits(&descriptor, &scene),
            "{number}"
        );
    }
}

/// A scene and its file, as written by version 0.1.0.
fn old_file() -> (BroadPhaseDescriptor<'static>, [Aabb; 3], [Ray; 1], Vec<u8>) {
    const FORMAT_3: &str = "\
    89474250530d0a1a0305302e312e3001020000003f0000803e000000000000000000000000010100000000000000000000000080\
    3e01808040d804000000010060000000000000000000000000ffffffff0000803f0000803f0000803f0000000000000080000080\
    3f000080ffffffffff0000807f0000807f0000807f000000000000c07f0000c07f0000c07fffffffff0000803f0000803f000080\
    3f0000008000000000000000200000003f0000003f0000003f0000807f00000000000000000000803fffffffff0000fbb76759";
    let hex = |place: usize| u8::from_str_radix(&FORMAT_3[place..place + 2], 16).unwrap();
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
    let rays = [Ray::new([0.5; 3], [0.0, 0.0, 1.0], f32::INFINITY)];
    let bytes = (0..FORMAT_3.len()).step_by(2).map(hex).collect();
    (descriptor, objects, rays, bytes)
}

/// If this fails, the format has changed: raise `FORMAT`, and replace `FORMAT_3` by the printed text.
#[test]
fn a_file_of_this_format_is_still_read() {
    let (descriptor, objects, rays, bytes) = old_file();
    let mut scene = Scene {
        objects: objects[..].into(),
        ..Scene::default()
    };
    scene.query.rays = rays[..].into();
    let now = written(&descriptor, &scene);
    let now: String = now.iter().map(|byte| format!("{byte:02x}")).collect();
    let read = read(&bytes).unwrap_or_else(|error| panic!("{error}: {now}"));
    assert_eq!(bits(&read.descriptor, &read.scene()), bits(&descriptor, &scene));
}

#[test]
fn other_files_cuts_and_flipped_bits_are_told_apart_and_refused() {
    let (.., bytes) = old_file();
    let as_text: Vec<u8> = String::from_utf8_lossy(&bytes).replace("\r\n", "\n").into_bytes();
    for other in [&b""[..], b"\x89GBPS\r\n", b"0,0,0,1,1,1\n", &as_text] {
        let error = read(other).unwrap_err();
        assert!(matches!(error, SnapshotError::NotASnapshot), "{error:?}");
    }
    for (place, value, version) in [(8, 9, "9"), (10, b'\n', "1")] {
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
        assert!(text.contains(version) && text.contains("use gpu-broad-phase"), "{text}");
    }
    let mut longer = [&bytes[..], &[0; 4]].concat();
    seal(&mut longer);
    let error = read(&longer).unwrap_err();
    assert!(matches!(error, SnapshotError::Damaged { .. }), "{error:?}");
    let error = error.to_string();
    assert!(error.contains("4 extra bytes") && error.contains("again"), "{error}");
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
    let files = (0..60).map(|number| {
        let (descriptor, mut wild, words) = input(number);
        wild.objects.truncate(9);
        wild.worlds.truncate(9);
        wild.statics = wild.statics.min(wild.objects.len());
        written(&descriptor, &scene(&wild, &words))
    });
    let files: Vec<_> = files.collect();
    let (mut whole, mut refused) = (0, 0);
    for round in 0..15_000 {
        let mut bytes = files[round % files.len()].clone();
        for _ in 0..=rng.below(3) {
            let place = match rng.below(4) {
                0 => rng.below(bytes.len()),
                _ => 8 + rng.below(120),
            };
            let value = [rng.below(256) as u8, 0xff, 0x7f, 0x80, 0][rng.below(5)];
            let run = 1 + rng.below(10);
            bytes.iter_mut().skip(place).take(run).for_each(|byte| *byte = value);
        }
        if rng.once_in(4) {
            bytes.truncate(12 + rng.below(bytes.len() - 12));
        }
        if !rng.once_in(8) {
            seal(&mut bytes);
        }
        let Ok(snapshot) = read(&bytes) else {
            refused += 1;
            continue;
        };
        whole += 1;
        let again = read(&written(&snapshot.descriptor, &snapshot.scene())).unwrap();
        let [again, first] = [again, snapshot].map(|read| bits(&read.descriptor, &read.scene()));
        assert_eq!(again, first, "round {round}");
    }
    assert!(whole > 400 && refused > 4_000, "{whole} read, {refused} refused");
}

struct Broken;

impl io::Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::new(io::ErrorKind::StorageFull, "no room"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl io::Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("pulled out"))
    }
}

#[test]
fn errors_of_readers_and_writers_are_handed_on() {
    let objects = [Aabb::point([0.0; 3]); 2_000];
    for objects in [&objects[..], &[]] {
        let scene = Scene {
            objects: objects.into(),
            ..Scene::default()
        };
        let snapshot = Snapshot::of(&BroadPhaseDescriptor::default(), &scene).unwrap();
        let error = snapshot.write(Broken).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(error.to_string(), "no room");
    }
    let error = Snapshot::read(Broken).unwrap_err();
    assert!(matches!(error, SnapshotError::Io(_)) && error.source().is_none());
    assert_eq!(error.to_string(), "pulled out");
}
