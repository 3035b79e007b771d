//! Meshes of glTF scenes, as JSON or GLB, without materials, skins or morph targets.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{most_unpacked, open_file, shortened};
use crate::mesh;
use crate::report::counted;

pub const GLB_MAGIC: &[u8] = b"glTF";

/// Extensions, or prefixes of their names, that pack, move or repeat vertices, or redefine indices.
const UNSUPPORTED_EXTENSIONS: [&str; 14] = [
    "AGI_articulations",
    "CESIUM_RTC",
    "EXT_implicit_",
    "EXT_mesh_gpu_instancing",
    "EXT_mesh_primitive_restart",
    "EXT_meshopt_compression",
    "EXT_primitive_voxels",
    "KHR_draco_mesh_compression",
    "KHR_gaussian_splatting_compression",
    "KHR_mesh_primitive_restart",
    "KHR_meshopt_compression",
    "KHR_techniques_webgl",
    "MPEG_",
    "WEB3D_quantized_attributes",
];

/// Words in names of extensions that keep positions. Integer positions of `KHR_mesh_quantization` are supported.
const HARMLESS: [&str; 16] = [
    "animation",
    "audio",
    "feature",
    "image",
    "interactivity",
    "light",
    "lod",
    "material",
    "metadata",
    "mesh_quantization",
    "outline",
    "packing",
    "physics",
    "texture",
    "visibility",
    "xmp",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    asset: Asset,
    scene: Option<u32>,
    #[serde(default)]
    scenes: Vec<Scene>,
    #[serde(default)]
    nodes: Vec<Node>,
    #[serde(default)]
    meshes: Vec<Mesh>,
    #[serde(default)]
    accessors: Vec<Accessor>,
    #[serde(default)]
    buffer_views: Vec<View>,
    #[serde(default)]
    buffers: Vec<Buffer>,
    #[serde(default)]
    extensions_required: Vec<String>,
}

#[derive(Deserialize)]
struct Asset {
    version: String,
}

#[derive(Deserialize)]
struct Scene {
    #[serde(default)]
    nodes: Vec<u32>,
}

// Boxed fields keep a node small: a hostile file may have millions of nodes `{}`.
#[derive(Deserialize)]
struct Node {
    #[serde(default)]
    children: Vec<u32>,
    mesh: Option<u32>,
    matrix: Option<Box<[f64; 16]>>,
    translation: Option<Box<[f64; 3]>>,
    rotation: Option<Box<[f64; 4]>>,
    scale: Option<Box<[f64; 3]>>,
    extensions: Option<NodeExtensions>,
}

#[derive(Deserialize)]
struct NodeExtensions {
    #[serde(rename = "EXT_mesh_gpu_instancing")]
    instancing: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Mesh {
    primitives: Vec<Primitive>,
}

#[derive(Clone, Copy, Deserialize)]
struct Primitive {
    attributes: Attributes,
    indices: Option<u32>,
    #[serde(default = "triangles")]
    mode: u32,
}

#[derive(Clone, Copy, Deserialize)]
struct Attributes {
    #[serde(rename = "POSITION")]
    position: Option<u32>,
}

fn triangles() -> u32 {
    TRIANGLES
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Accessor {
    buffer_view: Option<u32>,
    #[serde(default)]
    byte_offset: u64,
    component_type: u32,
    #[serde(default)]
    normalized: bool,
    count: u64,
    #[serde(rename = "type")]
    kind: String,
    sparse: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct View {
    buffer: u32,
    #[serde(default)]
    byte_offset: u64,
    byte_length: u64,
    byte_stride: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Buffer {
    byte_length: u64,
    uri: Option<String>,
}

pub fn read(file: &[u8], folder: Option<&Path>, notes: &mut Vec<String>) -> Result<mesh::Mesh> {
    let (json, binary) = match file.starts_with(GLB_MAGIC) {
        true => chunks(file, notes)?,
        false => (file, None),
    };
    let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json);
    let document: Document = serde_json::from_slice(json)
        .map_err(|error| anyhow::anyhow!("invalid JSON: {}", shortened(&error.to_string())))?;
    let version = &document.asset.version;
    if !version.starts_with("2.") {
        bail!("unsupported glTF version {:?}; use 2.0", shortened(version));
    }
    check_extensions(&document.extensions_required, notes)?;
    let inlined = (0..).zip(&document.buffers);
    let inlined: Vec<_> = inlined
        .map(|(index, buffer)| decoded(buffer).with_context(|| format!("buffer {index}")))
        .collect::<Result<_>>()?;
    let mut reader = Reader {
        document: &document,
        inlined: &inlined,
        folder,
        binary,
        length: file.len() as u64,
        largest_file: 0,
        placed: 0,
        left_out: 0,
        mesh: mesh::Mesh::default(),
    };
    reader.scene()?;
    if reader.left_out > 0 {
        let primitives = counted(reader.left_out, "primitive");
        notes.push(format!("skipped {primitives} without positions or corners"));
    }
    Ok(reader.mesh)
}

/// Fails if a required extension packs or moves vertices. Unknown ones only cause a warning, since others may not
/// redefine the format.
fn check_extensions(required: &[String], notes: &mut Vec<String>) -> Result<()> {
    if let Some(name) = required
        .iter()
        .find(|name| UNSUPPORTED_EXTENSIONS.iter().any(|start| name.starts_with(start)))
    {
        bail!(
            "unsupported extension {:?}: it packs or moves vertices; export without it",
            shortened(name)
        );
    }
    let is_harmless = |name: &str| HARMLESS.iter().any(|word| name.to_ascii_lowercase().contains(word));
    let mut unknown = required.iter().filter(|name| !is_harmless(name));
    if let Some(name) = unknown.next() {
        let others = match unknown.count() {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        notes.push(format!(
            "unknown required extension {:?}{others}: ignored; check the vertices",
            shortened(name)
        ));
    }
    Ok(())
}

fn word(file: &[u8], at: usize) -> Option<u32> {
    let bytes = file.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

fn chunks<'a>(file: &'a [u8], notes: &mut Vec<String>) -> Result<(&'a [u8], Option<&'a [u8]>)> {
    let (Some(version), Some(length)) = (word(file, 4), word(file, 8)) else {
        bail!("truncated: no header");
    };
    if version != 2 {
        bail!("unsupported GLB version {version}; use 2");
    }
    let Some(whole) = file.get(..length as usize) else {
        bail!(
            "truncated: the header states {length} bytes, the file has {}",
            file.len()
        );
    };
    let behind = file.len() - whole.len();
    if behind > 0 {
        let behind = counted(behind as u64, "byte");
        notes.push(format!("ignored {behind} after the GLB's {length}"));
    }
    let file = whole;
    let chunk = |at: usize| {
        let (Some(length), Some(kind)) = (word(file, at), word(file, at + 4)) else {
            return Ok(None);
        };
        let rest = &file[at + 8..];
        match rest.get(..length as usize) {
            Some(bytes) => Ok(Some((bytes, kind.to_le_bytes()))),
            None => bail!("truncated: a chunk of {length} bytes, {} left", rest.len()),
        }
    };
    let Some((json, kind)) = chunk(12)? else {
        bail!("truncated: no chunk");
    };
    if &kind != b"JSON" {
        bail!("the first chunk is not JSON");
    }
    let binary = chunk(20 + json.len())?.filter(|(_, kind)| kind == b"BIN\0");
    // Early writers padded the JSON with zeros instead of blanks.
    let end = json.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let json = &json[..end];
    Ok((json, binary.map(|(bytes, _)| bytes)))
}

type Transform = [[f64; 3]; 4];

struct Reader<'a> {
    document: &'a Document,
    folder: Option<&'a Path>,
    binary: Option<&'a [u8]>,
    inlined: &'a [Option<Vec<u8>>],
    length: u64,
    /// Bytes of the largest buffer file.
    largest_file: u64,
    /// Bytes of positions and indices so far, counted once per mesh instance.
    placed: u64,
    /// Primitives without positions or vertex indices, counted once per mesh instance.
    left_out: u64,
    mesh: mesh::Mesh,
}

impl<'a> Reader<'a> {
    fn scene(&mut self) -> Result<()> {
        let nodes = &self.document.nodes;
        let mut is_met = vec![false; nodes.len()];
        let roots = self.roots()?;
        let mut stack: Vec<(u32, Option<u32>)> = Vec::new();
        let mut transforms: Vec<Transform> = Vec::new();
        let mut push = |stack: &mut Vec<_>, children: &[u32], parent: Option<u32>| -> Result<()> {
            for &child in children.iter().rev() {
                let Some(is_met) = is_met.get_mut(child as usize) else {
                    bail!("unknown node {child}: there are {}, from 0", nodes.len());
                };
                if std::mem::replace(is_met, true) {
                    bail!("node {child} has two parents, or is its own descendant");
                }
                stack.push((child, parent));
            }
            Ok(())
        };
        push(&mut stack, &roots, None)?;
        while let Some((index, parent)) = stack.pop() {
            let node = &nodes[index as usize];
            let own = transform(node).with_context(|| format!("node {index}"))?;
            let outer = parent.map(|parent| transforms[parent as usize]);
            let world = match (outer, own) {
                (Some(outer), Some(own)) => Some(compose(outer, own)),
                (outer, own) => outer.or(own),
            };
            let place = if own.is_some() {
                transforms.extend(world);
                Some(transforms.len() as u32 - 1)
            } else {
                parent
            };
            if let Some(mesh) = node.mesh {
                if node
                    .extensions
                    .as_ref()
                    .is_some_and(|extensions| extensions.instancing.is_some())
                {
                    bail!("node {index}: unsupported extension \"EXT_mesh_gpu_instancing\"; export without it");
                }
                self.place(mesh, world).with_context(|| format!("node {index}"))?;
            }
            push(&mut stack, &node.children, place)?;
        }
        Ok(())
    }

    /// Root nodes of the default scene, else of the first. Without scenes: all nodes without a parent.
    fn roots(&self) -> Result<Cow<'a, [u32]>> {
        let document = self.document;
        if document.scene.is_some() || !document.scenes.is_empty() {
            let scene = entry(&document.scenes, document.scene.unwrap_or(0), "scene")?;
            return Ok(Cow::Borrowed(&scene.nodes));
        }
        let mut is_child = vec![false; document.nodes.len()];
        for &child in document.nodes.iter().flat_map(|node| &node.children) {
            if let Some(is_child) = is_child.get_mut(child as usize) {
                *is_child = true;
            }
        }
        Ok((0..)
            .zip(&is_child)
            .filter(|(_, is_child)| !**is_child)
            .map(|(node, _)| node)
            .collect())
    }

    fn place(&mut self, index: u32, world: Option<Transform>) -> Result<()> {
        let mesh = entry(&self.document.meshes, index, "mesh")?;
        // Primitives with the same position accessor share vertices.
        let mut known = HashMap::new();
        for (number, &primitive) in mesh.primitives.iter().enumerate() {
            self.primitive(primitive, world, &mut known)
                .with_context(|| format!("mesh {index}: primitive {number}"))?;
        }
        Ok(())
    }

    fn primitive(
        &mut self,
        primitive: Primitive,
        world: Option<Transform>,
        known: &mut HashMap<u32, (u32, u32)>,
    ) -> Result<()> {
        let Some(accessor) = primitive.attributes.position else {
            self.left_out += 1;
            return Ok(());
        };
        for accessor in [Some(accessor), primitive.indices].into_iter().flatten() {
            if entry(&self.document.accessors, accessor, "accessor")?.count == 0 {
                self.left_out += 1;
                return Ok(());
            }
        }
        let (first, count) = match known.get(&accessor) {
            Some(&vertices) => vertices,
            None => {
                let vertices = self.positions(accessor, world)?;
                known.insert(accessor, vertices);
                vertices
            }
        };
        let Some(accessor) = primitive.indices else {
            self.room(4, count.into())?;
            return self.add(primitive.mode, count as usize, |place| Ok(first + place as u32));
        };
        let found = self.bytes(accessor, "SCALAR", |kind| match kind {
            UNSIGNED_BYTE => Some(1),
            UNSIGNED_SHORT => Some(2),
            UNSIGNED_INT => Some(4),
            _ => None,
        })?;
        self.room(4, found.count)?;
        self.add(primitive.mode, found.count as usize, |place| {
            let mut word = [0; 4];
            let bytes = found.element(place);
            word[..bytes.len()].copy_from_slice(bytes);
            let vertex = u32::from_le_bytes(word);
            if vertex >= count {
                bail!("index {place}: unknown vertex {vertex}: there are {count}, from 0");
            }
            Ok(first + vertex)
        })
    }

    /// Index of the first new vertex, and number of new vertices.
    fn positions(&mut self, accessor: u32, world: Option<Transform>) -> Result<(u32, u32)> {
        let found = self.bytes(accessor, "VEC3", |kind| match kind {
            BYTE | UNSIGNED_BYTE => Some(3),
            SHORT | UNSIGNED_SHORT => Some(6),
            FLOAT => Some(12),
            _ => None,
        })?;
        self.room(12, found.count)?;
        let positions = &mut self.mesh.positions;
        let first = positions.len();
        // The library reserves the largest id for "none".
        if first as u64 + found.count >= u32::MAX.into() {
            bail!("too many vertices: ids have 32 bits");
        }
        let of_integer = |value: f64, largest: f64| match found.is_normalized {
            true => (value / largest).max(-1.0),
            false => value,
        };
        let number = |bytes: &[u8]| match found.kind {
            BYTE => of_integer((bytes[0] as i8).into(), 127.0),
            UNSIGNED_BYTE => of_integer(bytes[0].into(), 255.0),
            SHORT => of_integer(i16::from_le_bytes([bytes[0], bytes[1]]).into(), 32767.0),
            UNSIGNED_SHORT => of_integer(u16::from_le_bytes([bytes[0], bytes[1]]).into(), 65535.0),
            _ => f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]).into(),
        };
        positions.extend((0..found.count as usize).map(|place| {
            let bytes = found.element(place);
            let size = bytes.len() / 3;
            let position = std::array::from_fn(|axis| number(&bytes[axis * size..][..size]));
            world.map_or(position, |world| apply(&world, position))
        }));
        Ok((first as u32, found.count as u32))
    }

    fn add(&mut self, mode: u32, count: usize, vertex: impl Fn(usize) -> Result<u32>) -> Result<()> {
        let triangle = |corners: [usize; 3]| -> Result<[u32; 3]> {
            Ok([vertex(corners[0])?, vertex(corners[1])?, vertex(corners[2])?])
        };
        let line = |ends: [usize; 2]| -> Result<[u32; 2]> { Ok([vertex(ends[0])?, vertex(ends[1])?]) };
        let (least, multiple) = match mode {
            POINTS => (1, 1),
            LINES => (2, 2),
            LINE_LOOP | LINE_STRIP => (2, 1),
            TRIANGLES => (3, 3),
            TRIANGLE_STRIP | TRIANGLE_FAN => (3, 1),
            _ => bail!("unknown mode {mode}"),
        };
        if count < least || !count.is_multiple_of(multiple) {
            bail!("wrong number of corners: {count} for mode {mode}");
        }
        let (faces, edges) = (&mut self.mesh.faces, &mut self.mesh.edges);
        match mode {
            LINES => {
                for at in (0..count).step_by(2) {
                    edges.push(line([at, at + 1])?);
                }
            }
            LINE_STRIP | LINE_LOOP => {
                for at in 1..count {
                    edges.push(line([at - 1, at])?);
                }
                if mode == LINE_LOOP {
                    edges.push(line([count - 1, 0])?);
                }
            }
            TRIANGLES => {
                for at in (0..count).step_by(3) {
                    faces.push(&triangle([at, at + 1, at + 2])?);
                }
            }
            TRIANGLE_STRIP => {
                // Every other triangle is reversed to keep its orientation.
                for at in 0..count - 2 {
                    faces.push(&triangle([at, at + 1 + at % 2, at + 2 - at % 2])?);
                }
            }
            TRIANGLE_FAN => {
                for at in 1..count - 1 {
                    faces.push(&triangle([at, at + 1, 0])?);
                }
            }
            // Points add no faces or edges; their indices are only checked.
            _ => {
                for at in 0..count {
                    vertex(at)?;
                }
            }
        }
        Ok(())
    }

    /// Fails above the limit of bytes, since a small file may instance a mesh any number of times.
    fn room(&mut self, size: u64, count: u64) -> Result<()> {
        let most = most_unpacked(self.length.saturating_add(self.largest_file));
        self.placed = self.placed.saturating_add(size.saturating_mul(count));
        if self.placed > most {
            bail!(
                "too large: repeated meshes take {} bytes, the limit is {most}",
                self.placed
            );
        }
        Ok(())
    }

    fn bytes(&mut self, index: u32, kind: &str, size: impl Fn(u32) -> Option<u64>) -> Result<Elements<'a>> {
        let accessor = entry(&self.document.accessors, index, "accessor")?;
        let mut read = || {
            if accessor.sparse.is_some() {
                bail!("sparse accessors are not supported");
            }
            let view = accessor.buffer_view.context("no buffer view")?;
            let view = entry(&self.document.buffer_views, view, "buffer view")?;
            if accessor.kind != kind {
                bail!("type {:?}, needs {kind}", shortened(&accessor.kind));
            }
            let component = accessor.component_type;
            let size = size(component).with_context(|| format!("unsupported component type {component}"))?;
            let stride = view.byte_stride.unwrap_or(size);
            if stride < size || stride > LARGEST_STRIDE {
                bail!("invalid stride: {size}-byte elements every {stride} bytes");
            }
            let (count, start) = (accessor.count, accessor.byte_offset);
            let end = count
                .checked_sub(1)
                .context("no elements")?
                .checked_mul(stride)
                .and_then(|bytes| bytes.checked_add(size)?.checked_add(start));
            let Some(end) = end.filter(|&end| end <= view.byte_length) else {
                bail!(
                    "out of range: {count} elements from byte {start}, the buffer view has {} bytes",
                    view.byte_length
                );
            };
            let bytes = self.slice(view, start, end)?;
            Ok(Elements {
                bytes,
                stride: stride as usize,
                size: size as usize,
                count,
                kind: component,
                is_normalized: accessor.normalized,
            })
        };
        read().with_context(|| format!("accessor {index}"))
    }

    fn slice(&mut self, view: &View, start: u64, end: u64) -> Result<Cow<'a, [u8]>> {
        let buffer = entry(&self.document.buffers, view.buffer, "buffer")?;
        let length = buffer.byte_length;
        let last = view.byte_offset.checked_add(view.byte_length);
        if last.is_none_or(|last| last > length) {
            bail!(
                "out of range: a buffer view of {} bytes from byte {}, buffer {} has {length}",
                view.byte_length,
                view.byte_offset,
                view.buffer
            );
        }
        let (start, end) = (view.byte_offset + start, view.byte_offset + end);
        let mut read = || {
            let bytes = match (&self.inlined[view.buffer as usize], &buffer.uri) {
                (Some(bytes), _) => bytes,
                (None, Some(uri)) => return self.slice_of_file(uri, length, start, end).map(Cow::Owned),
                (None, None) if view.buffer == 0 => self.binary.context("no buffer data in the file")?,
                (None, None) => bail!("no URI"),
            };
            if (bytes.len() as u64) < length {
                bail!("truncated: {length} bytes stated, {} found", bytes.len());
            }
            Ok(Cow::Borrowed(&bytes[start as usize..end as usize]))
        };
        read().with_context(|| format!("buffer {}", view.buffer))
    }

    fn slice_of_file(&mut self, uri: &str, length: u64, start: u64, end: u64) -> Result<Vec<u8>> {
        let path = self.beside(uri)?;
        let mut read = || {
            let (mut file, there) = open_file(&path)?;
            if there < length {
                bail!("truncated: {length} bytes stated, {there} found");
            }
            self.largest_file = self.largest_file.max(there);
            file.seek(SeekFrom::Start(start))?;
            let mut bytes = vec![0; (end - start) as usize];
            file.read_exact(&mut bytes)?;
            Ok(bytes)
        };
        read().with_context(|| path.display().to_string())
    }

    fn beside(&self, uri: &str) -> Result<PathBuf> {
        let decoded = percent_decode_str(uri).decode_utf8_lossy();
        let path = Path::new(&*decoded);
        let is_inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if uri.contains("://") || !path.components().all(is_inside) {
            bail!("{:?}: must be in the file's folder", shortened(uri));
        }
        let folder = self.folder.with_context(|| {
            format!(
                "{:?}: buffer files need a scene file, not standard input",
                shortened(uri)
            )
        })?;
        Ok(folder.join(path))
    }
}

const POINTS: u32 = 0;
const LINES: u32 = 1;
const LINE_LOOP: u32 = 2;
const LINE_STRIP: u32 = 3;
const TRIANGLES: u32 = 4;
const TRIANGLE_STRIP: u32 = 5;
const TRIANGLE_FAN: u32 = 6;

const BYTE: u32 = 5120;
const UNSIGNED_BYTE: u32 = 5121;
const SHORT: u32 = 5122;
const UNSIGNED_SHORT: u32 = 5123;
const UNSIGNED_INT: u32 = 5125;
const FLOAT: u32 = 5126;

const LARGEST_STRIDE: u64 = 252;

struct Elements<'a> {
    bytes: Cow<'a, [u8]>,
    stride: usize,
    size: usize,
    count: u64,
    kind: u32,
    is_normalized: bool,
}

impl Elements<'_> {
    fn element(&self, place: usize) -> &[u8] {
        &self.bytes[place * self.stride..][..self.size]
    }
}

fn entry<'a, T>(list: &'a [T], index: u32, what: &str) -> Result<&'a T> {
    list.get(index as usize)
        .with_context(|| format!("unknown {what} {index}: there are {}, from 0", list.len()))
}

/// `None` unless the buffer is a data URI.
fn decoded(buffer: &Buffer) -> Result<Option<Vec<u8>>> {
    let Some(data) = buffer.uri.as_ref().and_then(|uri| uri.strip_prefix("data:")) else {
        return Ok(None);
    };
    let text = data
        .split_once(',')
        .and_then(|(kind, text)| kind.ends_with(";base64").then_some(text));
    let text = text.context("data URI is not base64")?;
    // Some writers omit the Base64 padding.
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let bytes = GeneralPurpose::new(&STANDARD, config).decode(text);
    Ok(Some(bytes.context("invalid base64")?))
}

fn transform(node: &Node) -> Result<Option<Transform>> {
    if let Some(matrix) = &node.matrix {
        if [matrix[3], matrix[7], matrix[11], matrix[15]] != [0.0, 0.0, 0.0, 1.0] {
            bail!("unsupported matrix: not affine");
        }
        return Ok(Some(std::array::from_fn(|column| {
            std::array::from_fn(|axis| matrix[4 * column + axis])
        })));
    }
    if node.translation.is_none() && node.rotation.is_none() && node.scale.is_none() {
        return Ok(None);
    }
    let origin = node.translation.as_deref().copied().unwrap_or([0.0; 3]);
    let [x, y, z, w] = node.rotation.as_deref().copied().unwrap_or([0.0, 0.0, 0.0, 1.0]);
    let scale = node.scale.as_deref().copied().unwrap_or([1.0; 3]);
    let axes = [
        [
            1.0 - 2.0 * (y * y + z * z),
            2.0 * (x * y + z * w),
            2.0 * (x * z - y * w),
        ],
        [
            2.0 * (x * y - z * w),
            1.0 - 2.0 * (x * x + z * z),
            2.0 * (y * z + x * w),
        ],
        [
            2.0 * (x * z + y * w),
            2.0 * (y * z - x * w),
            1.0 - 2.0 * (x * x + y * y),
        ],
    ];
    let [a, b, c]: [[f64; 3]; 3] = std::array::from_fn(|column| axes[column].map(|value| value * scale[column]));
    Ok(Some([a, b, c, origin]))
}

fn apply(transform: &Transform, [x, y, z]: [f64; 3]) -> [f64; 3] {
    let [a, b, c, origin] = transform;
    std::array::from_fn(|axis| a[axis] * x + b[axis] * y + c[axis] * z + origin[axis])
}

fn compose(outer: Transform, inner: Transform) -> Transform {
    let turned = [outer[0], outer[1], outer[2], [0.0; 3]];
    let [a, b, c, origin] = inner;
    [
        apply(&turned, a),
        apply(&turned, b),
        apply(&turned, c),
        apply(&outer, origin),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_scale_then_turn_then_move() {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let json =
            format!(r#"{{"translation":[10,0,0],"rotation":[0,0,{half},{half}],"scale":[2,3,1],"children":[]}}"#);
        let node: Node = serde_json::from_str(&json).unwrap();
        let outer = transform(&node).unwrap().unwrap();
        let near = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(apply(&outer, [1.0, 1.0, 1.0]), [7.0, 2.0, 1.0]));
        let moved = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]];
        assert!(near(apply(&compose(outer, moved), [0.0, 1.0, 1.0]), [7.0, 2.0, 1.0]));
    }
}
