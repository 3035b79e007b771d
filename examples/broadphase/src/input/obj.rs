//! Wavefront OBJ. Existing readers renumber vertices and drop line numbers, but ids and errors need the originals.

use std::io::BufRead;

use anyhow::{Context, Result, bail};

use super::mesh::Short;
use super::shortened;
use super::text::{Lines, comment, real};
use crate::mesh::Mesh;

/// In two dimensions, vertices may lack z.
pub fn read(reader: &mut impl BufRead, dimensions: u8, notes: &mut Vec<String>) -> Result<Mesh> {
    let mut lines = Lines::new(reader);
    let mut obj = Obj {
        mesh: Mesh::default(),
        dimensions,
        short_faces: Short::faces(),
        short_lines: Short::lines(),
    };
    // Unknown vertices are found only at the end.
    let mut face_lines = Vec::new();
    let mut edge_lines = Vec::new();
    let mut text = Vec::new();
    let mut first_line = 1;
    while let Some((line, part)) = lines.next_whole()? {
        text.extend_from_slice(part);
        if drop_continuation(&mut text) {
            continue;
        }
        obj.statement(&text, first_line)
            .with_context(|| format!("line {first_line}"))?;
        face_lines.resize(obj.mesh.faces.len(), first_line);
        edge_lines.resize(obj.mesh.edges.len(), first_line);
        text.clear();
        first_line = line + 1;
    }
    if !text.is_empty() {
        bail!("line {first_line}: truncated: the last line ends in a backslash");
    }
    let mesh = obj.mesh;
    let count = mesh.positions.len();
    let faces = mesh.faces.iter().zip(face_lines);
    let edges = mesh.edges.iter().map(|edge| &edge[..]).zip(edge_lines);
    let missing = faces.chain(edges).find_map(|(vertices, line)| {
        let vertex = vertices.iter().find(|&&vertex| vertex as usize >= count)?;
        Some((*vertex, line))
    });
    let missing = missing.or_else(|| obj.short_faces.missing(count));
    if let Some((vertex, line)) = missing.or_else(|| obj.short_lines.missing(count)) {
        bail!(
            "line {line}: unknown vertex {}: there are {count}",
            u64::from(vertex) + 1
        );
    }
    obj.short_faces.report("line", notes);
    obj.short_lines.report("line", notes);
    Ok(mesh)
}

pub fn is_likely(bytes: &[u8]) -> bool {
    const STATEMENTS: [&str; 15] = [
        "v", "vn", "vt", "vp", "f", "l", "p", "o", "g", "s", "mtllib", "usemtl", "mg", "cstype", "deg",
    ];
    let start = &bytes[..bytes.len().min(1 << 16)];
    let text = String::from_utf8_lossy(start);
    let mut lines = text.split(['\n', '\r']).map(|line| line.split_whitespace());
    let first = lines
        .clone()
        .find_map(|mut words| words.next().filter(|word| !word.starts_with('#')));
    let is_vertex = |mut words: std::str::SplitWhitespace<'_>| {
        words.next() == Some("v") && words.next().is_some_and(|word| word.parse::<f64>().is_ok())
    };
    first.is_some_and(|word| STATEMENTS.contains(&word)) && lines.any(is_vertex)
}

/// Replaces a backslash that continues the line, and returns true. Comments do not continue.
fn drop_continuation(text: &mut Vec<u8>) -> bool {
    let end = text.trim_ascii_end().len();
    let continues = text[..end].ends_with(b"\\") && !text.contains(&b'#');
    if continues {
        text.truncate(end);
        text[end - 1] = b' ';
    }
    continues
}

struct Obj {
    mesh: Mesh,
    dimensions: u8,
    short_faces: Short,
    short_lines: Short,
}

impl Obj {
    fn statement(&mut self, text: &[u8], line: u64) -> Result<()> {
        let end = comment(text).unwrap_or(text.len());
        let text = String::from_utf8_lossy(&text[..end]);
        let mut words = text.split_whitespace();
        let Self { mesh, dimensions, .. } = self;
        match words.next() {
            Some("v") => {
                let mut position = [0.0; 3];
                for (axis, value) in position.iter_mut().enumerate() {
                    let Some(word) = words.next() else {
                        if axis >= (*dimensions).into() {
                            break;
                        }
                        bail!("a vertex needs {dimensions} numbers");
                    };
                    *value = real(word).with_context(|| format!("{:?} is not a number", shortened(word)))?;
                }
                mesh.positions.push(position);
            }
            Some("f") => {
                let vertices = vertices(words, mesh.positions.len())?;
                if !self.short_faces.takes(line, &vertices) {
                    mesh.faces.push(&vertices);
                }
            }
            Some("l") => {
                let vertices = vertices(words, mesh.positions.len())?;
                if !self.short_lines.takes(line, &vertices) {
                    mesh.edges.extend(vertices.windows(2).map(|ends| [ends[0], ends[1]]));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn vertices<'a>(words: impl Iterator<Item = &'a str>, count: usize) -> Result<Vec<u32>> {
    words.map(|word| vertex(word, count)).collect()
}

/// In `7`, `7/1`, `7//3` and `7/1/3`, 7 is the seventh vertex; -1 is the latest.
fn vertex(word: &str, vertices: usize) -> Result<u32> {
    let number = word.split('/').next().unwrap_or_default();
    let number: i64 = number
        .parse()
        .ok()
        .with_context(|| format!("{:?} is not a vertex", shortened(word)))?;
    let index = match number {
        1.. => number - 1,
        _ => vertices as i64 + number,
    };
    if number == 0 || index < 0 {
        bail!("unknown vertex {number}: {vertices} so far");
    }
    u32::try_from(index)
        .ok()
        .with_context(|| format!("vertex {number}: ids have 32 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faces_count_from_one_or_back_from_the_end() {
        assert_eq!(vertex("1", 4).unwrap(), 0);
        assert_eq!(vertex("4/2/1", 4).unwrap(), 3);
        assert_eq!(vertex("-1//7", 4).unwrap(), 3);
        assert!(vertex("0", 4).is_err());
        assert!(vertex("-5", 4).is_err());
        assert!(vertex("99999999999", 4).is_err());
        assert!(vertex("x", 4).is_err());
    }
}
