//! Vertices, faces and edges of PLY files, text or binary, little or big endian.

use std::io::{BufRead, Seek};
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail};
use ply_rs_bw::parser::{ParseError, Parser, Reader};
use ply_rs_bw::ply::{
    BeginList, ElementDef, Encoding, Property, PropertyAccess, PropertyAccessResult, PropertyType, ScalarType,
};

use super::mesh::{check_vertices, push_face};
use super::{Input, MARK, shortened};
use crate::mesh::Mesh;

/// Vertices of a mesh in two dimensions may do without z.
pub fn read(input: &mut Input, dimensions: u8) -> Result<Mesh> {
    let mut mesh = Mesh::default();
    if input.reader.fill_buf()?.starts_with(MARK) {
        input.reader.consume(MARK.len());
    }
    let mut reader = Reader::new(&mut input.reader);
    let header = Parser::<Skipped>::new().read_header(&mut reader).map_err(one_line)?;
    let mut left = input.length.saturating_sub(reader.get_mut().stream_position()?);
    for element in header.elements.values() {
        // Counts are claims: hold them to the bytes that are there before anything is made for them.
        let smallest = smallest_element(element, header.encoding);
        let claimed = smallest
            .checked_mul(element.count as u64)
            .filter(|_| smallest > 0 || element.count == 0);
        // The last line of a text may lack its end.
        let claimed = claimed.filter(|&claimed| claimed <= left + 1);
        let Some(claimed) = claimed else {
            bail!(
                "truncated: {} elements {:?} in {left} bytes",
                element.count,
                element.name
            );
        };
        left -= claimed.min(left);
        let bytes = reader.get_mut();
        match element.name.as_str() {
            "vertex" => {
                for axis in &["x", "y", "z"][..dimensions.into()] {
                    if !matches!(
                        element.properties.get(*axis).map(|p| &p.data_type),
                        Some(PropertyType::Scalar(_))
                    ) {
                        bail!("vertices without a number {axis}");
                    }
                }
                each::<Vertex>(bytes, element, header.encoding, |vertex| {
                    mesh.positions.push(vertex.0);
                    Ok(())
                })?;
            }
            "face" => {
                if !FACE_LISTS.iter().any(|name| {
                    matches!(
                        element.properties.get(*name).map(|p| &p.data_type),
                        Some(PropertyType::List(..))
                    )
                }) {
                    bail!("faces without a list {}", FACE_LISTS.join(" or "));
                }
                each::<Face>(bytes, element, header.encoding, |face| {
                    push_face(&mut mesh.faces, &face.vertices()?)
                })?;
            }
            "edge" => {
                for name in EDGE_ENDS {
                    let property = element.properties.get(name).map(|property| &property.data_type);
                    let is_integer = matches!(property, Some(PropertyType::Scalar(scalar))
                        if !matches!(scalar, ScalarType::Float | ScalarType::Double));
                    if !is_integer {
                        bail!("edges without an integer {name}");
                    }
                }
                each::<Edge>(bytes, element, header.encoding, |edge| {
                    mesh.edges.push(edge.vertices()?);
                    Ok(())
                })?;
            }
            _ => each::<Skipped>(bytes, element, header.encoding, |_| Ok(()))?,
        }
    }
    check_vertices(&mesh)?;
    Ok(mesh)
}

const FACE_LISTS: [&str; 2] = ["vertex_indices", "vertex_index"];
const NO_VERTEX: &str = "a vertex that is not an integer of 0 or more";
const EDGE_ENDS: [&str; 2] = ["vertex1", "vertex2"];

/// Reads all elements of one kind, one at a time.
fn each<E: PropertyAccess>(
    reader: &mut impl BufRead,
    element: &ElementDef,
    encoding: Encoding,
    mut take: impl FnMut(E) -> Result<()>,
) -> Result<()> {
    let parser = Parser::<E>::new();
    let mut line = Vec::new();
    for row in 0..element.count {
        let read = match encoding {
            Encoding::Ascii => next_line(reader, &mut line).and_then(|()| from_words(&line, element)),
            Encoding::BinaryBigEndian => parser.read_big_endian_element(reader, element).map_err(one_line),
            Encoding::BinaryLittleEndian => parser.read_little_endian_element(reader, element).map_err(one_line),
        };
        read.and_then(&mut take)
            .with_context(|| format!("{} {row}", element.name))?;
    }
    Ok(())
}

/// The next line that is not blank.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> Result<()> {
    loop {
        line.clear();
        if reader.read_until(b'\n', line)? == 0 {
            bail!("truncated");
        }
        if !line.trim_ascii().is_empty() {
            return Ok(());
        }
    }
}

/// An element as text. The PLY reader's own grammar has no `nan`, `inf`, `1.` or `.5`, which C programs write.
fn from_words<E: PropertyAccess>(line: &[u8], element: &ElementDef) -> Result<E> {
    let text = String::from_utf8_lossy(line);
    let mut words = text.split_ascii_whitespace();
    let mut read = E::new();
    for (name, property) in &element.properties {
        let words = &mut words;
        let value = match &property.data_type {
            // Rounded once, as in a binary file.
            PropertyType::Scalar(ScalarType::Float) => Property::Float(number(words)?),
            PropertyType::Scalar(_) => Property::Double(number(words)?),
            PropertyType::List(_, ScalarType::Float | ScalarType::Double) => Property::ListDouble(list(words)?),
            PropertyType::List(_, ScalarType::UInt) => Property::ListUInt(list(words)?),
            PropertyType::List(..) => Property::ListInt(list(words)?),
        };
        read.set_property(name, value);
    }
    if words.next().is_some() {
        bail!("more numbers than properties");
    }
    Ok(read)
}

fn list<'a, T: FromStr>(words: &mut impl Iterator<Item = &'a str>) -> Result<Vec<T>> {
    let count: u64 = number(words)?;
    (0..count).map(|_| number(words)).collect()
}

fn number<'a, T: FromStr>(words: &mut impl Iterator<Item = &'a str>) -> Result<T> {
    let word = words.next().context("truncated")?;
    word.parse()
        .map_err(|_| anyhow!("{:?} is not a number of the property's type", shortened(word)))
}

/// The fewest bytes that an element can take in the file.
fn smallest_element(element: &ElementDef, encoding: Encoding) -> u64 {
    let sizes = element
        .properties
        .values()
        .map(|property| match (encoding, &property.data_type) {
            // A digit and what parts it from the next.
            (Encoding::Ascii, _) => 2,
            (_, PropertyType::Scalar(scalar)) => size(scalar),
            (_, PropertyType::List(count, _)) => size(count),
        });
    sizes.sum()
}

fn size(scalar: &ScalarType) -> u64 {
    match scalar {
        ScalarType::Char | ScalarType::UChar => 1,
        ScalarType::Short | ScalarType::UShort => 2,
        ScalarType::Int | ScalarType::UInt | ScalarType::Float => 4,
        ScalarType::Double => 8,
    }
}

/// The reader's message without its echo of the input, which may be long and of many lines.
fn one_line(error: ParseError) -> anyhow::Error {
    if error.kind() == std::io::ErrorKind::UnexpectedEof {
        return anyhow!("truncated");
    }
    let text = error.to_string();
    anyhow!("{}", shortened(text.lines().next().unwrap_or_default()))
}

struct Vertex([f64; 3]);

impl PropertyAccess for Vertex {
    fn new() -> Self {
        Self([0.0; 3])
    }

    fn set_property(&mut self, name: &str, property: Property) -> PropertyAccessResult {
        let axis = match name {
            "x" => 0,
            "y" => 1,
            "z" => 2,
            _ => return PropertyAccessResult::Ignored,
        };
        set_number(&mut self.0[axis], property)
    }
}

fn set_number(to: &mut f64, property: Property) -> PropertyAccessResult {
    *to = match property {
        Property::Char(value) => value.into(),
        Property::UChar(value) => value.into(),
        Property::Short(value) => value.into(),
        Property::UShort(value) => value.into(),
        Property::Int(value) => value.into(),
        Property::UInt(value) => value.into(),
        Property::Float(value) => value.into(),
        Property::Double(value) => value,
        _ => return PropertyAccessResult::UnsupportedType,
    };
    PropertyAccessResult::Set
}

/// Both ends as numbers: an `f64` holds every integer of the format, and text is read as `f64` whatever its property
/// says.
struct Edge([f64; 2]);

impl Edge {
    fn vertices(&self) -> Result<[u32; 2]> {
        let is_vertex = |end: &f64| end.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(end);
        if !self.0.iter().all(is_vertex) {
            bail!(NO_VERTEX);
        }
        Ok(self.0.map(|end| end as u32))
    }
}

impl PropertyAccess for Edge {
    fn new() -> Self {
        Self([0.0; 2])
    }

    fn set_property(&mut self, name: &str, property: Property) -> PropertyAccessResult {
        match EDGE_ENDS.iter().position(|&end| end == name) {
            Some(end) => set_number(&mut self.0[end], property),
            None => PropertyAccessResult::Ignored,
        }
    }
}

/// Faces of 32-bit integers, by far the most, go without the detour over `Other`.
enum Face {
    Int(Vec<i32>),
    Other(Property),
}

impl Face {
    fn vertices(self) -> Result<Vec<u32>> {
        let list = match self {
            Self::Int(list) => Property::ListInt(list),
            Self::Other(property) => property,
        };
        list.to_u32_list().context(NO_VERTEX)
    }
}

impl PropertyAccess for Face {
    fn new() -> Self {
        Self::Int(Vec::new())
    }

    fn set_property(&mut self, name: &str, property: Property) -> PropertyAccessResult {
        if !FACE_LISTS.contains(&name) {
            return PropertyAccessResult::Ignored;
        }
        *self = Self::Other(property);
        PropertyAccessResult::Set
    }

    fn begin_list_int(&mut self, name: &str, _: usize) -> BeginList<'_, i32> {
        match self {
            Self::Int(list) if FACE_LISTS.contains(&name) => BeginList::Fill(list),
            _ => BeginList::UseSetter,
        }
    }
}

/// An element that nobody asked for.
struct Skipped;

impl PropertyAccess for Skipped {
    fn new() -> Self {
        Self
    }

    fn set_property(&mut self, _: &str, _: Property) -> PropertyAccessResult {
        PropertyAccessResult::Ignored
    }
}
