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
/// Errors are a single readable line, whatever the file holds.
const LONGEST_ERROR: usize = 600;

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn take(bytes: usize) {
    let held = HELD.fetch_add(bytes, Relaxed) + bytes;
    MOST.fetch_max(held, Relaxed);
}

// SAFETY: every call is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The old and the new block may exist at the same time.
        take(size);
        HELD.fetch_sub(layout.size(), Relaxed);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const EXTENSIONS: [&str; 4] = ["csv", "npy", "ply", "obj"];
/// For unpacked archives and repeated glTF meshes. DEFLATE expands inputs of at most 4,096 bytes up to 1,032 times.
const UNPACKED: usize = 128 << 20;

/// Selects the format by its first bytes, so that older inputs keep their meaning.
fn extension(bytes: &[u8], is_mesh: bool, otherwise: &'static str) -> &'static str {
    match is_mesh {
        true if bytes.starts_with(b"glTF") => "glb",
        true if bytes.starts_with(b"{") => "gltf",
        true if bytes.starts_with(b"solid") || bytes.starts_with(&[0; 80]) => "stl",
        false if bytes.starts_with(b"PK") => "npz",
        false if bytes.starts_with(b"2\n") => "xyz",
        _ => otherwise,
    }
}

fn path(extension: &str, frame: usize) -> PathBuf {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| TempDir::new().expect("a folder for the files"));
    folder.path().join(format!("frame{frame}.{extension}"))
}

fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else {
        return;
    };
    let is_mesh = choice & 2 != 0;
    let extension = extension(bytes, is_mesh, EXTENSIONS[usize::from(choice & 3)]);
    let middle = bytes.windows(NEXT_FRAME.len()).position(|window| window == NEXT_FRAME);
    let (first, second) = match middle {
        Some(middle) if is_mesh => (&bytes[..middle], Some(&bytes[middle + NEXT_FRAME.len()..])),
        _ => (bytes, None),
    };
    let main = path(extension, 0);
    std::fs::write(&main, first).expect("the file is written");
    let next = second.map(|second| {
        let next = path(extension, 1);
        std::fs::write(&next, second).expect("the file is written");
        next
    });

    let before = HELD.load(Relaxed);
    MOST.store(before, Relaxed);
    if is_mesh {
        mesh(&main, next, choice >> 2);
    } else {
        table(&main, choice >> 2);
    }
    let most = MOST.load(Relaxed).saturating_sub(before);
    input::take_warnings();
    let unpacked = if matches!(extension, "npz" | "glb" | "gltf") { UNPACKED } else { 0 };
    let allowed = SMALLEST_MEMORY + unpacked + MEMORY_PER_BYTE * bytes.len();
    assert!(
        most <= allowed,
        "{most} bytes of memory for {} of the file",
        bytes.len()
    );
});

const QUIET: Reporter = Reporter { quiet: true };
const FAR: LocalOrigin = LocalOrigin {
    position: [5e5, -4.5e6, 0.1],
};

fn reading(dimensions: Option<u8>, elements: Vec<Kind>, next: Option<PathBuf>) -> ReadingArgs {
    ReadingArgs {
        dimensions,
        elements,
        next,
        ..ReadingArgs::default()
    }
}

fn table(path: &Path, choice: u8) {
    let dimensions = 2 + (choice >> 2 & 1);
    let asked = (choice & 8 != 0).then_some(dimensions);
    match choice & 3 {
        0 => told(input::scene(path, &reading(asked, Vec::new(), None), QUIET)).map(|scene| {
            assert!(scene.elements.is_none() && asked.is_none_or(|asked| asked == scene.dimensions));
            scene.boxes.len()
        }),
        1 => told(input::rays(path, &[], dimensions, QUIET)).map(|rays| rays.at(FAR).into_plain().len()),
        2 => told(input::boxes(path, &[], dimensions, QUIET)).map(|boxes| boxes.at(FAR).len()),
        _ => points(path, asked),
    };
}

fn points(path: &Path, dimensions: Option<u8>) -> Option<usize> {
    let points = told(input::points(path, &[], dimensions, QUIET))?;
    let is_flat = |point: &[f64; 3]| points.dimensions == 3 || point[2] == 0.0;
    assert!(points.positions.iter().all(is_flat));
    Some(points.positions.len())
}

fn mesh(path: &Path, next: Option<PathBuf>, choice: u8) {
    const KINDS: [Kind; 3] = [Kind::Vertices, Kind::Edges, Kind::Faces];
    let elements = (0..3)
        .filter(|bit| choice >> bit & 1 != 0)
        .map(|bit| KINDS[bit])
        .collect();
    let between = [
        &[][..],
        &[(Kind::Vertices, Kind::Faces)],
        &[(Kind::Edges, Kind::Edges)],
        &[(Kind::Vertices, Kind::Faces), (Kind::Edges, Kind::Faces)],
    ][usize::from(choice >> 3 & 3)];
    let free = choice & 32 != 0;
    let dimensions = 2 + (choice & 1);
    let count = points(path, (choice & 2 != 0).then_some(dimensions));
    let queries = told(input::boxes(path, &[], dimensions, QUIET));
    assert!(queries.is_none_or(|queries| count.is_none_or(|count| count == queries.at(FAR).len())));
    let wide = input::wide_scene_between(path, &reading(None, elements, next), between, free, QUIET);
    let scene = told(wide.and_then(|wide| wide.alone(None, QUIET)));
    let Some(scene) = scene else { return };
    let elements = scene.elements.expect("a mesh has elements");
    let [vertices, edges, faces] = elements.totals;
    assert!(vertices > 0 && scene.dimensions == 3);
    assert!(scene.boxes.len() <= vertices + edges + faces);
    let ids: Vec<_> = (0..scene.boxes.len() as u32).map(|index| elements.id(index)).collect();
    assert!(ids.is_sorted_by(|a, b| a < b));
    assert!(ids.last().is_none_or(|&id| (id as usize) < vertices + edges + faces));
    for index in 0..ids.len().min(20) as u32 {
        assert!(elements.are_incident(index, index));
    }
}

fn told<T>(read: Result<T, impl Display>) -> Option<T> {
    match read {
        Ok(read) => Some(read),
        Err(error) => {
            let text = format!("{error:#}");
            assert!(text.len() <= LONGEST_ERROR, "an error of {} bytes", text.len());
            None
        }
    }
}
