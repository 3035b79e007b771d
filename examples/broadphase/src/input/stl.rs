//! STL files, binary or text. Corners with equal positions become one vertex.

use std::collections::HashMap;
use std::io::{BufRead, Read, Seek, SeekFrom};
use std::str::SplitWhitespace;

use anyhow::{Context, Result, bail};

use super::text::{Lines, real};
use super::{Input, shortened, without_mark};
use crate::mesh::Mesh;
use crate::report::counted;

const HEADER: usize = 80;
const PREFIX: u64 = HEADER as u64 + 4;
/// Bytes per triangle: normal, three corners, and the number of attribute bytes, which most writers use for a colour.
const TRIANGLE: u64 = 50;

pub fn read(input: &mut Input, notes: &mut Vec<String>) -> Result<Mesh> {
    let length = input.length;
    let start = input.reader.fill_buf()?;
    let count = count(start);
    // A binary header may also start with `solid`.
    if is_text(start) && count.is_none_or(|count| size(count) != length) && has_text_behind(start) {
        return text(&mut input.reader, notes);
    }
    let Some(count) = count else {
        bail!("too short for an STL file");
    };
    let spare = length.checked_sub(size(count));
    let Some(spare) = spare else {
        bail!(
            "truncated or invalid: {count} triangles need {} bytes, the file has {length}",
            size(count)
        );
    };
    let has_attributes = spare > 0 && has_attributes(&mut input.reader, count, length)?;
    if spare > 0 {
        notes.push(match has_attributes {
            true => format!("ignored {} of attributes", counted(spare, "byte")),
            false => format!("ignored {} after the {count} triangles", counted(spare, "byte")),
        });
    }
    binary(&mut input.reader, count, has_attributes)
}

pub fn is_binary(bytes: &[u8]) -> bool {
    count(bytes).is_some_and(|count| size(count) == bytes.len() as u64)
}

fn count(start: &[u8]) -> Option<u32> {
    let bytes = start.get(HEADER..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

fn size(count: u32) -> u64 {
    PREFIX + TRIANGLE * u64::from(count)
}

pub fn is_text(start: &[u8]) -> bool {
    let start = without_mark(start).trim_ascii_start();
    let word = start.get(..5).unwrap_or_default();
    word.eq_ignore_ascii_case(b"solid") && start.get(5).is_none_or(u8::is_ascii_whitespace)
}

/// Returns true if `start` has a text keyword or is too short for a binary file. Zeros may only pad its end.
fn has_text_behind(start: &[u8]) -> bool {
    let end = start.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    if start[..end].contains(&0) {
        return false;
    }
    let has = |word: &[u8]| {
        start
            .windows(word.len())
            .any(|window| window.eq_ignore_ascii_case(word))
    };
    (start.len() as u64) < PREFIX || has(b"facet") || has(b"endsolid") || has(b"end solid")
}

/// True if the triangles and their stated attribute bytes exactly fill the file.
fn has_attributes(reader: &mut (impl BufRead + Seek), count: u32, length: u64) -> Result<bool> {
    reader.seek(SeekFrom::Start(PREFIX))?;
    let mut place = PREFIX;
    let mut bytes = [0; TRIANGLE as usize];
    for _ in 0..count {
        if place + TRIANGLE > length {
            break;
        }
        reader.read_exact(&mut bytes)?;
        let extra = attributes(&bytes);
        reader.seek_relative(extra)?;
        place += TRIANGLE + extra as u64;
    }
    reader.rewind()?;
    Ok(place == length)
}

fn attributes(triangle: &[u8; TRIANGLE as usize]) -> i64 {
    u16::from_le_bytes([triangle[48], triangle[49]]).into()
}

fn binary(reader: &mut (impl Read + Seek), count: u32, has_attributes: bool) -> Result<Mesh> {
    let mut header = [0; PREFIX as usize];
    reader.read_exact(&mut header)?;
    let mut corners = Corners::default();
    let mut bytes = [0; TRIANGLE as usize];
    for _ in 0..count {
        reader.read_exact(&mut bytes)?;
        let number = |at: usize| f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]).into();
        let corner = |corner: usize| std::array::from_fn(|axis| number(12 + 12 * corner + 4 * axis));
        corners.triangle([corner(0), corner(1), corner(2)])?;
        if has_attributes {
            reader.seek_relative(attributes(&bytes))?;
        }
    }
    Ok(corners.mesh)
}

fn text(reader: &mut impl BufRead, notes: &mut Vec<String>) -> Result<Mesh> {
    let mut state = Text::default();
    let mut lines = Lines::new(reader);
    while let Some((number, line)) = lines.next_whole()? {
        // Some writers pad the end of a file with zeros.
        let end = line.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        let line = String::from_utf8_lossy(&line[..end]);
        state.line(&line).with_context(|| format!("line {number}"))?;
    }
    match state.place {
        Place::Outside => {}
        Place::Solid => state.open += 1,
        Place::Facet | Place::Loop => bail!("truncated: the file ends within a facet"),
    }
    if state.open > 0 {
        notes.push(format!(
            "{} without endsolid: the file may be truncated",
            counted(state.open, "solid")
        ));
    }
    Ok(state.corners.mesh)
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Place {
    #[default]
    Outside,
    Solid,
    Facet,
    Loop,
}

#[derive(Default)]
struct Text {
    place: Place,
    open: u64,
    triangle: Vec<[f64; 3]>,
    corners: Corners,
}

impl Text {
    fn line(&mut self, line: &str) -> Result<()> {
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            let mut lower = word.to_ascii_lowercase();
            if lower == "end" {
                lower += &words.next().unwrap_or_default().to_ascii_lowercase();
            }
            self.place = match (self.place, lower.as_str()) {
                (Place::Outside | Place::Solid, "solid") => {
                    self.open += u64::from(self.place == Place::Solid);
                    skip_name(&mut words);
                    Place::Solid
                }
                (Place::Solid, "endsolid") => match skip_name(&mut words) {
                    true => Place::Solid,
                    false => Place::Outside,
                },
                (place @ (Place::Solid | Place::Facet | Place::Loop), "color" | "colour") => {
                    skip_while(&mut words, |word| real(word).is_some());
                    place
                }
                (Place::Solid, "facet") => {
                    // Skips the normal, which may be missing or invalid.
                    skip_while(&mut words, |word| !word.eq_ignore_ascii_case("outer"));
                    Place::Facet
                }
                (Place::Facet, "outer") if words.next().is_some_and(|word| word.eq_ignore_ascii_case("loop")) => {
                    Place::Loop
                }
                (Place::Facet, "endfacet") => Place::Solid,
                (Place::Loop, "vertex") => {
                    let mut position = [0.0; 3];
                    for value in &mut position {
                        let word = words.next().context("a vertex needs 3 numbers")?;
                        *value = real(word).with_context(|| format!("{:?} is not a number", shortened(word)))?;
                    }
                    if self.triangle.len() == 3 {
                        bail!("a loop of more than 3 vertices; use triangles");
                    }
                    self.triangle.push(position);
                    Place::Loop
                }
                (Place::Loop, "endloop") => {
                    let &[a, b, c] = self.triangle.as_slice() else {
                        bail!("a loop of {} vertices; use triangles", self.triangle.len());
                    };
                    self.corners.triangle([a, b, c])?;
                    self.triangle.clear();
                    Place::Facet
                }
                _ => bail!("unexpected {:?}", shortened(word)),
            };
        }
        Ok(())
    }
}

fn skip_while(words: &mut SplitWhitespace<'_>, is_skipped: impl Fn(&str) -> bool) {
    while words.clone().next().is_some_and(&is_skipped) {
        words.next();
    }
}

/// Returns true if a facet follows.
fn skip_name(words: &mut SplitWhitespace<'_>) -> bool {
    while words.clone().next().is_some() {
        if starts_facet(words.clone()) {
            return true;
        }
        words.next();
    }
    false
}

/// A solid's name may contain `facet`, so a normal must follow.
fn starts_facet<'a>(mut words: impl Iterator<Item = &'a str>) -> bool {
    let mut is = |name: &str| words.next().is_some_and(|word| word.eq_ignore_ascii_case(name));
    is("facet") && is("normal") && words.next().is_some_and(|word| real(word).is_some())
}

/// Vertices are in order of first appearance.
#[derive(Default)]
struct Corners {
    mesh: Mesh,
    known: HashMap<[u64; 3], u32>,
}

impl Corners {
    fn triangle(&mut self, corners: [[f64; 3]; 3]) -> Result<()> {
        let mut face = [0; 3];
        for (vertex, position) in face.iter_mut().zip(corners) {
            let next = u32::try_from(self.mesh.positions.len())
                .ok()
                .context("too many vertices: ids have 32 bits")?;
            // −0 and +0 are equal positions.
            let key = position.map(|value| if value == 0.0 { 0 } else { value.to_bits() });
            *vertex = *self.known.entry(key).or_insert(next);
            if *vertex == next {
                self.mesh.positions.push(position);
            }
        }
        self.mesh.faces.push(&face);
        Ok(())
    }
}
