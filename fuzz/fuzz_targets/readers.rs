//! Feeds arbitrary bytes to the file readers of the command line. The first byte selects the reader.
#![no_main]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use broadphase::args::ReadingArgs;
use broadphase::input;
use broadphase::mesh::Kind;
use broadphase::report::Reporter;
use gpu_broad_phase::LocalOrigin;
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

const NEXT_FRAME: &[u8] = b"\0next\0";
/// Bytes for any file. The largest buffer is the PLY reader's initial list of up to 65,536 members.
const SMALLEST_MEMORY: usize = 1 << 20;
/// Further bytes per byte of input. A PLY strip of one-byte indices needs most, 151: each byte yields a face, its edges
/// and its box, in vectors that grow by doubling.
const MEMORY_PER_BYTE: usize = 192;
/// For unpacked archives and repeated glTF meshes. DEFLATE expands inputs of at most 4,096 bytes up to 1,032 times.
const UNPACKED: usize = 128 << 20;
/// Errors are a single readable line, whatever the file holds.
const LONGEST_ERROR: usize = 600;

/// Counts bytes. `realloc` is the trait's own, which holds the old and the new block at the same time.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(held, Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Selects the format by its first bytes, then by `choice`.
fn extension(bytes: &[u8], choice: u8) -> &'static str {
    match choice & 2 != 0 {
        true if bytes.starts_with(b"glTF") => "glb",
        true if bytes.starts_with(b"{") => "gltf",
        true if bytes.starts_with(b"solid") || bytes.starts_with(&[0; 80]) => "stl",
        false if bytes.starts_with(b"PK") => "npz",
        false if bytes.starts_with(b"2\n") => "xyz",
        _ => ["csv", "npy", "ply", "obj"][usize::from(choice & 3)],
    }
}

fn written(extension: &str, frame: usize, bytes: &[u8]) -> PathBuf {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| TempDir::new().expect("a folder for the files"));
    let path = folder.path().join(format!("frame{frame}.{extension}"));
    std::fs::write(&path, bytes).expect("the file is written");
    path
}

fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else {
        return;
    };
    let is_mesh = choice & 2 != 0;
    let extension = extension(bytes, choice);
    let middle = bytes.windows(NEXT_FRAME.len()).position(|window| window == NEXT_FRAME);
    let middle = middle.filter(|_| is_mesh);
    let path = written(extension, 0, &bytes[..middle.unwrap_or(bytes.len())]);
    let next = middle.map(|middle| written(extension, 1, &bytes[middle + NEXT_FRAME.len()..]));

    let before = HELD.load(Relaxed);
    MOST.store(before, Relaxed);
    if is_mesh {
        mesh(&path, next, choice >> 2);
    } else {
        table(&path, choice >> 2);
    }
    let most = MOST.load(Relaxed).saturating_sub(before);
    input::take_warnings();
    let unpacked = usize::from(matches!(extension, "npz" | "glb" | "gltf")) * UNPACKED;
    let allowed = SMALLEST_MEMORY + unpacked + MEMORY_PER_BYTE * bytes.len();
    assert!(most <= allowed, "{most} bytes of memory, {allowed} allowed");
});

const QUIET: Reporter = Reporter { quiet: true };
const FAR: LocalOrigin = LocalOrigin {
    position: [5e5, -4.5e6, 0.1],
};

fn table(path: &Path, choice: u8) {
    let dimensions = 2 + (choice >> 2 & 1);
    let wanted = (choice & 8 != 0).then_some(dimensions);
    match choice & 3 {
        0 => {
            let reading = ReadingArgs {
                dimensions: wanted,
                ..ReadingArgs::default()
            };
            if let Some(scene) = checked(input::scene(path, &reading, QUIET)) {
                assert!(scene.elements.is_none() && wanted.is_none_or(|wanted| wanted == scene.dimensions));
            }
        }
        1 => drop(checked(input::rays(path, &[], dimensions, QUIET)).map(|rays| rays.at(FAR).into_plain())),
        2 => drop(checked(input::boxes(path, &[], dimensions, QUIET)).map(|boxes| boxes.at(FAR))),
        _ => {
            points(path, wanted);
        }
    }
}

fn points(path: &Path, dimensions: Option<u8>) -> Option<usize> {
    let points = checked(input::points(path, &[], dimensions, QUIET))?;
    let is_flat = |point: &[f64; 3]| points.dimensions == 3 || point[2] == 0.0;
    assert!(points.positions.iter().all(is_flat));
    Some(points.positions.len())
}

fn mesh(path: &Path, next: Option<PathBuf>, choice: u8) {
    use Kind::{Edges, Faces, Vertices};
    let kinds = [Vertices, Edges, Faces].into_iter().enumerate();
    let reading = ReadingArgs {
        elements: kinds
            .filter(|(bit, _)| choice >> bit & 1 != 0)
            .map(|(_, kind)| kind)
            .collect(),
        next,
        ..ReadingArgs::default()
    };
    let between = [
        &[][..],
        &[(Vertices, Faces)],
        &[(Edges, Edges)],
        &[(Vertices, Faces), (Edges, Faces)],
    ][usize::from(choice >> 3 & 3)];
    let dimensions = 2 + (choice & 1);
    let count = points(path, (choice & 2 != 0).then_some(dimensions));
    let queries = checked(input::boxes(path, &[], dimensions, QUIET)).map(|queries| queries.at(FAR).len());
    assert!(count.is_none() || queries.is_none() || count == queries);
    let wide = input::wide_scene_between(path, &reading, between, choice & 32 != 0, QUIET);
    let scene = checked(wide.and_then(|wide| wide.alone(None, QUIET)));
    let Some(scene) = scene else { return };
    let elements = scene.elements.expect("a mesh has elements");
    let [vertices, edges, faces] = elements.totals;
    assert!(vertices > 0 && scene.dimensions == 3);
    assert!(scene.boxes.len() <= vertices + edges + faces);
    let ids: Vec<_> = (0..scene.boxes.len() as u32).map(|index| elements.id(index)).collect();
    assert!(ids.is_sorted_by(|a, b| a < b));
    assert!(ids.last().is_none_or(|&id| (id as usize) < vertices + edges + faces));
    assert!((0..ids.len().min(20) as u32).all(|index| elements.are_incident(index, index)));
}

fn checked<T>(read: Result<T, impl Display>) -> Option<T> {
    let text = read.as_ref().err().map(|error| format!("{error:#}"));
    assert!(text.is_none_or(|text| text.len() <= LONGEST_ERROR), "a long error");
    read.ok()
}
