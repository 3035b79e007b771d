//! Tables as text.

use std::path::Path;

use ::csv::{ByteRecord, ErrorKind, ReaderBuilder, Trim};
use anyhow::{Result, anyhow, bail};

use super::{Input, Table, shortened};
use crate::report::Reporter;

/// Names of the two columns that a table of boxes with a header may have on top.
const FILTERS: [&str; 2] = ["layers", "owner"];

pub fn read(path: &Path, reporter: Reporter) -> Result<Table> {
    let mut input = Input::open(path, reporter)?;
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(Trim::All)
        .from_reader(&mut input.reader);

    let mut table = Table {
        columns: 0,
        values: Vec::new(),
        filters: None,
    };
    let mut width = 0;
    let mut record = ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(one_line)? {
        let line = record.position().map_or(0, |position| position.line());
        if width == 0 {
            width = record.len();
            let has_filters = is_header(&record) && ends_with_filters(&record);
            table.columns = width - if has_filters { FILTERS.len() } else { 0 };
            table.filters = has_filters.then(Vec::new);
            if is_header(&record) {
                continue;
            }
        }
        if record.len() != width {
            bail!("line {line}: {} columns, {width} before", record.len());
        }
        for (column, field) in record.iter().take(table.columns).enumerate() {
            table
                .values
                .push(number(field).ok_or_else(|| not(line, column, field, "a number"))?);
        }
        if let Some(filters) = &mut table.filters {
            let word = |column: usize| {
                let field = &record[column];
                integer(field).ok_or_else(|| not(line, column, field, "an integer of 32 bits"))
            };
            filters.push([word(width - 2)?, word(width - 1)?]);
        }
    }
    if width == 0 {
        bail!("no rows");
    }
    Ok(table)
}

fn number(field: &[u8]) -> Option<f64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

fn integer(field: &[u8]) -> Option<u32> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// A first line without a single number in it.
fn is_header(record: &ByteRecord) -> bool {
    record.iter().all(|field| number(field).is_none())
}

fn ends_with_filters(record: &ByteRecord) -> bool {
    record.len() > FILTERS.len()
        && record
            .iter()
            .skip(record.len() - FILTERS.len())
            .eq(FILTERS.map(str::as_bytes))
}

fn not(line: u64, column: usize, field: &[u8], what: &str) -> anyhow::Error {
    let shown = shortened(&String::from_utf8_lossy(field));
    anyhow!("line {line}: column {}: {shown:?} is not {what}", column + 1)
}

fn one_line(error: ::csv::Error) -> anyhow::Error {
    match error.into_kind() {
        ErrorKind::Io(error) => error.into(),
        kind => anyhow!("{kind:?}"),
    }
}
