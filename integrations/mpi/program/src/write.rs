use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;
use gpu_broad_phase_mpi::{Communicator, RankError, agreed};

/// Path of the incomplete file, for signal and panic handlers.
static PART: Mutex<Option<PathBuf>> = Mutex::new(None);

pub fn remove_part() {
    let mut part = PART.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = part.take() {
        let _ = fs::remove_file(path);
    }
}

/// Output file, written as `part` and renamed to `path` when complete.
pub struct Output {
    path: PathBuf,
    part: PathBuf,
}

/// Bytes before the rows. NumPy expects a multiple of 64.
const HEADER: usize = 128;

impl Output {
    /// Creates the file before the work, so that an unwritable path fails early. Rejects the paths of `inputs`.
    /// Collective.
    pub fn open<C: Communicator>(ranks: &C, path: &Path, inputs: &[&PathBuf]) -> Result<Self, RankError> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".part");
        let output = Self {
            path: path.to_owned(),
            part: path.with_file_name(name),
        };
        let is_npy = path.extension().is_some_and(|extension| extension == "npy");
        let replaced = |input: &&&PathBuf| is_same(input, &output.path) || is_same(input, &output.part);
        let opened = if !is_npy {
            Err(format!("{}: a result file ends in .npy", path.display()))
        } else if let Some(input) = inputs.iter().find(replaced) {
            Err(format!(
                "{}: the result would replace the input {}; name another file",
                path.display(),
                input.display()
            ))
        } else if ranks.rank() == 0 {
            File::create(&output.part).map(drop).map_err(|error| output.told(error))
        } else {
            Ok(())
        };
        if is_npy && opened.is_ok() {
            *PART.lock().unwrap_or_else(PoisonError::into_inner) = Some(output.part.clone());
        }
        agreed(ranks, opened)?;
        Ok(output)
    }

    fn told(&self, error: std::io::Error) -> String {
        format!("{}: {error}", self.path.display())
    }

    /// Writes the rows of all ranks, in rank order. `kind` is NumPy's number type. Collective.
    pub fn write<C: Communicator, T: Pod>(
        self,
        ranks: &C,
        kind: &str,
        columns: usize,
        values: &[T],
    ) -> Result<u64, RankError> {
        let counts = ranks.gather(&(values.len() as u64).to_le_bytes());
        let counts: Vec<u64> = bytemuck::pod_collect_to_vec(&counts);
        let before: u64 = counts[..ranks.rank()].iter().sum();
        let rows = counts.iter().sum::<u64>() / columns as u64;
        let write = || {
            let file = OpenOptions::new().write(true).open(&self.part)?;
            if ranks.rank() == 0 {
                file.write_all_at(&header(kind, rows, columns), 0)?;
            }
            let first = HEADER as u64 + before * size_of::<T>() as u64;
            file.write_all_at(bytemuck::cast_slice(values), first)?;
            file.sync_all()
        };
        agreed(ranks, write().map_err(|error| self.told(error)))?;
        let named = match ranks.rank() {
            0 => fs::rename(&self.part, &self.path).map_err(|error| self.told(error)),
            _ => Ok(()),
        };
        agreed(ranks, named)?;
        PART.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(rows)
    }
}

/// Compares device and inode, so links are recognized.
fn is_same(a: &Path, b: &Path) -> bool {
    let file = |path| fs::metadata(path).map(|file| (file.dev(), file.ino()));
    file(a).is_ok_and(|a| file(b).is_ok_and(|b| a == b))
}

fn header(kind: &str, rows: u64, columns: usize) -> Vec<u8> {
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((HEADER as u16 - 10).to_le_bytes());
    write!(
        header,
        "{{'descr': '{kind}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    )
    .expect("a vector takes all");
    header.resize(HEADER - 1, b' ');
    header.push(b'\n');
    header
}
