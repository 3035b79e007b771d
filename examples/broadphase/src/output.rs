//! Results as CSV or NPY.

use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use npyz::WriterBuilder;

use crate::report::Reporter;

/// Put over an error: the input was good and the result could not be written.
#[derive(Debug)]
pub struct Unwritten(pub String);

impl Display for Unwritten {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Writes to standard output. A reader that leaves early has seen enough.
pub fn print(write: impl FnOnce(&mut StdoutLock<'static>) -> io::Result<()>) -> Result<()> {
    let mut out = io::stdout().lock();
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context(Unwritten("standard output".to_owned())),
    }
}

/// Makes a file and fills it.
pub fn save(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
    let name = path.display().to_string();
    let mut file = BufWriter::with_capacity(1 << 16, File::create(path).with_context(|| name.clone())?);
    write(&mut file).and_then(|()| file.flush()).context(Unwritten(name))
}

/// Where rows go.
pub enum Target {
    Stdout,
    Csv(PathBuf),
    Npy(PathBuf),
}

/// A number of a result.
pub trait Cell: npyz::AutoSerialize {
    /// Its text, which reads back as the same number.
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
    /// Readers take text as f64: only with the digits of an f64 do they get this very number.
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
            Some("csv") => Ok(Self::Csv(path.to_owned())),
            Some("npy") => Ok(Self::Npy(path.to_owned())),
            _ => bail!("{}: a result file ends in .csv or .npy", path.display()),
        }
    }

    /// Writes `rows` rows of `columns` numbers each.
    pub fn write<T: Cell>(
        &self,
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
            Self::Csv(path) => save(path, |file| csv(file, rows, columns, &mut values, advance)),
            Self::Npy(path) => save(path, |file| npy(file, rows, columns, &mut values, advance)),
        };
        bar.finish_and_clear();
        result
    }
}

/// Rows between two looks at the progress bar.
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
