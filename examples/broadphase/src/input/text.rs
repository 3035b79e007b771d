//! Tables as text. Existing readers support neither columns separated by runs of blanks nor comments at line ends.

use std::io::BufRead;
use std::mem;

use anyhow::{Result, anyhow, bail};

use super::columns::{Choice, Plan};
use super::{Empty, MARK, Table, shortened};

pub fn read(reader: impl BufRead, choice: &Choice, notes: &mut Vec<String>) -> Result<Table> {
    let mut lines = Lines::new(reader);
    let Some(mut first) = lines.owned()? else {
        return Err(Empty("no rows").into());
    };
    let stated = stated_separator(&first.text);
    if stated.is_some() {
        first = lines.owned()?.ok_or(Empty("no rows"))?;
    }
    let mut above = None;
    while first.text.starts_with(b";") && stated != Some(Separator::Semicolons) {
        above = Some(mem::replace(&mut first, lines.owned()?.ok_or(Empty("no rows"))?));
    }
    if let Some(mut above) = above {
        // A comment, unless a row with semicolons has as many fields.
        let fields = |line: &Line| Separator::Semicolons.fields(&line.text).count();
        if first.text.contains(&b';') && fields(&above) == fields(&first) {
            return with_header(above, Some(first), stated, lines, choice);
        }
        lines.comments.push(above.text.split_off(1));
    }
    let separator = stated.unwrap_or_else(|| Separator::of(&first.text));
    if is_header(&first.text, separator) || is_numbered_index(&first.text, separator) {
        let second = lines.row(separator)?;
        return with_header(first, second, stated, lines, choice);
    }
    let mut second = None;
    if numbers_columns(&first.text, separator) {
        second = lines.row(separator)?;
        let line = first.number;
        if second.as_ref().is_some_and(|line| has_fraction(&line.text, stated)) {
            notes.push(format!("line {line} numbers the columns from 0: read as a header"));
            return with_header(first, second, stated, lines, choice);
        }
        notes.push(format!(
            "line {line} numbers the columns from 0: read as a row; if it is a header, delete it or name the columns"
        ));
    }
    let width = separator.fields(&first.text).count();
    let comments = std::mem::take(&mut lines.comments);
    let plans = comments
        .iter()
        .rev()
        .map(|comment| plan_of_comment(comment, separator, width, choice));
    let commented = plans.filter_map(Result::transpose).next().transpose()?;
    let plan = commented.map_or_else(|| choice.plan(None, width), Ok)?;
    rows(&plan, [Some(first), second], separator, width, lines)
}

/// The first row decides the separator, since names may contain blanks, semicolons or commas.
fn with_header(
    header: Line,
    first: Option<Line>,
    stated: Option<Separator>,
    lines: Lines<impl BufRead>,
    choice: &Choice,
) -> Result<Table> {
    let separator = stated.unwrap_or_else(|| Separator::of(first.as_ref().map_or(&header.text, |row| &row.text)));
    let names = names(&header.text, separator);
    let width = names.len();
    if let Some(first) = &first {
        let row_width = separator.fields(&first.text).count();
        if row_width != width {
            bail!(
                "line {}: {row_width} columns, expected {width} as in line {}",
                first.number,
                header.number
            );
        }
    }
    let plan = choice.plan(Some(&names), width)?;
    rows(&plan, [first, None], separator, width, lines)
}

fn names(text: &[u8], separator: Separator) -> Vec<String> {
    let fields = separator.fields(text);
    fields
        .map(|field| String::from_utf8_lossy(field).into_owned())
        .collect()
}

/// Names that a comment above the rows gives, as numpy.savetxt and CloudCompare write them.
fn plan_of_comment(text: &[u8], separator: Separator, width: usize, choice: &Choice) -> Result<Option<Plan>> {
    let separators = [separator, Separator::of(text)];
    let mut all = separators.into_iter().map(|separator| names(text, separator));
    match all.find(|names| names.len() == width) {
        Some(names) => choice.plan_of_comment(&names),
        None => Ok(None),
    }
}

/// The line `sep=;`, as Excel reads and writes it.
fn stated_separator(text: &[u8]) -> Option<Separator> {
    let text = text
        .strip_prefix(b"\"")
        .map_or(text, |inner| inner.strip_suffix(b"\"").unwrap_or(inner));
    let (start, separator) = text.split_at_checked(4)?;
    if !start.eq_ignore_ascii_case(b"sep=") {
        return None;
    }
    match separator {
        b";" => Some(Separator::Semicolons),
        b"," => Some(Separator::Commas),
        b"\t" | b"\\t" => Some(Separator::Tabs),
        b"" | b" " => Some(Separator::Blanks),
        &[other] if other.is_ascii_punctuation() => Some(Separator::Other(other)),
        _ => None,
    }
}

/// The header of pandas for columns without names: `,0,1,2`, or `index,0,1,2`.
fn is_numbered_index(text: &[u8], separator: Separator) -> bool {
    let mut fields = separator.fields(text);
    let is_index = fields.next().is_some_and(|first| matches!(first, b"" | b"index"));
    let mut count = 0;
    let are_numbers = fields.zip(0_usize..).all(|(field, column)| {
        count += 1;
        field == column.to_string().as_bytes()
    });
    is_index && are_numbers && count > 1
}

fn rows(
    plan: &Plan,
    first: [Option<Line>; 2],
    separator: Separator,
    width: usize,
    mut lines: Lines<impl BufRead>,
) -> Result<Table> {
    let mut rows = Rows::new(plan, separator, width);
    for line in first.into_iter().flatten() {
        rows.push(line.number, &line.text)?;
    }
    while let Some((number, text)) = lines.next_row(separator)? {
        rows.push(number, text)?;
    }
    Ok(plan.finish(rows.table))
}

struct Line {
    number: u64,
    text: Vec<u8>,
}

/// A line 0, 1, 2, … numbers the columns. Needs three fields: two are more often a pair of ids, or a point.
fn numbers_columns(text: &[u8], separator: Separator) -> bool {
    let mut fields = separator.fields(text).zip(0_usize..);
    fields.clone().count() > 2 && fields.all(|(field, column)| field == column.to_string().as_bytes())
}

fn has_fraction(text: &[u8], stated: Option<Separator>) -> bool {
    let is_fraction = |field: &[u8]| {
        let is_integer = str::from_utf8(field).is_ok_and(|field| field.parse::<i64>().is_ok());
        number(field).is_some() && !is_integer
    };
    let separator = stated.unwrap_or_else(|| Separator::of(text));
    separator.fields(text).any(is_fraction)
}

#[derive(Clone, Copy, PartialEq)]
enum Cell {
    Unused,
    Number,
    Filter(usize),
}

struct Rows<'a> {
    plan: &'a Plan,
    separator: Separator,
    cells: Vec<Cell>,
    numbers: Vec<f64>,
    table: Table,
}

impl<'a> Rows<'a> {
    fn new(plan: &'a Plan, separator: Separator, width: usize) -> Self {
        let mut table = Table::new(plan.columns.len());
        table.filters = plan.filters.map(|_| Vec::new());
        let mut cells = vec![Cell::Unused; width];
        for &column in &plan.columns {
            cells[column] = Cell::Number;
        }
        for (filter, &column) in plan.filters.iter().flatten().enumerate() {
            cells[column] = Cell::Filter(filter);
        }
        Self {
            plan,
            separator,
            numbers: vec![0.0; width],
            cells,
            table,
        }
    }

    fn push(&mut self, line: u64, text: &[u8]) -> Result<()> {
        let width = self.cells.len();
        let mut filters = [0; 2];
        let mut count = 0;
        for (column, field) in self.separator.fields(text).enumerate() {
            count += 1;
            match self.cells.get(column) {
                Some(Cell::Number) => {
                    self.numbers[column] = number(field).ok_or_else(|| not_a_number(line, column, field))?;
                }
                Some(&Cell::Filter(filter)) => {
                    filters[filter] =
                        integer(field).ok_or_else(|| not(line, column, field, "an integer of 32 bits"))?;
                }
                Some(Cell::Unused) | None => {}
            }
        }
        if count != width {
            bail!("line {line}: {count} columns, expected {width}");
        }
        let values = self.plan.columns.iter().map(|&column| self.numbers[column]);
        self.table.values.extend(values);
        if let Some(all) = &mut self.table.filters {
            all.push(filters);
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Separator {
    Semicolons,
    Commas,
    Tabs,
    Blanks,
    /// From a line such as `sep=|`.
    Other(u8),
}

impl Separator {
    fn of(text: &[u8]) -> Self {
        let has_inner_blank = |field: &[u8]| field.trim_ascii().contains(&b' ');
        if text.contains(&b';') {
            Self::Semicolons
        } else if text.contains(&b',') && !is_torn_by_commas(text) {
            Self::Commas
        } else if text.contains(&b'\t') && !text.split(|&byte| byte == b'\t').any(has_inner_blank) {
            Self::Tabs
        } else {
            Self::Blanks
        }
    }

    fn parts(self, byte: u8) -> bool {
        match self {
            Self::Semicolons => byte == b';',
            Self::Commas => byte == b',',
            Self::Tabs => byte == b'\t',
            Self::Blanks => matches!(byte, b' ' | b'\t'),
            Self::Other(other) => byte == other,
        }
    }

    /// A trailing separator adds no field.
    fn fields(self, text: &[u8]) -> LineFields<'_> {
        LineFields {
            rest: Some(text),
            separator: self,
        }
    }
}

#[derive(Clone)]
struct LineFields<'a> {
    rest: Option<&'a [u8]>,
    separator: Separator,
}

impl<'a> Iterator for LineFields<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let separator = self.separator;
        let rest = self.rest?;
        let blanks = rest
            .iter()
            .take_while(|&&byte| byte == b' ' || (byte == b'\t' && separator != Separator::Tabs));
        let rest = &rest[blanks.count()..];
        if rest.is_empty() && separator == Separator::Blanks {
            self.rest = None;
            return None;
        }
        let quoted = rest.strip_prefix(b"\"");
        let quoted = quoted.and_then(|inner| Some(&inner[..inner.iter().position(|&byte| byte == b'"')?]));
        let skipped = quoted.map_or(0, |inner| inner.len() + 2);
        let end = rest[skipped..].iter().position(|&byte| separator.parts(byte));
        let end = end.map(|end| skipped + end);
        let behind = end.map(|end| &rest[end + 1..]);
        self.rest = behind.filter(|behind| !behind.trim_ascii().is_empty());
        let whole = rest[..end.unwrap_or(rest.len())].trim_ascii();
        // Quotes are removed unless text follows the closing one.
        Some(match quoted {
            Some(inner) if whole.len() == skipped => inner.trim_ascii(),
            _ => whole,
        })
    }
}

/// Lines end in `\n`, `\r\n` or `\r`.
/// Comments that are searched for names of columns.
const MOST_COMMENTS: usize = 64;

pub struct Lines<R> {
    reader: R,
    number: u64,
    after_return: bool,
    line: Vec<u8>,
    /// Text of the first lines that are comments.
    comments: Vec<Vec<u8>>,
}

impl<R: BufRead> Lines<R> {
    pub fn new(reader: R) -> Self {
        Self {
            reader,
            number: 0,
            after_return: false,
            line: Vec::new(),
            comments: Vec::new(),
        }
    }

    /// The next line without line end and byte order mark.
    pub fn next_whole(&mut self) -> Result<Option<(u64, &[u8])>> {
        Ok(self.next_line()?.then_some((self.number, &self.line)))
    }

    /// A line above the rows, which may begin with a semicolon.
    fn owned(&mut self) -> Result<Option<Line>> {
        while let Some((number, text)) = self.next_with_text()? {
            let Some(comment) = text_of_comment(text) else {
                let text = text.to_vec();
                return Ok(Some(Line { number, text }));
            };
            let comment = comment.to_vec();
            self.add_comment(comment);
        }
        Ok(None)
    }

    fn row(&mut self, separator: Separator) -> Result<Option<Line>> {
        let next = self.next_row(separator)?;
        Ok(next.map(|(number, text)| Line {
            number,
            text: text.to_vec(),
        }))
    }

    fn next_row(&mut self, separator: Separator) -> Result<Option<(u64, &[u8])>> {
        loop {
            let Some((_, text)) = self.next_with_text()? else {
                return Ok(None);
            };
            let is_field = separator == Separator::Semicolons;
            if text_of_comment(text).is_none() && (is_field || !text.starts_with(b";")) {
                break;
            }
        }
        Ok(Some((self.number, trimmed(&self.line))))
    }

    fn add_comment(&mut self, text: Vec<u8>) {
        if self.comments.len() < MOST_COMMENTS {
            self.comments.push(text);
        }
    }

    /// The next line that has more than blanks and a comment.
    fn next_with_text(&mut self) -> Result<Option<(u64, &[u8])>> {
        while self.next_line()? {
            let end = comment(&self.line);
            if let Some(start) = end
                && self.line[..start].trim_ascii().is_empty()
            {
                self.add_comment(self.line[start + 1..].to_vec());
            }
            self.line.truncate(end.unwrap_or(self.line.len()));
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some((self.number, trimmed(&self.line))));
            }
        }
        Ok(None)
    }

    fn next_line(&mut self) -> Result<bool> {
        self.line.clear();
        let mut is_there = false;
        loop {
            let bytes = self.reader.fill_buf()?;
            if self.after_return && !bytes.is_empty() {
                self.after_return = false;
                if bytes[0] == b'\n' {
                    self.reader.consume(1);
                    continue;
                }
            }
            if bytes.is_empty() {
                break;
            }
            is_there = true;
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            self.line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            self.after_return = end.is_some_and(|end| bytes[end] == b'\r');
            let taken = end.map_or(bytes.len(), |end| end + 1);
            self.reader.consume(taken);
            if end.is_some() {
                break;
            }
        }
        self.number += u64::from(is_there);
        if self.number == 1 {
            if self.line.starts_with(b"\xff\xfe") || self.line.starts_with(b"\xfe\xff") {
                bail!("text in UTF-16; use UTF-8");
            }
            if self.line.starts_with(MARK) {
                self.line.drain(..MARK.len());
            }
        }
        Ok(is_there)
    }
}

/// Keeps tabs at both ends, since an outermost tab may delimit an empty field.
fn trimmed(mut text: &[u8]) -> &[u8] {
    while let [b' ', inner @ ..] | [inner @ .., b' '] = text {
        text = inner;
    }
    text
}

/// Comments as in C, MATLAB or TeX.
fn text_of_comment(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_start();
    line.strip_prefix(b"//").or_else(|| line.strip_prefix(b"%"))
}

/// Start of a comment: `#` outside quotes, except in `1.#INF`.
pub fn comment(line: &[u8]) -> Option<usize> {
    let mut is_quoted = false;
    let starts = line.iter().enumerate().filter(|&(_, &byte)| {
        is_quoted ^= byte == b'"';
        byte == b'#' && !is_quoted
    });
    let is_of_number = |at: usize| line[..at].ends_with(b"1.") && is_not_finite(&line[at + 1..]);
    starts.map(|(at, _)| at).find(|&at| !is_of_number(at))
}

fn is_not_finite(text: &[u8]) -> bool {
    let starts_with = |name: &str| {
        let start = text.get(..name.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
    };
    NOT_FINITE.iter().any(|(name, _)| starts_with(name))
}

const NOT_FINITE: [(&str, f64); 4] = [
    ("INF", f64::INFINITY),
    ("IND", f64::NAN),
    ("QNAN", f64::NAN),
    ("SNAN", f64::NAN),
];

/// Also accepts `1.#INF`, `-1.#IND000` and `-nan(ind)`, which C libraries on Windows write, and Fortran's `1.5D-3`.
pub fn real(word: &str) -> Option<f64> {
    if let Ok(value) = word.parse() {
        return Some(value);
    }
    if word.contains(['d', 'D'])
        && let Ok(value) = word.replacen(['d', 'D'], "e", 1).parse()
    {
        return Some(value);
    }
    let unsigned = word.strip_prefix(['-', '+']).unwrap_or(word);
    if let Some(name) = unsigned.strip_prefix("1.#") {
        let name = name.trim_end_matches('0');
        let found = NOT_FINITE.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
        return found.map(|&(_, value)| if word.starts_with('-') { -value } else { value });
    }
    matches!(unsigned, "nan(ind)" | "nan(snan)").then_some(f64::NAN)
}

fn number(field: &[u8]) -> Option<f64> {
    real(str::from_utf8(field).ok()?)
}

fn integer(field: &[u8]) -> Option<u32> {
    str::from_utf8(field).ok()?.parse().ok()
}

/// Returns true if no field is a number, with decimal point or comma.
fn is_header(text: &[u8], separator: Separator) -> bool {
    let mut fields = separator.fields(text);
    fields.all(|field| number(field).is_none() && !has_decimal_comma(field))
}

fn has_decimal_comma(field: &[u8]) -> bool {
    let Some(comma) = field.iter().position(|&byte| byte == b',') else {
        return false;
    };
    let (whole, rest) = (&field[..comma], &field[comma + 1..]);
    let digits = [whole.last(), rest.first()];
    let is_between = digits.iter().all(|byte| byte.is_some_and(u8::is_ascii_digit));
    is_between && number(&[whole, b".", rest].concat()).is_some()
}

/// Returns true for numbers with decimal commas, as in `1,5 2,5`. The error then names the comma.
fn is_torn_by_commas(text: &[u8]) -> bool {
    let fields = text.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    let mut count = 0;
    let all = fields
        .inspect(|_| count += 1)
        .all(|field| number(field).is_some() || has_decimal_comma(field));
    all && count > 1
}

fn not_a_number(line: u64, column: usize, field: &[u8]) -> anyhow::Error {
    match has_decimal_comma(field) {
        true => not(line, column, field, "a number: use decimal points, not commas"),
        false => not(line, column, field, "a number"),
    }
}

fn not(line: u64, column: usize, field: &[u8], what: &str) -> anyhow::Error {
    let shown = shortened(&String::from_utf8_lossy(field));
    anyhow!("line {line}: column {}: {shown:?} is not {what}", column + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> (Separator, Vec<&str>) {
        let separator = Separator::of(text.as_bytes());
        let fields = separator.fields(text.as_bytes());
        (
            separator,
            fields.map(|field| std::str::from_utf8(field).unwrap()).collect(),
        )
    }

    #[test]
    fn a_row_tells_what_parts_its_fields() {
        assert_eq!(fields("1, 2 ,3"), (Separator::Commas, vec!["1", "2", "3"]));
        assert_eq!(fields("0, 0, 1"), (Separator::Commas, vec!["0", "0", "1"]));
        assert_eq!(fields("0 ,0 ,1"), (Separator::Commas, vec!["0", "0", "1"]));
        assert_eq!(fields("1,,3,"), (Separator::Commas, vec!["1", "", "3"]));
        assert_eq!(fields("1,2,,"), (Separator::Commas, vec!["1", "2", ""]));
        assert_eq!(fields("1; 2 ; "), (Separator::Semicolons, vec!["1", "2"]));
        assert_eq!(fields("1,5; 2"), (Separator::Semicolons, vec!["1,5", "2"]));
        assert_eq!(fields("1\t\t3 \t4"), (Separator::Tabs, vec!["1", "", "3", "4"]));
        assert_eq!(fields("1,5 2,5"), (Separator::Blanks, vec!["1,5", "2,5"]));
        assert_eq!(fields("1,5\t2"), (Separator::Tabs, vec!["1,5", "2"]));
        assert_eq!(fields("1, 5"), (Separator::Commas, vec!["1", "5"]));
        assert_eq!(fields("1  2\t3"), (Separator::Blanks, vec!["1", "2", "3"]));
        assert_eq!(fields("\"a, b\",\"2\" ,c"), (Separator::Commas, vec!["a, b", "2", "c"]));
        assert_eq!(fields("\"a\"b,\"c"), (Separator::Commas, vec!["\"a\"b", "\"c"]));
    }

    #[test]
    fn numbers_that_are_not_finite_come_in_several_words() {
        for (word, value) in [
            ("inf", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
            ("1.#INF", f64::INFINITY),
            ("-1.#INF00", f64::NEG_INFINITY),
            ("+1.#inf", f64::INFINITY),
        ] {
            assert_eq!(real(word), Some(value), "{word}");
        }
        for word in ["nan", "-nan", "-nan(ind)", "1.#QNAN", "-1.#IND000", "1.#SNAN"] {
            assert!(real(word).is_some_and(f64::is_nan), "{word}");
        }
        for word in ["", "1.#", "1.#IN", "2.#INF", "#INF", "nan()", "1.#INFO"] {
            assert_eq!(real(word), None, "{word}");
        }
        assert_eq!(comment(b"0 1.#INF -1.#IND # 1.#INF"), Some(17));
        assert_eq!(comment(b"1.#no number"), Some(2));
        assert_eq!(comment(b"1.#QNAN"), None);
    }

    #[test]
    fn lines_end_in_every_way() {
        let mut lines = Lines::new(std::io::BufReader::with_capacity(
            1,
            &b"\xef\xbb\xbfa\r\n\r\n# b\rc # d\n\n\"#\" e"[..],
        ));
        let mut read = Vec::new();
        while let Some((number, text)) = lines.next_with_text().unwrap() {
            read.push((number, String::from_utf8(text.to_vec()).unwrap()));
        }
        let expected = [(1, "a"), (4, "c"), (6, "\"#\" e")];
        assert_eq!(read, expected.map(|(number, text)| (number, text.to_owned())));
    }
}
