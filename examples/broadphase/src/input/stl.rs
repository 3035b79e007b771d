//! Triangles of STL files, binary or text. Corners with equal positions are one vertex.

use std::collections::HashMap;
use std::io::{BufRead, Read};

use anyhow::{Context, Result, bail};

use super::{Input, shortened, without_mark};
use crate::mesh::Mesh;

const HEADER: usize = 80;
const PREFIX: u64 = HEADER as u64 + 4;
/// Normal, three corners, two bytes that nobody asks for.
const TRIANGLE: u64 = 50;

pub fn read(input: &mut Input) -> Result<Mesh> {
    let length = input.length;
    let start = input.reader.fill_buf()?;
    // The header of a binary file may start with the word of a text.
    match count(start) {
        Some(count) if size(count) == length => binary(&mut input.reader, count),
        _ if is_text(start) => text(&mut input.reader),
        Some(count) => bail!(
            "truncated or broken: {count} triangles take {} bytes, the file has {length}",
            size(count)
        ),
        None => bail!("too short for an STL file"),
    }
}

/// Whether all bytes of a file are those of triangles.
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

/// Whether a file starts as text.
pub fn is_text(start: &[u8]) -> bool {
    let start = without_mark(start).trim_ascii_start();
    let word = start.get(..5).unwrap_or_default();
    word.eq_ignore_ascii_case(b"solid") && start.get(5).is_none_or(u8::is_ascii_whitespace)
}

fn binary(reader: &mut impl Read, count: u32) -> Result<Mesh> {
    let mut header = [0; PREFIX as usize];
    reader.read_exact(&mut header)?;
    let mut corners = Corners::default();
    let mut bytes = [0; TRIANGLE as usize];
    for _ in 0..count {
        reader.read_exact(&mut bytes)?;
        let number = |at: usize| f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]).into();
        let corner = |corner: usize| std::array::from_fn(|axis| number(12 + 12 * corner + 4 * axis));
        corners.triangle([corner(0), corner(1), corner(2)])?;
    }
    Ok(corners.mesh)
}

fn text(reader: &mut impl BufRead) -> Result<Mesh> {
    let mut state = Text::default();
    let mut line = Vec::new();
    let mut number = 0_u64;
    while reader.read_until(b'\n', &mut line)? > 0 {
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let text = if number == 0 { without_mark(text) } else { text };
        // As on an old Mac.
        for part in text.split(|&byte| byte == b'\r') {
            number += 1;
            state
                .line(&String::from_utf8_lossy(part))
                .with_context(|| format!("line {number}"))?;
        }
        line.clear();
    }
    if state.place != Place::Outside {
        bail!("line {number}: truncated: the file ends before endsolid");
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
    /// Those of the loop so far.
    triangle: Vec<[f64; 3]>,
    corners: Corners,
}

impl Text {
    fn line(&mut self, line: &str) -> Result<()> {
        let mut words = line.split_whitespace();
        let Some(word) = words.next() else {
            return Ok(());
        };
        self.place = match (self.place, word.to_ascii_lowercase().as_str()) {
            (Place::Outside, "solid") => Place::Solid,
            (Place::Solid, "endsolid") => Place::Outside,
            (Place::Solid, "facet") => Place::Facet,
            (Place::Facet, "outer") => Place::Loop,
            (Place::Facet, "endfacet") => Place::Solid,
            (Place::Loop, "vertex") => {
                let mut position = [0.0; 3];
                for value in &mut position {
                    let word = words.next().context("a vertex needs 3 numbers")?;
                    *value = word
                        .parse()
                        .ok()
                        .with_context(|| format!("{:?} is not a number", shortened(word)))?;
                }
                if self.triangle.len() == 3 {
                    bail!("a loop of more than 3 vertices; triangles are needed");
                }
                self.triangle.push(position);
                Place::Loop
            }
            (Place::Loop, "endloop") => {
                let &[a, b, c] = self.triangle.as_slice() else {
                    bail!("a loop of {} vertices; triangles are needed", self.triangle.len());
                };
                self.corners.triangle([a, b, c])?;
                self.triangle.clear();
                Place::Facet
            }
            _ => bail!("{:?} is not expected here", shortened(word)),
        };
        Ok(())
    }
}

/// Vertices in the order in which they first appear.
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
                .context("more vertices than ids of 32 bits can name")?;
            // Both zeros are one position.
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
