//! Normalises PLY headers for the parser. Comments may contain any bytes, and lines may end in any way.

use std::io::{BufRead, Cursor};

use anyhow::{Result, bail};
use ply_rs_bw::parser::{Parser, Reader};
use ply_rs_bw::ply::{DefaultElement, ElementDef, Encoding};

use super::ply::one_line;
use super::{MARK, shortened};

pub struct Header {
    pub encoding: Encoding,
    pub elements: Vec<ElementDef>,
}

pub fn read(reader: &mut impl BufRead) -> Result<Header> {
    if reader.fill_buf()?.starts_with(MARK) {
        reader.consume(MARK.len());
    }
    let mut text = String::new();
    let mut line = Vec::new();
    let (mut number, mut is_of_returns) = (0, false);
    loop {
        line.clear();
        let end = read_line(reader, &mut line)?;
        number += 1;
        let is_pair = end == Some(b'\r') && reader.fill_buf()?.first() == Some(&b'\n');
        if number == 1 {
            is_of_returns = end == Some(b'\r') && !is_pair;
        }
        let line = line.trim_ascii();
        let is_last = line == b"end_header";
        // In a file with line ends `\r`, this `\n` is the first byte of the data.
        if is_pair && !(is_last && is_of_returns) {
            reader.consume(1);
        }
        let word = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        if matches!(word, b"comment" | b"obj_info") {
            // The parser's errors count lines, so a comment stays as an empty one.
            text += "comment -\n";
            continue;
        }
        let Ok(line) = str::from_utf8(line) else {
            bail!("line {number}: {:?}", shortened(&String::from_utf8_lossy(line)));
        };
        for word in line.split_ascii_whitespace() {
            text += word;
            text.push(' ');
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
        let is_known = matches!(word, b"ply" | b"format" | b"element" | b"property" | b"");
        if is_last || end.is_none() || !is_known {
            break;
        }
    }
    let mut reader = Reader::new(Cursor::new(text));
    let header = Parser::<DefaultElement>::new()
        .read_header(&mut reader)
        .map_err(one_line)?;
    Ok(Header {
        encoding: header.encoding,
        elements: header.elements.into_iter().map(|(_, element)| element).collect(),
    })
}

/// Returns the byte that ended the line; `None` at the end of the file.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> Result<Option<u8>> {
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
        let (taken, last) = end.map_or((bytes.len(), None), |end| (end + 1, Some(bytes[end])));
        reader.consume(taken);
        if last.is_some() {
            return Ok(last);
        }
    }
}
