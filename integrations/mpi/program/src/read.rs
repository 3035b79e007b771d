use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use gpu_broad_phase::LocalOrigin;
use npyz::{DType, Endianness, NpyHeader, Order, TypeChar};

/// Most bytes of a header. Typical ones take about 80.
const LARGEST_HEADER: u64 = 4096;

pub struct Slice {
    pub rows: u64,
    pub first: u64,
    pub columns: usize,
    pub values: Vec<f64>,
}

/// Ranks differ by at most one row.
pub fn rows_of(rows: u64, rank: usize, ranks: usize) -> Range<u64> {
    let first = |rank: usize| (u128::from(rows) * rank as u128 / ranks as u128) as u64;
    first(rank)..first(rank + 1)
}

/// Reads this rank's rows. `columns` lists the allowed column counts.
pub fn slice(path: &Path, columns: &[usize], rank: usize, ranks: usize) -> Result<Slice, String> {
    let named = |error: String| format!("{}: {error}", path.display());
    read(path, columns, rank, ranks).map_err(named)
}

fn read(path: &Path, allowed: &[usize], rank: usize, ranks: usize) -> Result<Slice, String> {
    let told = |error: std::io::Error| error.to_string();
    let mut file = File::open(path).map_err(told)?;
    let length = file.metadata().map_err(told)?.len();
    let mut start = Vec::new();
    file.by_ref()
        .take(LARGEST_HEADER)
        .read_to_end(&mut start)
        .map_err(told)?;
    if !start.starts_with(b"\x93NUMPY") {
        return Err("not an NPY file".into());
    }
    check_header(start.get(10..).unwrap_or_default(), length)?;
    let mut rest = &start[..];
    let header = NpyHeader::from_reader(&mut rest).map_err(|_| "a broken header".to_owned())?;
    let begin = (start.len() - rest.len()) as u64;
    let &[rows, columns] = header.shape() else {
        return Err(format!(
            "an array of {} dimensions; rows × columns are needed",
            header.shape().len()
        ));
    };
    if header.order() != Order::C {
        return Err("Fortran order; C order is read".into());
    }
    if !allowed.iter().any(|&allowed| allowed as u64 == columns) {
        let allowed = allowed.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ");
        return Err(format!("{columns} columns, not {allowed}"));
    }
    let dtype = header.dtype();
    let bytes = match &dtype {
        DType::Plain(kind) if kind.type_char() == TypeChar::Float && kind.endianness() != Endianness::Big => {
            kind.size_field()
        }
        _ => 0,
    };
    if bytes != 4 && bytes != 8 {
        return Err(format!("numbers of type {}; <f4 and <f8 are read", dtype.descr()));
    }
    let row = bytes * columns;
    let needed = rows.checked_mul(row).and_then(|data| data.checked_add(begin));
    if needed != Some(length) {
        return Err(format!(
            "{rows} rows of {row} bytes behind {begin} do not make the file's {length}"
        ));
    }
    let range = rows_of(rows, rank, ranks);
    file.seek(SeekFrom::Start(begin + range.start * row)).map_err(told)?;
    let count = ((range.end - range.start) * columns) as usize;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut values = Vec::with_capacity(count);
    let mut number = [0; 8];
    for _ in 0..count {
        let number = &mut number[..bytes as usize];
        reader.read_exact(number).map_err(told)?;
        values.push(match number.len() {
            4 => f32::from_le_bytes([number[0], number[1], number[2], number[3]]).into(),
            _ => f64::from_le_bytes(<[u8; 8]>::try_from(&*number).expect("eight bytes")),
        });
    }
    Ok(Slice {
        rows,
        first: range.start,
        columns: columns as usize,
        values,
    })
}

/// Rejects headers on which the parser would hang or overflow: nested brackets, or numbers whose product (bytes per
/// number, rows, columns) exceeds the file's length.
fn check_header(start: &[u8], length: u64) -> Result<(), String> {
    let text = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let brackets = text.iter().filter(|byte| b"{[(".contains(byte)).count();
    let numbers = text
        .split(|byte| !byte.is_ascii_digit())
        .filter(|digits| !digits.is_empty());
    let product = numbers
        .map(|digits| String::from_utf8_lossy(digits).parse::<u64>().ok())
        .try_fold(1, |product: u64, number| {
            product.checked_mul(number?.max(1)).filter(|&product| product <= length)
        });
    if brackets > 3 || product.is_none() {
        return Err("a broken header, or a shape past the file's length".into());
    }
    Ok(())
}

pub type Check = fn(&[f64]) -> Option<&'static str>;

pub fn box_fault(row: &[f64]) -> Option<&'static str> {
    let (low, high) = row.split_at(row.len() / 2);
    if row.iter().any(|number| number.is_nan()) {
        return Some("a NaN");
    }
    let is_inverted = low.iter().zip(high).any(|(low, high)| low > high);
    is_inverted.then_some("a min above its max")
}

pub fn ray_fault(row: &[f64]) -> Option<&'static str> {
    let (_, vectors) = row.split_last()?;
    let (origin, direction) = vectors.split_at(vectors.len() / 2);
    const LONGEST: f64 = (1_u128 << 126) as f64;
    if row.iter().any(|number| number.is_nan()) {
        Some("a NaN")
    } else if !origin.iter().all(|&number| (number as f32).is_finite()) {
        Some("an origin that is not finite in single precision")
    } else {
        let is_long = direction.iter().any(|number| number.abs() > LONGEST);
        is_long.then_some("a direction past 2^126")
    }
}

pub fn point_fault(row: &[f64]) -> Option<&'static str> {
    let is_finite = row.iter().all(|&number| (number as f32).is_finite());
    (!is_finite).then_some("a number that is not finite in single precision")
}

impl Slice {
    pub fn check(&self, path: &Path, check: Check) -> Result<(), String> {
        let fault = |(row, numbers): (usize, &[f64])| Some((self.first + row as u64, check(numbers)?));
        match self.rows().enumerate().find_map(fault) {
            Some((row, what)) => Err(format!("{}: row {row} has {what}", path.display())),
            None => Ok(()),
        }
    }

    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.values.chunks_exact(self.columns)
    }

    /// True if `f32` holds the numbers in the first `columns` columns.
    pub fn is_exact(&self, columns: usize) -> bool {
        let mut numbers = self.rows().flat_map(|row| &row[..columns]);
        numbers.all(|&number| LocalOrigin::is_exact(number))
    }
}

/// Smallest `f32` that is not below `value`.
pub fn up(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) < value { near.next_up() } else { near }
}

/// Missing axes are 0.
pub fn vector(values: &[f64]) -> [f64; 3] {
    std::array::from_fn(|axis| values.get(axis).copied().unwrap_or(0.0))
}

pub fn corners(row: &[f64]) -> [[f64; 3]; 2] {
    let (min, max) = row.split_at(row.len() / 2);
    [vector(min), vector(max)]
}
