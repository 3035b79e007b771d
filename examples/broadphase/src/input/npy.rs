//! Tables as NumPy arrays.

use std::io::{Cursor, ErrorKind, Read};

use anyhow::{Context, Result, anyhow, bail};
use half::f16;
use npyz::{DType, Endianness, NpyHeader, Order, TypeChar, TypeStr};

use super::{Table, shortened};

/// Headers of arrays of numbers take some 80 bytes and a version of nine digits a length.
const LARGEST_HEADER: u64 = 4096;
const NEEDED: &str = "floats or integers are needed";

/// How far the length of the bytes is to be believed.
#[derive(Clone, Copy, PartialEq)]
pub enum Length {
    /// So many bytes are there.
    Known,
    /// An archive claims it: memory is taken as numbers come.
    Claimed,
}

/// Reads an array that takes just `length` bytes.
pub fn read(mut reader: impl Read, length: u64, trust: Length) -> Result<Table> {
    let (header, data_length) = header(&mut reader, length)?;
    let &[rows, ref inner @ ..] = header.shape() else {
        bail!("a single number; rows × columns are needed");
    };
    let columns = match *inner {
        [columns] => columns,
        [2, axes @ (2 | 3)] => 2 * axes,
        [] => 1,
        [_, _] => bail!(
            "an array of the shape {:?}; rows × columns are needed, or boxes as rows × 2 × 3 (in 2D rows × 2 × 2)",
            header.shape()
        ),
        _ => bail!(
            "an array of {} dimensions; rows × columns are needed",
            header.shape().len()
        ),
    };
    let dtype = header.dtype();
    let DType::Plain(kind) = &dtype else {
        bail!("records; {NEEDED}");
    };
    let number = Number::of(kind)?;
    let size = number.size as u64;
    let claimed = rows
        .checked_mul(columns)
        .and_then(|numbers| numbers.checked_mul(size))
        .context("the shape is absurd")?;
    if claimed > data_length {
        let whole = data_length / (columns * size).max(1);
        bail!("row {whole}: truncated: {rows} rows take {claimed} bytes, the file has {data_length}");
    }
    if claimed < data_length {
        bail!("{} bytes are left after {rows} rows", data_length - claimed);
    }
    if columns == 0 {
        bail!("0 columns");
    }
    let mut table = Table::new(columns as usize);
    table.values = number.read(reader, (rows * columns) as usize, trust)?;
    if header.order() == Order::Fortran {
        table.values = in_c_order(&table.values, rows as usize, inner);
    }
    Ok(table)
}

/// The first index of Fortran order runs fastest.
fn in_c_order(values: &[f64], rows: usize, inner: &[u64]) -> Vec<f64> {
    let inner: Vec<_> = inner.iter().map(|&length| length as usize).collect();
    let columns = inner.iter().product::<usize>();
    let mut ordered = Vec::with_capacity(values.len());
    for row in 0..rows {
        for column in 0..columns {
            let place = match inner[..] {
                [_, axes] => column / axes + inner[0] * (column % axes),
                _ => column,
            };
            ordered.push(values[place * rows + row]);
        }
    }
    ordered
}

/// How a number lies in the file.
#[derive(Clone, Copy)]
struct Number {
    size: usize,
    is_big_endian: bool,
    value: fn(u64) -> f64,
}

impl Number {
    fn of(kind: &TypeStr) -> Result<Self> {
        let size = kind.size_field();
        let value: fn(u64) -> f64 = match (kind.type_char(), size) {
            (TypeChar::Float, 2) => |bits| f16::from_bits(bits as u16).to_f64(),
            (TypeChar::Float, 4) => |bits| f32::from_bits(bits as u32).into(),
            (TypeChar::Float, 8) => f64::from_bits,
            (TypeChar::Int, 1) => |bits| (bits as i8).into(),
            (TypeChar::Int, 2) => |bits| (bits as i16).into(),
            (TypeChar::Int, 4) => |bits| (bits as i32).into(),
            (TypeChar::Int, 8) => |bits| {
                let value = bits as i64;
                let size = to_odd(value.unsigned_abs());
                if value < 0 { -size } else { size }
            },
            (TypeChar::Uint, 1 | 2 | 4) => |bits| bits as f64,
            (TypeChar::Uint, 8) => to_odd,
            (TypeChar::Bool, _) => bail!("truth values (bool); {NEEDED}"),
            (TypeChar::Complex, _) => bail!("complex numbers; {NEEDED}"),
            (TypeChar::Object, _) => bail!("Python objects; {NEEDED}"),
            (TypeChar::Float, _) => bail!("floats of {size} bytes; 2, 4 or 8 are read"),
            _ => bail!("numbers of type {}; {NEEDED}", shortened(&kind.to_string())),
        };
        Ok(Self {
            size: size as usize,
            is_big_endian: kind.endianness() == Endianness::Big,
            value,
        })
    }

    fn read(self, mut reader: impl Read, count: usize, trust: Length) -> Result<Vec<f64>> {
        const NUMBERS: usize = 1024;
        let mut values = Vec::with_capacity(if trust == Length::Known { count } else { 0 });
        let mut chunk = vec![0; NUMBERS * self.size];
        while values.len() < count {
            let bytes = &mut chunk[..(count - values.len()).min(NUMBERS) * self.size];
            reader.read_exact(bytes).map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => anyhow!("truncated after some {} numbers of {count}", values.len()),
                _ => error.into(),
            })?;
            values.extend(bytes.chunks_exact(self.size).map(|bytes| {
                let mut word = [0; 8];
                if self.is_big_endian {
                    word[8 - self.size..].copy_from_slice(bytes);
                    (self.value)(u64::from_be_bytes(word))
                } else {
                    word[..self.size].copy_from_slice(bytes);
                    (self.value)(u64::from_le_bytes(word))
                }
            }));
        }
        Ok(values)
    }
}

/// An integer cut to the 53 digits of an `f64`, the last of which is 1 if any is lost. From that every rounding to
/// `f32` is the same as from the integer itself: outward for boxes.
fn to_odd(value: u64) -> f64 {
    let lost = (u64::BITS - value.leading_zeros()).saturating_sub(f64::MANTISSA_DIGITS);
    let kept = value >> lost;
    let is_exact = kept << lost == value;
    let odd = if is_exact { kept } else { kept | 1 };
    (odd << lost) as f64
}

/// The header, and how many bytes follow it. What npyz would take on trust is looked at first.
fn header(reader: &mut impl Read, length: u64) -> Result<(NpyHeader, u64)> {
    let mut start = [0; 12];
    reader
        .read_exact(&mut start[..10])
        .ok()
        .context("too short for an NPY file")?;
    if !start.starts_with(b"\x93NUMPY") {
        bail!("not an NPY file");
    }
    let mut prefix = 10;
    let mut text_length = u64::from(u16::from_le_bytes([start[8], start[9]]));
    if start[6] > 1 {
        reader
            .read_exact(&mut start[10..])
            .ok()
            .context("too short for an NPY file")?;
        text_length = u64::from(u32::from_le_bytes([start[8], start[9], start[10], start[11]]));
        prefix = 12;
    }
    let header_length = prefix as u64 + text_length;
    if text_length > LARGEST_HEADER || header_length > length {
        bail!("a header of {text_length} bytes in a file of {length}");
    }
    let mut bytes = start[..prefix].to_vec();
    reader.take(text_length).read_to_end(&mut bytes)?;
    look_at_shape(&String::from_utf8_lossy(&bytes[prefix..]), length)?;
    // The parser's errors echo the header.
    let header = NpyHeader::from_reader(Cursor::new(bytes))
        .map_err(|error| anyhow!("a broken header: {}", shortened(&error.to_string())))?;
    Ok((header, length - header_length))
}

/// Refuses what the parser would overflow or hang on: brackets without end, and lengths whose product is past the
/// file's size.
fn look_at_shape(text: &str, file_length: u64) -> Result<()> {
    // It tries what is inside `[` twice and inside `{` three times, and so on inwards. There is one `{` in a header.
    let count = |brackets: &str| text.chars().filter(|c| brackets.contains(*c)).count();
    if count("{") > 2 || count("([{") > 12 {
        bail!("a broken header");
    }
    let Some((_, after)) = text.split_once("shape") else {
        bail!("a header without a shape");
    };
    let shape = after.split(')').next().unwrap_or_default();
    let lengths = shape
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty());
    let mut product = 1_u64;
    for digits in lengths {
        let length = digits.parse::<u64>().ok();
        product = length
            .and_then(|length| product.checked_mul(length.max(1)))
            .filter(|&product| product <= file_length)
            .with_context(|| {
                format!(
                    "truncated: the shape {} is past the file's size",
                    shortened(shape.trim_matches([' ', ':', '\'', '"', '(']))
                )
            })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{round_down, round_up};

    #[test]
    fn integers_round_outward_even_past_the_digits_of_a_double() {
        let f32_below = |value: u64| round_down(to_odd(value)) as u128;
        let f32_above = |value: u64| round_up(to_odd(value)) as u128;
        for value in [
            0,
            1,
            (1 << 24) + 1,
            (1 << 53) + 1,
            (1 << 60) + 1,
            (1 << 60) - 1,
            (1 << 63) + 1,
            u64::MAX,
            u64::MAX - (1 << 40),
        ] {
            let exact = u128::from(value);
            let step = (exact >> 23).max(1);
            assert!(f32_below(value) <= exact && exact < f32_below(value) + step, "{value}");
            assert!(f32_above(value) >= exact && exact + step > f32_above(value), "{value}");
        }
    }

    #[test]
    fn fortran_order_is_turned() {
        // Two boxes, mins 0..3 and 6..9, maxes 3..6 and 9..12.
        let c_order: Vec<_> = (0..12).map(f64::from).collect();
        let fortran = [0.0, 6.0, 3.0, 9.0, 1.0, 7.0, 4.0, 10.0, 2.0, 8.0, 5.0, 11.0];
        assert_eq!(in_c_order(&fortran, 2, &[2, 3]), c_order);
        let rows = [0.0, 6.0, 1.0, 7.0, 2.0, 8.0, 3.0, 9.0, 4.0, 10.0, 5.0, 11.0];
        assert_eq!(in_c_order(&rows, 2, &[6]), c_order);
    }
}
