//! Tables as NumPy arrays.

use std::io::{Cursor, Read};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use npyz::{DType, Deserialize, NpyFile, NpyHeader, Order};

use super::{Input, Table, shortened};
use crate::report::Reporter;

/// Headers of arrays of numbers take some 80 bytes and a version of nine digits a length.
const LARGEST_HEADER: u64 = 4096;

pub fn read(path: &Path, reporter: Reporter) -> Result<Table> {
    let mut input = Input::open(path, reporter)?;
    let (header, data_length) = header(&mut input)?;
    let &[rows, columns] = header.shape() else {
        bail!(
            "an array of {} dimensions; rows × columns are needed",
            header.shape().len()
        );
    };
    if header.order() != Order::C {
        bail!("Fortran order; C order is needed");
    }
    let dtype = header.dtype();
    let size = match &dtype {
        DType::Plain(plain) => match &plain.to_string()[1..] {
            "f4" => 4,
            "f8" => 8,
            other => bail!("numbers of type {}; f4 or f8 is needed", shortened(other)),
        },
        _ => bail!("records; plain numbers f4 or f8 are needed"),
    };
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
    let file = NpyFile::with_header(header, &mut input.reader);
    let values = if size == 4 {
        values::<f32>(file, (rows * columns) as usize)?
    } else {
        values::<f64>(file, (rows * columns) as usize)?
    };
    Ok(Table {
        columns: columns as usize,
        values,
        filters: None,
    })
}

fn values<T: Deserialize + Into<f64>>(file: NpyFile<impl Read>, count: usize) -> Result<Vec<f64>> {
    let mut values = Vec::with_capacity(count);
    for value in file.data::<T>()? {
        values.push(value?.into());
    }
    Ok(values)
}

/// The header, and how many bytes follow it. What npyz would take on trust is looked at first.
fn header(input: &mut Input) -> Result<(NpyHeader, u64)> {
    let mut start = [0; 12];
    input
        .reader
        .read_exact(&mut start[..10])
        .ok()
        .context("too short for an NPY file")?;
    if !start.starts_with(b"\x93NUMPY") {
        bail!("not an NPY file");
    }
    let mut prefix = 10;
    let mut text_length = u64::from(u16::from_le_bytes([start[8], start[9]]));
    if start[6] > 1 {
        input
            .reader
            .read_exact(&mut start[10..])
            .ok()
            .context("too short for an NPY file")?;
        text_length = u64::from(u32::from_le_bytes([start[8], start[9], start[10], start[11]]));
        prefix = 12;
    }
    let header_length = prefix as u64 + text_length;
    if text_length > LARGEST_HEADER || header_length > input.length {
        bail!("a header of {text_length} bytes in a file of {}", input.length);
    }
    let mut bytes = start[..prefix].to_vec();
    (&mut input.reader).take(text_length).read_to_end(&mut bytes)?;
    look_at_shape(&String::from_utf8_lossy(&bytes[prefix..]), input.length)?;
    // The parser's errors echo the header.
    let header = NpyHeader::from_reader(Cursor::new(bytes))
        .map_err(|error| anyhow!("a broken header: {}", shortened(&error.to_string())))?;
    Ok((header, input.length - header_length))
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
