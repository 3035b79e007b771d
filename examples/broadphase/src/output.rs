use std::fmt::{self, Display, Formatter};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, StdoutLock, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use npyz::WriterBuilder;

use crate::report::Reporter;

#[derive(Debug)]
pub struct Unwritten(pub String);

impl Display for Unwritten {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// A closed pipe is not an error.
pub fn print(write: impl FnOnce(&mut StdoutLock<'static>) -> io::Result<()>) -> Result<()> {
    let mut out = io::stdout().lock();
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context(Unwritten("standard output".to_owned())),
    }
}

/// Open result files of this command. Inputs must be other files.
static OPEN: Mutex<Vec<(Place, Output)>> = Mutex::new(Vec::new());

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Output {
    Made,
    /// File that existed before. Its content is not yet replaced.
    Kept,
}

/// Identity of a file, independent of its path.
#[derive(Clone, Debug, PartialEq)]
struct Place {
    real: PathBuf,
    /// Device and inode, because hard links to a file have different paths.
    node: Option<(u64, u64)>,
}

impl Place {
    /// `None` for pipes and devices, which may be input and output at once.
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        #[cfg(unix)]
        let node = Some((
            std::os::unix::fs::MetadataExt::dev(&metadata),
            std::os::unix::fs::MetadataExt::ino(&metadata),
        ));
        #[cfg(not(unix))]
        let node = None;
        Some(Self {
            real: fs::canonicalize(path).ok()?,
            node,
        })
    }

    fn is_same(&self, other: &Self) -> bool {
        self.real == other.real || (self.node.is_some() && self.node == other.node)
    }
}

pub fn is_output(path: &Path) -> Option<Output> {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if open.is_empty() {
        return None;
    }
    let place = Place::of(path)?;
    open.iter()
        .find(|(other, _)| other.is_same(&place))
        .map(|&(_, output)| output)
}

/// Devices and pipes, whose names need no ending.
pub fn is_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// A result file, opened before the work to fail early. Old content stays until there are results; a new file without
/// results is removed.
pub struct OutputFile {
    path: PathBuf,
    file: Option<File>,
    /// Created by this command and still empty.
    is_new_and_empty: bool,
    place: Option<Place>,
}

impl OutputFile {
    pub fn open(path: &Path) -> Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.exists()) {
            bail!("{}: no such folder: {}", path.display(), folder.display());
        }
        let is_new_and_empty = !path.exists();
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .with_context(|| path.display().to_string())?;
        let place = Place::of(path);
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = &place {
            if open.iter().any(|(other, _)| other.is_same(place)) {
                bail!("{}: two results have this file; choose another", path.display());
            }
            let output = if is_new_and_empty { Output::Made } else { Output::Kept };
            open.push((place.clone(), output));
        }
        Ok(Self {
            path: path.to_owned(),
            file: Some(file),
            is_new_and_empty,
            place,
        })
    }

    pub fn open_named(path: Option<&PathBuf>) -> Result<Option<Self>> {
        path.map(|path| Self::open(path)).transpose()
    }

    pub fn save(&mut self, write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        self.is_new_and_empty = false;
        let replace = || {
            if file.metadata()?.is_file() {
                file.rewind()?;
                file.set_len(0)?;
            }
            let mut buffered = BufWriter::with_capacity(1 << 16, &*file);
            write(&mut buffered)?;
            buffered.flush()
        };
        replace().with_context(|| Unwritten(self.path.display().to_string()))
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        // Closed first, since some systems cannot remove open files.
        self.file = None;
        if self.is_new_and_empty {
            // Removes the file that a link points to, not the link.
            let _ = fs::remove_file(self.place.as_ref().map_or(&self.path, |place| &place.real));
        }
        if let Some(place) = &self.place {
            let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
            open.retain(|(other, _)| other != place);
        }
    }
}

pub enum Target {
    Stdout,
    Csv(OutputFile),
    Npy(OutputFile),
}

pub trait Cell: npyz::AutoSerialize {
    /// Text that reads back as the same number.
    fn text(&self) -> impl Display;
}

impl Cell for u32 {
    fn text(&self) -> impl Display {
        *self
    }
}

impl Cell for f64 {
    fn text(&self) -> impl Display {
        *self
    }
}

impl Cell for f32 {
    /// Readers parse text as f64, so an f32 needs the digits of an f64.
    fn text(&self) -> impl Display {
        f64::from(*self)
    }
}

impl Target {
    pub fn new(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Stdout);
        }
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("csv") => Ok(Self::Csv(OutputFile::open(path)?)),
            Some("npy") => Ok(Self::Npy(OutputFile::open(path)?)),
            _ if is_device(path) => Ok(Self::Csv(OutputFile::open(path)?)),
            _ => bail!("{}: wrong ending; use .csv or .npy", path.display()),
        }
    }

    pub fn unless(not_wanted: bool, path: &Path) -> Result<Option<Self>> {
        if not_wanted {
            return Ok(None);
        }
        Self::new(path).map(Some)
    }

    pub fn write<T: Cell>(
        &mut self,
        rows: usize,
        columns: usize,
        mut values: impl Iterator<Item = T>,
        reporter: Reporter,
    ) -> Result<()> {
        let bar = reporter.bar(rows as u64, "writing");
        let advance = |row: usize| {
            if row.is_multiple_of(BAR_ROWS) {
                bar.set_position(row as u64);
            }
        };
        let result = match self {
            Self::Stdout => print(|out| csv(out, rows, columns, &mut values, advance)),
            Self::Csv(output) => output.save(|file| csv(file, rows, columns, &mut values, advance)),
            Self::Npy(output) => output.save(|file| npy(file, rows, columns, &mut values, advance)),
        };
        bar.finish_and_clear();
        result
    }
}

const BAR_ROWS: usize = 1 << 16;

fn csv<T: Cell>(
    file: impl Write,
    rows: usize,
    columns: usize,
    values: &mut impl Iterator<Item = T>,
    advance: impl Fn(usize),
) -> io::Result<()> {
    let mut writer = BufWriter::with_capacity(1 << 16, file);
    for row in 0..rows {
        for (column, value) in values.by_ref().take(columns).enumerate() {
            let separator = if column == 0 { "" } else { "," };
            write!(writer, "{separator}{}", value.text())?;
        }
        writer.write_all(b"\n")?;
        advance(row);
    }
    writer.flush()
}

fn npy<T: Cell>(
    file: impl Write,
    rows: usize,
    columns: usize,
    values: &mut impl Iterator<Item = T>,
    advance: impl Fn(usize),
) -> io::Result<()> {
    let mut writer = npyz::WriteOptions::new()
        .default_dtype()
        .shape(&[rows as u64, columns as u64])
        .writer(file)
        .begin_nd()?;
    for row in 0..rows {
        for value in values.by_ref().take(columns) {
            writer.push(&value)?;
        }
        advance(row);
    }
    writer.finish()
}
