mod atoms;
mod columns;
mod gltf;
pub mod invalid;
mod mesh;
mod npy;
mod npy_header;
mod npz;
mod obj;
mod ply;
mod ply_header;
mod stl;
mod text;
mod wide;

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use gpu_broad_phase::{Aabb, LocalOrigin, Pair, Snapshot};
use indicatif::{ProgressBar, ProgressBarIter};

use crate::args::{PairArgs, ReadingArgs, SceneArgs};
use crate::mesh::{Between, Elements, Mesh, Selection};
use crate::output::{Output, is_output};
use crate::report::{Reporter, counted};
use columns::{Choice, Content};
use npy::Length;
pub use wide::{RayList, WideBoxes, WideRays, WideScene, bounds};

pub struct Scene {
    /// Measured from `origin`.
    pub boxes: Vec<Aabb>,
    pub dimensions: u8,
    /// `None` for a table of boxes, whose row numbers are the ids.
    pub elements: Option<Elements>,
    pub origin: LocalOrigin,
}

pub struct Points {
    pub positions: Vec<[f64; 3]>,
    pub dimensions: u8,
    /// Vectors of the cell, 0 on axes without a period; `None` if the file has no cell.
    pub cell: Option<[[f64; 3]; 3]>,
}

/// Cell with these periods.
pub fn along_axes(periods: [f64; 3]) -> [[f64; 3]; 3] {
    std::array::from_fn(|axis| std::array::from_fn(|of| if axis == of { periods[axis] } else { 0.0 }))
}

struct Table {
    columns: usize,
    values: Vec<f64>,
    filters: Option<Vec<[u32; 2]>>,
    cell: Option<[[f64; 3]; 3]>,
    /// Names of the columns, if they decided.
    read_as: Option<String>,
}

impl Table {
    fn new(columns: usize) -> Self {
        Self {
            columns,
            values: Vec::new(),
            filters: None,
            cell: None,
            read_as: None,
        }
    }

    fn rows(&self) -> impl Iterator<Item = &[f64]> + Clone {
        self.values.chunks_exact(self.columns)
    }

    fn len(&self) -> usize {
        self.values.len() / self.columns
    }
}

/// Reads boxes or a mesh; errors name the file.
pub fn scene(path: &Path, reading: &ReadingArgs, reporter: Reporter) -> Result<Scene> {
    wide_scene(path, reading, reporter)?.alone(None, reporter)
}

/// Like [`scene`], but also applies `--between`, `--free` and `--groups`. The origin is a multiple of `cell`.
pub fn scene_of_pairs(args: &SceneArgs, which: &PairArgs, cell: Option<f64>, reporter: Reporter) -> Result<Scene> {
    let scene = wide_scene_of_pairs(args, which, reporter)?.alone(cell, reporter)?;
    with_groups(scene, which, reporter)
}

pub fn with_groups(mut scene: Scene, which: &PairArgs, reporter: Reporter) -> Result<Scene> {
    if let Some(groups) = &which.groups {
        set_groups(&mut scene, groups, reporter)?;
    }
    Ok(scene)
}

/// Like [`scene`], with coordinates in f64, so that other inputs can have the same origin.
pub fn wide_scene(path: &Path, reading: &ReadingArgs, reporter: Reporter) -> Result<WideScene> {
    wide_scene_between(path, reading, &[], false, reporter)
}

/// Like [`wide_scene`], but also applies `--between` and `--free`.
pub fn wide_scene_of_pairs(args: &SceneArgs, which: &PairArgs, reporter: Reporter) -> Result<WideScene> {
    wide_scene_between(&args.scene, &args.reading, &which.between, which.free, reporter)
}

/// Like [`wide_scene`], with layers for the kinds in `between`. `free` requires a mesh.
pub fn wide_scene_between(
    path: &Path,
    reading: &ReadingArgs,
    between: &[Between],
    free: bool,
    reporter: Reporter,
) -> Result<WideScene> {
    let named = || name(path);
    let input = Input::open(path, reporter).with_context(named)?;
    let scene = if input.format.is_mesh() {
        refuse_of_mesh(!reading.columns.is_empty(), "--columns").with_context(named)?;
        refuse_of_mesh(reading.form.is_some(), "--form").with_context(named)?;
        let selection = Selection::new(&reading.elements, between)?;
        mesh::scene(path, input, reading, selection, reporter)?
    } else {
        for (given, option) in [
            (!reading.elements.is_empty(), "--elements"),
            (reading.next.is_some(), "--next"),
            (!between.is_empty(), "--between"),
            (free, "--free"),
        ] {
            if given {
                bail!("{}: {option} needs a mesh ({MESHES})", name(path));
            }
        }
        let choice = Choice {
            content: Content::Boxes,
            columns: &reading.columns,
            form: reading.form,
        };
        let table = table_of(path, input, &choice, reporter);
        let scene = table.and_then(|table| WideScene::of_table(path, table));
        scene.with_context(named)?
    };
    if let Some(asked) = reading.dimensions
        && asked != scene.dimensions
    {
        bail!(
            "{}: the scene is {}D, --dimensions requires {asked}",
            name(path),
            scene.dimensions
        );
    }
    Ok(scene)
}

fn refuse_of_mesh(is_given: bool, option: &str) -> Result<()> {
    if is_given {
        bail!("{option} needs a table ({TABLES})");
    }
    Ok(())
}

/// Gives all boxes of a body the same group. The file has the body of each box, or of each vertex of a mesh; -1 means
/// none.
fn set_groups(scene: &mut Scene, path: &Path, reporter: Reporter) -> Result<()> {
    let mut set = || {
        if scene.boxes.iter().any(|boxed| boxed.group != 0) {
            bail!("--groups conflicts with the scene's group column: remove one");
        }
        let groups = groups(&table(path, &Choice::of(Content::Ids, &[]), reporter)?)?;
        let (what, count) = match &scene.elements {
            Some(elements) => ("vertices", elements.totals[0]),
            None => ("boxes", scene.boxes.len()),
        };
        if groups.len() != count {
            bail!("{} rows, the scene has {count} {what}", groups.len());
        }
        for (boxed, index) in scene.boxes.iter_mut().zip(0..) {
            boxed.group = match &scene.elements {
                None => groups[index as usize],
                Some(elements) => {
                    let vertices = elements.vertices(index);
                    let group = groups[vertices[0] as usize];
                    if let Some(other) = vertices.iter().find(|&&vertex| groups[vertex as usize] != group) {
                        bail!(
                            "element {} has vertices {} and {other} of different bodies",
                            elements.id(index),
                            vertices[0]
                        );
                    }
                    group
                }
            };
        }
        Ok(())
    };
    set().with_context(|| name(path))
}

/// Groups are body numbers plus one, or 0 for no body.
fn groups(table: &Table) -> Result<Vec<u32>> {
    if table.columns != 1 {
        bail!("{} columns; use 1 for bodies", table.columns);
    }
    let most = f64::from(Aabb::GROUP_MASK - 1);
    let group = |(row, &body): (usize, &f64)| {
        if body.fract() != 0.0 || !(-1.0..=most).contains(&body) {
            bail!("row {row}: {body} is not a body; use integers from -1 to {most}");
        }
        Ok((body + 1.0) as u32)
    };
    table.values.iter().enumerate().map(group).collect()
}

pub fn excluded(path: Option<&Path>, scene: &Scene, reporter: Reporter) -> Result<Vec<Pair>> {
    let Some(path) = path else {
        return Ok(Vec::new());
    };
    let read = || {
        let table = match table(path, &Choice::of(Content::Ids, &[]), reporter) {
            // A result without rows, as text.
            Err(error) if error.is::<Empty>() && is_text(path) => return Ok(Vec::new()),
            table => table?,
        };
        if table.columns != 2 {
            bail!("{} columns; use 2 for pairs", table.columns);
        }
        let index_of = |row: usize, id: f64| {
            if id.fract() != 0.0 || !(0.0..=f64::from(u32::MAX)).contains(&id) {
                bail!("row {row}: {id} is not an id");
            }
            Ok(match &scene.elements {
                None => Some(id as u32),
                Some(elements) => elements.index_of(id as u32),
            })
        };
        let mut pairs = Vec::new();
        for (row, ids) in table.rows().enumerate() {
            if let (Some(a), Some(b)) = (index_of(row, ids[0])?, index_of(row, ids[1])?) {
                pairs.push(Pair { a, b });
            }
        }
        Ok(pairs)
    };
    read().with_context(|| name(path))
}

/// Errors name the file.
pub fn frames(paths: [&Path; 2], reporter: Reporter) -> Result<[Mesh; 2]> {
    mesh::frames(paths, &Selection::fixed_faces(), reporter)
}

pub fn rays(path: &Path, columns: &[String], dimensions: u8, reporter: Reporter) -> Result<WideRays> {
    let read = || {
        let table = table(path, &Choice::of(Content::Rays, columns), reporter)?;
        if table.filters.is_some() {
            bail!("rays cannot have layers or group columns");
        }
        let rays_dimensions = match table.columns {
            6 | 7 => 3,
            4 | 5 => 2,
            columns => bail!(
                "{columns} columns; rays need 7 (origin, direction, t_max), or 6 without t_max; in 2D 5 or 4; pick them \
                 with --ray-columns"
            ),
        };
        if rays_dimensions != dimensions {
            bail!("the rays are {rays_dimensions}D and the scene is {dimensions}D");
        }
        if table.columns == 2 * usize::from(dimensions) {
            reporter.say(format!("{}: no t_max column: rays are infinite", name(path)));
        }
        Ok(WideRays::new(path, table, dimensions))
    };
    read().with_context(|| name(path))
}

pub fn boxes(path: &Path, columns: &[String], dimensions: u8, reporter: Reporter) -> Result<WideBoxes> {
    let read = || {
        let input = Input::open(path, reporter)?;
        let (boxes, boxes_dimensions) = if input.format.is_mesh() {
            refuse_of_mesh(!columns.is_empty(), "--query-columns")?;
            let points = query_points(path, input, dimensions, reporter)?;
            (WideBoxes::of_points(path, points.positions, vertex), points.dimensions)
        } else {
            let choice = Choice::of(Content::Queries, columns);
            let table = table_of(path, input, &choice, reporter)?;
            // The number of columns distinguishes boxes from points.
            match table.columns {
                2 | 3 => {
                    let points = points_of_table(&table)?;
                    (WideBoxes::of_points(path, points.positions, row), points.dimensions)
                }
                4 | 6 => {
                    let dimensions = dimensions_of_boxes(&table)?;
                    (WideBoxes::of_table(path, &table), dimensions)
                }
                columns => bail!(
                    "{columns} columns; queries need 6 (mins then maxes) or 3 (points), in 2D 4 or 2; pick them with \
                     --query-columns"
                ),
            }
        };
        if boxes_dimensions != dimensions {
            bail!("the queries are {boxes_dimensions}D and the scene is {dimensions}D");
        }
        Ok(boxes)
    };
    read().with_context(|| name(path))
}

/// Refuses a mesh: its vertices or the boxes of its faces could be meant.
fn query_points(path: &Path, input: Input, dimensions: u8, reporter: Reporter) -> Result<Points> {
    let (points, [edges, faces]) = mesh::points(path, input, Some(dimensions), reporter)?;
    for (count, what) in [(faces, "face"), (edges, "edge")] {
        if count > 0 {
            let elements = counted(count as u64, what);
            bail!("a mesh with {elements}; queries need a table of boxes or points, or a file with vertices only");
        }
    }
    Ok(points)
}

pub fn points(path: &Path, columns: &[String], dimensions: Option<u8>, reporter: Reporter) -> Result<Points> {
    let mut place: fn(usize) -> String = row;
    let mut read = || {
        let input = Input::open(path, reporter)?;
        let points = if input.format.is_mesh() {
            refuse_of_mesh(!columns.is_empty(), "--columns")?;
            place = vertex;
            let (points, [edges, faces]) = mesh::points(path, input, dimensions, reporter)?;
            if edges + faces > 0 {
                let vertices = points.positions.len();
                reporter.say(format!(
                    "{}: the points are its {vertices} vertices; faces and edges are ignored",
                    name(path)
                ));
            }
            points
        } else {
            let choice = Choice::of(Content::Points, columns);
            points_of_table(&table_of(path, input, &choice, reporter)?)?
        };
        if let Some(asked) = dimensions
            && asked != points.dimensions
        {
            bail!("the points are {}D, --dimensions requires {asked}", points.dimensions);
        }
        Ok(points)
    };
    let points = read().with_context(|| name(path))?;
    warn_of(
        path,
        "points",
        points.positions.iter(),
        |point| invalid::of_point(point),
        place,
    );
    Ok(points)
}

/// Warns after the results, as of ignored rows.
pub fn warn(path: &Path, note: String) {
    warn_all(path, [note]);
}

fn row(place: usize) -> String {
    format!("row {place}")
}

fn vertex(place: usize) -> String {
    format!("vertex {place}")
}

/// Warns of ignored rows, which otherwise only show as missing results.
fn warn_of<T>(
    path: &Path,
    what: &str,
    rows: impl Iterator<Item = T> + Clone,
    why: impl Fn(&T) -> Option<String>,
    name_of: impl Fn(usize) -> String,
) {
    warn_all(path, invalid::warning(what, rows, why, name_of));
}

fn points_of_table(table: &Table) -> Result<Points> {
    if table.filters.is_some() {
        bail!("points cannot have layers or group columns");
    }
    let axes = match table.columns {
        3 => 3,
        2 => 2,
        columns => bail!("{columns} columns; points need 3, in 2D 2; pick them with --columns"),
    };
    let position = |row: &[f64]| std::array::from_fn(|axis| if axis < axes { row[axis] } else { 0.0 });
    Ok(Points {
        positions: table.rows().map(position).collect(),
        dimensions: axes as u8,
        cell: table.cell,
    })
}

pub fn snapshot(path: &Path, reporter: Reporter) -> Result<Snapshot> {
    let read = || {
        let snapshot = Snapshot::read(&mut Input::open_any(path, reporter)?.reader)?;
        let worlds = snapshot.descriptor.worlds;
        if worlds > MOST_WORLDS {
            bail!("{worlds} worlds; replay supports at most {MOST_WORLDS}");
        }
        Ok(snapshot)
    };
    read().with_context(|| name(path))
}

/// The smallest binding holds a word per world. The file's size is no limit, because worlds take none of its bytes.
const MOST_WORLDS: u32 = 1 << 25;

fn dimensions_of_boxes(table: &Table) -> Result<u8> {
    match table.columns {
        6 => Ok(3),
        4 => Ok(2),
        columns => bail!(
            "{columns} columns; boxes need 6 (mins then maxes), in 2D 4, and optionally two named layers,group; pick \
             them with --columns"
        ),
    }
}

fn table(path: &Path, choice: &Choice, reporter: Reporter) -> Result<Table> {
    table_of(path, Input::open(path, reporter)?, choice, reporter)
}

fn table_of(path: &Path, mut input: Input, choice: &Choice, reporter: Reporter) -> Result<Table> {
    let mut notes = Vec::new();
    let table = match input.format {
        Format::Text => {
            let may_be_atoms = is_standard_input(path) || Format::is_of_positions(path);
            match may_be_atoms && atoms::is_likely(input.reader.fill_buf()?, !is_standard_input(path)) {
                true => choice.apply(atoms::read(&mut input.reader, &mut notes)?)?,
                false => text::read(&mut input.reader, choice, &mut notes)?,
            }
        }
        Format::Npy => choice.apply(npy::read(&mut input.reader, input.length, Length::Known, &mut notes)?)?,
        Format::Npz => {
            let archive = input.bytes()?;
            choice.apply(npz::read(&archive, input.entry.as_deref(), &mut notes)?)?
        }
        mesh => bail!("{}; use a table ({TABLES})", mesh.name()),
    };
    // The library reserves the largest id for "none".
    if table.len() >= u32::MAX as usize {
        bail!("too many rows: ids have 32 bits");
    }
    warn_all(path, notes);
    if let Some(names) = &table.read_as {
        reporter.say(format!("{}: columns by name: {names}", name(path)));
    }
    Ok(table)
}

#[derive(Debug)]
struct Empty(&'static str);

impl Display for Empty {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

impl Error for Empty {}

fn is_text(path: &Path) -> bool {
    is_standard_input(path) || matches!(Format::of_name(path), Ok(Format::Text))
}

/// Warnings are printed after a successful command; a failed one prints its error alone.
static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn warn_all(path: &Path, notes: impl IntoIterator<Item = String>) {
    let warnings = notes.into_iter().map(|note| format!("{}: {note}", name(path)));
    WARNINGS.lock().unwrap_or_else(PoisonError::into_inner).extend(warnings);
}

pub fn take_warnings() -> Vec<String> {
    std::mem::take(&mut WARNINGS.lock().unwrap_or_else(PoisonError::into_inner))
}

const TABLES: &str = ".csv, .txt, .tsv, .dat, .xyz, .extxyz, .npy, .npz";
const MESHES: &str = ".ply, .obj, .stl, .gltf, .glb";

const ENTRY: &str = ".npz:";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Format {
    Text,
    Npy,
    Npz,
    Ply,
    Obj,
    Stl,
    Gltf,
}

impl Format {
    fn of_name(path: &Path) -> Result<Self> {
        let extension = path.extension().unwrap_or_default();
        Ok(match extension.to_string_lossy().to_lowercase().as_str() {
            "csv" | "txt" | "tsv" | "dat" | "xyz" | "extxyz" => Self::Text,
            "npy" => Self::Npy,
            "npz" => Self::Npz,
            "ply" => Self::Ply,
            "obj" => Self::Obj,
            "stl" => Self::Stl,
            "gltf" | "glb" => Self::Gltf,
            _ => bail!("unknown file ending: use a table ({TABLES}) or a mesh ({MESHES})"),
        })
    }

    fn is_of_positions(path: &Path) -> bool {
        let extension = path.extension().unwrap_or_default();
        ["xyz", "extxyz"]
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known))
    }

    fn of_bytes(bytes: &[u8]) -> Self {
        if bytes.starts_with(b"\x93NUMPY") {
            return Self::Npy;
        }
        if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
            return Self::Npz;
        }
        if [b"ply\n", b"ply\r"]
            .iter()
            .any(|&start| without_mark(bytes).starts_with(start))
        {
            return Self::Ply;
        }
        if bytes.starts_with(gltf::GLB_MAGIC) || without_mark(bytes).trim_ascii_start().starts_with(b"{") {
            return Self::Gltf;
        }
        if stl::is_text(bytes) || stl::is_binary(bytes) {
            return Self::Stl;
        }
        if obj::is_likely(without_mark(bytes)) {
            return Self::Obj;
        }
        Self::Text
    }

    fn is_mesh(self) -> bool {
        matches!(self, Self::Ply | Self::Obj | Self::Stl | Self::Gltf)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Text => "a table as text",
            Self::Npy => "a NumPy array",
            Self::Npz => "a NumPy archive",
            Self::Ply => "a PLY mesh",
            Self::Obj => "an OBJ mesh",
            Self::Stl => "an STL mesh",
            Self::Gltf => "a glTF scene",
        }
    }
}

const MARK: &[u8] = b"\xef\xbb\xbf";

fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK).unwrap_or(bytes)
}

fn refuse_packed(start: &[u8]) -> Result<()> {
    const KINDS: [(&[u8], &str, &str); 4] = [
        (b"\x1f\x8b\x08", "gzip", "gunzip -k"),
        (b"BZh", "bzip2", "bunzip2 -k"),
        (b"\xfd7zXZ\0", "xz", "unxz -k"),
        (b"\x28\xb5\x2f\xfd", "zstd", "unzstd"),
    ];
    match KINDS.iter().find(|(magic, ..)| start.starts_with(magic)) {
        Some((_, kind, command)) => bail!("compressed with {kind}; unpack it first, as with {command}"),
        None => Ok(()),
    }
}

pub fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

pub fn name(path: &Path) -> String {
    if is_standard_input(path) {
        return "standard input".to_owned();
    }
    path.display().to_string()
}

/// Checks that an input exists: for `FILE.npz:NAME`, the archive.
pub fn exists(path: &Path) -> bool {
    is_standard_input(path) || path.exists() || parted(path).is_some_and(|(archive, _)| archive.exists())
}

/// Splits `FILE.npz:NAME` at the colon.
fn parted(path: &Path) -> Option<(PathBuf, String)> {
    let text = path.to_str()?;
    let colon = text.to_ascii_lowercase().find(ENTRY)? + ENTRY.len() - 1;
    if path.exists() {
        return None;
    }
    Some((PathBuf::from(&text[..colon]), text[colon + 1..].to_owned()))
}

/// Limit of unpacked or instanced bytes: 100 times the file's `length`, at least 64 MiB. DEFLATE alone reaches 1,032
/// times.
fn most_unpacked(length: u64) -> u64 {
    length.saturating_mul(100).max(64 << 20)
}

fn shortened(text: &str) -> String {
    const LONGEST: usize = 80;
    let mut chars = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut start: String = chars.by_ref().take(LONGEST).collect();
    if chars.next().is_some() {
        start.push('…');
    }
    start
}

struct Input {
    reader: BufReader<Bytes>,
    /// Bytes of input, which limit the counts that a header may claim.
    length: u64,
    format: Format,
    entry: Option<String>,
    /// `None` for standard input.
    folder: Option<PathBuf>,
    bar: ProgressBar,
}

enum Bytes {
    File(ProgressBarIter<File>),
    /// All of standard input, read first to know its length.
    Memory(Cursor<Vec<u8>>),
}

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Memory(bytes) => bytes.read(buffer),
        }
    }
}

impl Seek for Bytes {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file) => file.seek(position),
            Self::Memory(bytes) => bytes.seek(position),
        }
    }
}

impl Input {
    fn open(path: &Path, reporter: Reporter) -> Result<Self> {
        if is_standard_input(path) {
            return Self::standard(reporter);
        }
        let (path, entry) = match parted(path) {
            Some((archive, entry)) => (archive, Some(entry)),
            None => (path.to_owned(), None),
        };
        Self::file(&path, Format::of_name, entry, reporter)
    }

    /// Does not check the file's ending.
    fn open_any(path: &Path, reporter: Reporter) -> Result<Self> {
        match is_standard_input(path) {
            true => Self::standard(reporter),
            false => Self::file(path, |_| Ok(Format::Text), None, reporter),
        }
    }

    /// Opens the file first, so that a missing file is reported before an unknown format.
    fn file(
        path: &Path,
        format: impl Fn(&Path) -> Result<Format>,
        entry: Option<String>,
        reporter: Reporter,
    ) -> Result<Self> {
        let (file, length) = open_file(path)?;
        let bar = reporter.bar(length, "reading");
        let mut reader = BufReader::with_capacity(1 << 16, Bytes::File(bar.wrap_read(file)));
        let format = reader.fill_buf().map_err(Into::into).and_then(|start| {
            refuse_packed(start)?;
            format(path)
        });
        let format = format.inspect_err(|_| bar.finish_and_clear())?;
        Ok(Self {
            reader,
            length,
            format,
            entry,
            folder: Some(path.parent().unwrap_or(Path::new("")).to_owned()),
            bar,
        })
    }

    fn standard(reporter: Reporter) -> Result<Self> {
        static IS_READ: AtomicBool = AtomicBool::new(false);
        if IS_READ.swap(true, Ordering::Relaxed) {
            bail!("only one argument can read standard input (-)");
        }
        let spinner = reporter.spinner("reading");
        let mut bytes = Vec::new();
        let read = io::stdin().lock().read_to_end(&mut bytes);
        spinner.finish_and_clear();
        read?;
        if bytes.is_empty() {
            return Err(Empty("empty").into());
        }
        refuse_packed(&bytes)?;
        Ok(Self {
            length: bytes.len() as u64,
            format: Format::of_bytes(&bytes),
            entry: None,
            folder: None,
            bar: ProgressBar::hidden(),
            reader: BufReader::with_capacity(1 << 16, Bytes::Memory(Cursor::new(bytes))),
        })
    }

    fn bytes(&mut self) -> Result<Vec<u8>> {
        if let Bytes::Memory(bytes) = self.reader.get_mut() {
            return Ok(std::mem::take(bytes.get_mut()));
        }
        let mut bytes = Vec::with_capacity(self.length as usize);
        (&mut self.reader).take(self.length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

fn open_file(path: &Path) -> Result<(File, u64)> {
    // Opening a pipe would block until someone writes to it.
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        bail!("not a file");
    }
    if !metadata.is_file() {
        bail!("not a regular file; use - for standard input");
    }
    match is_output(path) {
        Some(Output::Made) => bail!("no such input file: it is the result file of this command"),
        Some(Output::Kept) => bail!("this input is also a result file; choose another file for the result"),
        None => {}
    }
    if metadata.len() == 0 {
        return Err(Empty("the file is empty").into());
    }
    Ok((File::open(path)?, metadata.len()))
}

impl Drop for Input {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
