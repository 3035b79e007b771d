use std::io::{BufRead, Seek};
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail};
use ply_rs_bw::parser::{ParseError, Parser};
use ply_rs_bw::ply::{
    BeginList, ElementDef, Encoding, Property, PropertyAccess, PropertyAccessResult, PropertyType, ScalarType,
};

use super::mesh::{Short, check_vertices};
use super::text::real;
use super::{Input, ply_header, shortened};
use crate::mesh::{Lists, Mesh};
use crate::report::counted;

pub struct Contents {
    pub mesh: Mesh,
    pub lacks_z: bool,
    /// Names skipped elements without geometry.
    pub remark: Option<String>,
}

/// Vertices need z if `dimensions` is 3.
pub fn read(
    input: &mut Input,
    dimensions: Option<u8>,
    only_vertices: bool,
    notes: &mut Vec<String>,
) -> Result<Contents> {
    let mut mesh = Mesh::default();
    let mut short = Short::faces();
    let mut strips = Strips::default();
    let mut lacks_z = false;
    let (mut lost, mut spared) = (Vec::new(), Vec::new());
    let header = ply_header::read(&mut input.reader)?;
    let mut left = input.length.saturating_sub(input.reader.stream_position()?);
    let mut elements = Elements::new(&mut input.reader, header.encoding);
    for element in &header.elements {
        // Checks claimed counts against the remaining bytes before reserving memory.
        let smallest = smallest_element(element, header.encoding);
        let claimed = smallest
            .checked_mul(element.count as u64)
            .filter(|_| smallest > 0 || element.count == 0);
        // The last line of a text may lack its line end, one byte.
        let claimed = claimed.filter(|&claimed| claimed <= left + 1);
        let Some(claimed) = claimed else {
            bail!(
                "truncated: {} {:?} elements need more than the {left} bytes left",
                element.count,
                element.name
            );
        };
        left -= claimed.min(left);
        if element.count == 0 {
            continue;
        }
        match element.name.as_str() {
            "vertex" => {
                lacks_z = !element.properties.contains_key("z");
                let axes = if lacks_z { dimensions.unwrap_or(2) } else { 3 };
                for axis in &["x", "y", "z"][..axes.into()] {
                    if !is_number(element, axis) {
                        let hint = if lacks_z && *axis == "z" {
                            ", or --dimensions 2"
                        } else {
                            ""
                        };
                        bail!("vertices need a number {axis}{hint}");
                    }
                }
                elements.each::<Vertex>(element, |_, vertex| {
                    mesh.positions.push(vertex.0);
                    Ok(())
                })?;
            }
            "face" => {
                check_list(element, "faces")?;
                elements.each::<Face>(element, |row, face| {
                    let vertices = face.vertices()?;
                    if !short.takes(row, &vertices) {
                        mesh.faces.push(&vertices);
                    }
                    Ok(())
                })?;
            }
            "tristrips" => {
                check_list(element, "tristrips")?;
                elements.each::<Face>(element, |row, strip| {
                    strips.push(row, &strip.strip()?);
                    Ok(())
                })?;
            }
            "edge" => {
                for name in EDGE_ENDS {
                    let property = element.properties.get(name).map(|property| &property.data_type);
                    let is_integer = matches!(property, Some(PropertyType::Scalar(scalar))
                        if !matches!(scalar, ScalarType::Float | ScalarType::Double));
                    if !is_integer {
                        bail!("edges need an integer {name}");
                    }
                }
                elements.each::<Edge>(element, |_, edge| {
                    mesh.edges.push(edge.vertices()?);
                    Ok(())
                })?;
            }
            name => {
                let is_needed = !only_vertices || is_number(element, "x");
                let is_lost = is_needed && !WITHOUT_GEOMETRY.contains(&name);
                if is_lost { &mut lost } else { &mut spared }.push(element);
                elements.each::<Skipped>(element, |_, _| Ok(()))?;
            }
        }
    }
    elements.finish()?;
    check_vertices(&mesh, &short)?;
    strips.check(mesh.positions.len())?;
    strips.append_to(&mut mesh.faces);
    short.report("face", notes);
    strips.short.report("tristrips", notes);
    notes.extend(skipped(&lost));
    Ok(Contents {
        mesh,
        lacks_z,
        remark: skipped(&spared),
    })
}

const FACE_LISTS: [&str; 2] = ["vertex_indices", "vertex_index"];
const NO_VERTEX: &str = "a vertex index must be an integer of 0 or more";
const NO_STRIP_VERTEX: &str = "a vertex index must be an integer of 0 or more; -1 ends a strip";
const WITHOUT_GEOMETRY: [&str; 6] = [
    "camera",
    "material",
    "materials",
    "multi_texture_face",
    "multi_texture_vertex",
    "texture",
];

fn is_number(element: &ElementDef, name: &str) -> bool {
    let property = element.properties.get(name).map(|property| &property.data_type);
    matches!(property, Some(PropertyType::Scalar(_)))
}

fn check_list(element: &ElementDef, what: &str) -> Result<()> {
    let is_list = |name: &&str| {
        let property = element.properties.get(*name).map(|property| &property.data_type);
        matches!(property, Some(PropertyType::List(..)))
    };
    if !FACE_LISTS.iter().any(is_list) {
        bail!("{what} need a list {}", FACE_LISTS.join(" or "));
    }
    Ok(())
}

fn skipped(elements: &[&ElementDef]) -> Option<String> {
    const NAMED: usize = 2;
    let named = |element: &&ElementDef| format!("{} {:?}", element.count, shortened(&element.name));
    let mut kinds: Vec<_> = elements.iter().take(NAMED).map(named).collect();
    if elements.len() > NAMED {
        kinds.push(counted((elements.len() - NAMED) as u64, "more kind"));
    }
    (!kinds.is_empty()).then(|| format!("skipped elements: {}", kinds.join(", ")))
}

/// Triangles of strips, which follow the faces.
struct Strips {
    faces: Lists,
    short: Short,
    /// Largest vertex index, also of dropped triangles, with its row.
    largest: Option<(u32, u64)>,
}

impl Default for Strips {
    fn default() -> Self {
        Self {
            faces: Lists::default(),
            short: Short::strips(),
            largest: None,
        }
    }
}

impl Strips {
    fn push(&mut self, row: u64, members: &[u32]) {
        for strip in members.split(|&vertex| vertex == RESTART) {
            self.largest = strip.iter().map(|&vertex| (vertex, row)).chain(self.largest).max();
            if strip.is_empty() || self.short.takes(row, strip) {
                continue;
            }
            for (place, corners) in strip.windows(3).enumerate() {
                let [a, b, c] = [corners[0], corners[1], corners[2]];
                // Strippers repeat vertices to join strips.
                if a == b || b == c || c == a {
                    continue;
                }
                // Every other triangle is reversed to keep its orientation.
                self.faces.push(&if place % 2 == 0 { [a, b, c] } else { [a, c, b] });
            }
        }
    }

    fn check(&self, vertices: usize) -> Result<()> {
        match self.largest {
            Some((vertex, row)) if vertex as usize >= vertices => {
                bail!("tristrips {row}: unknown vertex {vertex}: there are {vertices}, from 0")
            }
            _ => Ok(()),
        }
    }

    fn append_to(&mut self, faces: &mut Lists) {
        let triangles = std::mem::take(&mut self.faces);
        match faces.is_empty() {
            true => *faces = triangles,
            false => triangles.iter().for_each(|triangle| faces.push(triangle)),
        }
    }
}
const EDGE_ENDS: [&str; 2] = ["vertex1", "vertex2"];

struct Elements<'a, R> {
    words: Words<'a, R>,
    encoding: Encoding,
    /// First text element that does not end with its line: usually, numbers are missing or surplus.
    first_line_mismatch: Option<String>,
}

impl<'a, R: BufRead> Elements<'a, R> {
    fn new(reader: &'a mut R, encoding: Encoding) -> Self {
        Self {
            words: Words {
                reader,
                word: Vec::new(),
                has_broken: false,
            },
            encoding,
            first_line_mismatch: None,
        }
    }

    fn each<E: PropertyAccess>(
        &mut self,
        element: &ElementDef,
        mut take: impl FnMut(u64, E) -> Result<()>,
    ) -> Result<()> {
        let parser = Parser::<E>::new();
        for row in 0..element.count as u64 {
            let reader = &mut *self.words.reader;
            let read = match self.encoding {
                Encoding::Ascii => self.read_words(element, row),
                Encoding::BinaryBigEndian => parser.read_big_endian_element(reader, element).map_err(one_line),
                Encoding::BinaryLittleEndian => parser.read_little_endian_element(reader, element).map_err(one_line),
            };
            read.and_then(|read| take(row, read))
                .with_context(|| format!("{} {row}", element.name))
                .map_err(|error| self.with_first_odd(error))?;
        }
        Ok(())
    }

    /// The PLY parser rejects `nan`, `inf`, `1.` and `.5`, and elements over several lines.
    fn read_words<E: PropertyAccess>(&mut self, element: &ElementDef, row: u64) -> Result<E> {
        let words = &mut self.words;
        words.skip_lines()?;
        let mut read = E::new();
        for (name, property) in &element.properties {
            let value = match &property.data_type {
                // Parsed as f32, so rounded only once, as in a binary file.
                PropertyType::Scalar(ScalarType::Float) => Property::Float(words.float()?),
                PropertyType::Scalar(_) => Property::Double(words.double()?),
                PropertyType::List(_, ScalarType::Float | ScalarType::Double) => {
                    Property::ListDouble(words.list(Words::double)?)
                }
                PropertyType::List(_, ScalarType::UInt) => Property::ListUInt(words.list(Words::integer)?),
                PropertyType::List(..) => Property::ListInt(words.list(Words::integer)?),
            };
            read.set_property(name, value);
        }
        let has_broken = words.has_broken;
        let is_odd = has_broken || !words.ends_line()?;
        if is_odd && self.first_line_mismatch.is_none() {
            let how = if has_broken { "fewer" } else { "more" };
            self.first_line_mismatch = Some(format!(
                "{} {row}: {how} numbers than properties in its line",
                element.name
            ));
        }
        Ok(read)
    }

    fn with_first_odd(&self, error: anyhow::Error) -> anyhow::Error {
        match &self.first_line_mismatch {
            Some(odd) => error.context(odd.clone()),
            None => error,
        }
    }

    /// Fails if numbers remain and some element did not end with its line.
    fn finish(&mut self) -> Result<()> {
        if self.first_line_mismatch.is_some() && self.words.next().is_ok() {
            let rest = anyhow!("unexpected numbers after the last element");
            return Err(self.with_first_odd(rest));
        }
        Ok(())
    }
}

struct Words<'a, R> {
    reader: &'a mut R,
    word: Vec<u8>,
    /// True if a line ended since [`skip_lines`](Self::skip_lines).
    has_broken: bool,
}

impl<R: BufRead> Words<'_, R> {
    /// Returns true if a line ended among the skipped bytes.
    fn skip(&mut self, is_passed: fn(u8) -> bool) -> Result<bool> {
        let mut has_broken = false;
        loop {
            let bytes = self.reader.fill_buf()?;
            let end = bytes.iter().position(|&byte| !is_passed(byte));
            let passed = end.unwrap_or(bytes.len());
            has_broken |= bytes[..passed].iter().any(|byte| matches!(byte, b'\n' | b'\r'));
            let is_over = end.is_some() || bytes.is_empty();
            self.reader.consume(passed);
            if is_over {
                return Ok(has_broken);
            }
        }
    }

    fn skip_lines(&mut self) -> Result<()> {
        self.skip(|byte| byte.is_ascii_whitespace())?;
        self.has_broken = false;
        Ok(())
    }

    fn ends_line(&mut self) -> Result<bool> {
        self.skip(|byte| matches!(byte, b' ' | b'\t'))?;
        Ok(self.reader.fill_buf()?.first().is_none_or(u8::is_ascii_whitespace))
    }

    fn next(&mut self) -> Result<&str> {
        self.has_broken |= self.skip(|byte| byte.is_ascii_whitespace())?;
        self.word.clear();
        loop {
            let bytes = self.reader.fill_buf()?;
            let end = bytes.iter().position(u8::is_ascii_whitespace);
            let taken = end.unwrap_or(bytes.len());
            self.word.extend_from_slice(&bytes[..taken]);
            let is_over = end.is_some() || bytes.is_empty();
            self.reader.consume(taken);
            if is_over {
                break;
            }
        }
        if self.word.is_empty() {
            bail!("truncated");
        }
        str::from_utf8(&self.word).map_err(|_| not_a_number(&String::from_utf8_lossy(&self.word)))
    }

    fn integer<T: FromStr>(&mut self) -> Result<T> {
        let word = self.next()?;
        word.parse().map_err(|_| not_a_number(word))
    }

    fn float(&mut self) -> Result<f32> {
        let word = self.next()?;
        let value = word.parse().ok().or_else(|| real(word).map(|value| value as f32));
        value.ok_or_else(|| not_a_number(word))
    }

    fn double(&mut self) -> Result<f64> {
        let word = self.next()?;
        real(word).ok_or_else(|| not_a_number(word))
    }

    fn list<T>(&mut self, one: fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let count: u64 = self.integer()?;
        (0..count).map(|_| one(self)).collect()
    }
}

fn not_a_number(word: &str) -> anyhow::Error {
    anyhow!("{:?} is not a number of the property's type", shortened(word))
}

fn smallest_element(element: &ElementDef, encoding: Encoding) -> u64 {
    let sizes = element
        .properties
        .values()
        .map(|property| match (encoding, &property.data_type) {
            // Digit and separator of the shortest number.
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

/// Shortens the error, which may echo long input.
pub fn one_line(error: ParseError) -> anyhow::Error {
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

/// Vertices of an edge. An `f64` holds every integer type of PLY, and text is read as `f64` anyway.
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

/// Vertices of a face. Most files have 32-bit integers, which need no conversion.
enum Face {
    Int(Vec<i32>),
    Other(Property),
}

/// -1, also as an unsigned integer, ends a strip.
const RESTART: u32 = u32::MAX;

impl Face {
    fn list(self) -> Property {
        match self {
            Self::Int(list) => Property::ListInt(list),
            Self::Other(property) => property,
        }
    }

    fn vertices(self) -> Result<Vec<u32>> {
        self.list().to_u32_list().context(NO_VERTEX)
    }

    fn strip(self) -> Result<Vec<u32>> {
        let member = |index: i32| match index {
            -1 => Some(RESTART),
            _ => u32::try_from(index).ok(),
        };
        let members = match self.list() {
            Property::ListChar(list) => list.into_iter().map(|index| member(index.into())).collect(),
            Property::ListShort(list) => list.into_iter().map(|index| member(index.into())).collect(),
            Property::ListInt(list) => list.into_iter().map(member).collect(),
            list => list.to_u32_list(),
        };
        members.context(NO_STRIP_VERTEX)
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

struct Skipped;

impl PropertyAccess for Skipped {
    fn new() -> Self {
        Self
    }

    fn set_property(&mut self, _: &str, _: Property) -> PropertyAccessResult {
        PropertyAccessResult::Ignored
    }
}
