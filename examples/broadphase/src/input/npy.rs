use std::io::{ErrorKind, Read};

use anyhow::{Context, Result, anyhow, bail};
use half::f16;

use super::{Table, npy_header, shortened};
use crate::report::counted;

const NEEDED: &str = "use floats or integers";
/// All integers up to this are an `f64`.
const MOST_EXACT: f64 = (1_u64 << 53) as f64;

#[derive(Clone, Copy, PartialEq)]
pub enum Length {
    Known,
    /// Length claimed by an archive; reserves no memory.
    Claimed,
}

pub fn read(mut reader: impl Read, length: u64, trust: Length, notes: &mut Vec<String>) -> Result<Table> {
    let (header, data_length) = npy_header::read(&mut reader, length)?;
    let &[rows, ref inner @ ..] = &header.shape[..] else {
        bail!("a single number; use rows × columns");
    };
    let columns = match *inner {
        [columns] => columns,
        [2, axes @ (2 | 3)] => 2 * axes,
        [] => 1,
        [_, _] => bail!(
            "an array of the shape {:?}; use rows × columns, or boxes as rows × 2 × 3 (in 2D rows × 2 × 2)",
            header.shape
        ),
        _ => bail!("an array of {} dimensions; use rows × columns", header.shape.len()),
    };
    let number = Number::of(&header.kind)?;
    let size = number.size as u64;
    let claimed = rows
        .checked_mul(columns)
        .and_then(|numbers| numbers.checked_mul(size))
        .context("the shape overflows 64 bits")?;
    if claimed > data_length {
        let whole = data_length / (columns * size).max(1);
        bail!("row {whole}: truncated: {rows} rows take {claimed} bytes, the file has {data_length}");
    }
    if claimed < data_length {
        notes.push(format!(
            "ignored {} after the array's {rows} rows",
            counted(data_length - claimed, "byte")
        ));
    }
    if columns == 0 {
        bail!("0 columns");
    }
    let mut table = Table::new(columns as usize);
    table.values = number.read(reader, (rows * columns) as usize, trust)?;
    let is_integer = (number.value)(1) == 1.0;
    if is_integer && table.values.iter().any(|value| value.abs() > MOST_EXACT) {
        notes.push("integers above 2^53 are rounded to 53 bits; subtract a common number first".to_owned());
    }
    if header.is_fortran {
        table.values = in_c_order(&table.values, rows as usize, inner);
    }
    Ok(table)
}

/// Converts from Fortran order, whose first index runs fastest.
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

#[derive(Clone, Copy)]
struct Number {
    size: usize,
    is_big_endian: bool,
    value: fn(u64) -> f64,
}

impl Number {
    /// Parses a NumPy type: `<f4`, `f4`, `=f4`, `float32` or `f`.
    fn of(kind: &str) -> Result<Self> {
        let name = kind.strip_prefix(['<', '>', '=', '|']).unwrap_or(kind);
        let (size, value): (usize, fn(u64) -> f64) = match name {
            "f2" | "e" | "float16" | "half" => (2, |bits| f16::from_bits(bits as u16).to_f64()),
            "f4" | "f" | "float32" | "single" => (4, |bits| f32::from_bits(bits as u32).into()),
            "f8" | "d" | "float64" | "double" | "float" => (8, f64::from_bits),
            "i1" | "b" | "int8" | "byte" => (1, |bits| (bits as i8).into()),
            "i2" | "h" | "int16" | "short" => (2, |bits| (bits as i16).into()),
            "i4" | "i" | "int32" | "intc" => (4, |bits| (bits as i32).into()),
            // On Windows before NumPy 2, `int` and `l` have 4 bytes. Such a file is rejected as truncated.
            "i8" | "l" | "q" | "int64" | "int" | "longlong" => (8, |bits| {
                let value = bits as i64;
                let size = to_odd(value.unsigned_abs());
                if value < 0 { -size } else { size }
            }),
            "u1" | "B" | "uint8" | "ubyte" => (1, |bits| bits as f64),
            "u2" | "H" | "uint16" | "ushort" => (2, |bits| bits as f64),
            "u4" | "I" | "uint32" | "uintc" => (4, |bits| bits as f64),
            "u8" | "L" | "Q" | "uint64" | "uint" | "ulonglong" => (8, to_odd),
            "b1" | "?" | "bool" => bail!("truth values (bool); {NEEDED}"),
            "O" | "object" => bail!("Python objects; {NEEDED}"),
            "c8" | "c16" | "c32" | "F" | "D" | "G" | "complex64" | "complex128" => bail!("complex numbers; {NEEDED}"),
            "f12" | "f16" | "g" | "float128" | "longdouble" => bail!("floats of more than 8 bytes; use 2, 4 or 8"),
            _ => bail!("numbers of type {}; {NEEDED}", shortened(kind)),
        };
        Ok(Self {
            size,
            is_big_endian: kind.starts_with('>'),
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
                ErrorKind::UnexpectedEof => anyhow!("truncated after about {} of {count} numbers", values.len()),
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

/// Keeps the 53 leading bits and sets the last of them if a lower bit is lost. Any rounding of the result to `f32` then
/// equals that of the integer.
fn to_odd(value: u64) -> f64 {
    let lost = (u64::BITS - value.leading_zeros()).saturating_sub(f64::MANTISSA_DIGITS);
    let kept = value >> lost;
    let is_exact = kept << lost == value;
    let odd = if is_exact { kept } else { kept | 1 };
    (odd << lost) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use exact_neighbors::{round_down, round_up};

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
        let c_order: Vec<_> = (0..12).map(f64::from).collect();
        let fortran = [0.0, 6.0, 3.0, 9.0, 1.0, 7.0, 4.0, 10.0, 2.0, 8.0, 5.0, 11.0];
        assert_eq!(in_c_order(&fortran, 2, &[2, 3]), c_order);
        let rows = [0.0, 6.0, 1.0, 7.0, 2.0, 8.0, 3.0, 9.0, 4.0, 10.0, 5.0, 11.0];
        assert_eq!(in_c_order(&rows, 2, &[6]), c_order);
    }
}
