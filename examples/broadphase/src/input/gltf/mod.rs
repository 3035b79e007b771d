//! Meshes of glTF scenes, as JSON or GLB, placed by nodes, skins and morph targets. Materials are ignored.

mod accessors;
mod animation;
mod document;
mod nodes;
mod skin;
mod transform;

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::shortened;
use crate::mesh;
use crate::report::counted;
use accessors::{Accessors, BYTE, Elements, FLOAT, SCALAR, SHORT, UNSIGNED_BYTE, UNSIGNED_INT, UNSIGNED_SHORT, VEC3};
use document::{Document, Influences, Primitive, Target};
use nodes::Nodes;
use skin::{Joints, Skins, Weights};
use transform::{Transform, apply};

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
    let inlined = accessors::inlined(&document)?;
    let mut reader = Reader {
        document: &document,
        nodes: Nodes::of_scene(&document)?,
        accessors: Accessors::new(&document, &inlined, folder, binary, file.len() as u64),
        skins: Skins::default(),
        left_out: 0,
        unskinned: 0,
        weightless: 0,
        mesh: mesh::Mesh::default(),
    };
    if animation::moves_vertices(&document, &reader.nodes) {
        notes.push("ignored animations: vertices are in the rest pose".to_owned());
    }
    reader.scene()?;
    reader.warn(notes);
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

struct Reader<'a> {
    document: &'a Document,
    nodes: Nodes<'a>,
    accessors: Accessors<'a>,
    skins: Skins,
    /// Primitives without positions or vertex indices, counted once per mesh instance.
    left_out: u64,
    /// Primitives without joints in skinned meshes, counted once per mesh instance.
    unskinned: u64,
    /// Skinned vertices whose weights are all 0.
    weightless: u64,
    mesh: mesh::Mesh,
}

/// Bytes counted per primitive, morph target and set of joints of each mesh instance, since they take time even without
/// vertices. Real ones take more in JSON.
const PER_ENTRY: u64 = 12;

struct Instance<'a> {
    /// `None` for the identity.
    global: Option<Transform>,
    joints: Option<Joints>,
    /// Empty if all are 0.
    morph_weights: &'a [f64],
}

/// Sources of a primitive's vertices. Primitives of a mesh instance with equal sources share vertices.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Sources<'a> {
    position: u32,
    /// `None` without a skin.
    influences: Option<&'a Influences>,
    /// Empty if all morph weights are 0.
    targets: &'a [Target],
}

const POSITION_KINDS: [u32; 5] = [BYTE, UNSIGNED_BYTE, SHORT, UNSIGNED_SHORT, FLOAT];

impl<'a> Reader<'a> {
    fn scene(&mut self) -> Result<()> {
        for index in std::mem::take(&mut self.nodes.in_scene) {
            let node = self.nodes.node(index);
            if let Some(mesh) = node.mesh {
                self.place(index, mesh).with_context(|| format!("node {index}"))?;
            }
        }
        Ok(())
    }

    fn warn(&self, notes: &mut Vec<String>) {
        if self.left_out > 0 {
            let primitives = counted(self.left_out, "primitive");
            notes.push(format!("skipped {primitives} without positions or corners"));
        }
        if self.unskinned > 0 {
            let primitives = counted(self.unskinned, "primitive");
            notes.push(format!("ignored the skin of {primitives} without joints"));
        }
        match self.weightless {
            0 => {}
            1 => notes.push("no skin weights at 1 vertex: placed by its first joint".to_owned()),
            count => notes.push(format!(
                "no skin weights at {count} vertices: placed by their first joints"
            )),
        }
    }

    fn place(&mut self, index: u32, mesh_index: u32) -> Result<()> {
        let node = self.nodes.node(index);
        if node
            .extensions
            .as_ref()
            .is_some_and(|extensions| extensions.instancing.is_some())
        {
            bail!("unsupported extension \"EXT_mesh_gpu_instancing\"; export without it");
        }
        let mesh = entry(&self.document.meshes, mesh_index, "mesh")?;
        let weights = if node.weights.is_empty() {
            &mesh.weights
        } else {
            &node.weights
        };
        self.accessors.room(PER_ENTRY, mesh.primitives.len() as u64)?;
        self.accessors.room(1, weights.len() as u64)?;
        let instance = Instance {
            global: self.nodes.global(index)?,
            joints: match node.skin {
                Some(skin) => {
                    let (nodes, accessors) = (&mut self.nodes, &mut self.accessors);
                    Some(self.skins.joints(skin, self.document, nodes, accessors)?)
                }
                None => None,
            },
            morph_weights: match weights.iter().any(|&weight| weight != 0.0) {
                true => weights,
                false => &[],
            },
        };
        let mut known = HashMap::new();
        for (number, primitive) in mesh.primitives.iter().enumerate() {
            self.primitive(primitive, &instance, &mut known)
                .with_context(|| format!("mesh {mesh_index}: primitive {number}"))?;
        }
        Ok(())
    }

    fn primitive(
        &mut self,
        primitive: &'a Primitive,
        instance: &Instance<'a>,
        known: &mut HashMap<Sources<'a>, (u32, u32)>,
    ) -> Result<()> {
        let attributes = &primitive.attributes;
        let Some(position) = attributes.position else {
            self.left_out += 1;
            return Ok(());
        };
        for accessor in [Some(position), primitive.indices].into_iter().flatten() {
            if entry(&self.document.accessors, accessor, "accessor")?.count == 0 {
                self.left_out += 1;
                return Ok(());
            }
        }
        let is_skinned = instance.joints.is_some() && !attributes.influences.is_empty();
        self.unskinned += u64::from(instance.joints.is_some() && !is_skinned);
        let sources = Sources {
            position,
            influences: is_skinned.then_some(&attributes.influences),
            targets: match instance.morph_weights.is_empty() {
                true => &[],
                false => &primitive.targets,
            },
        };
        let sets = sources.influences.map_or(0, |influences| influences.len());
        self.accessors.room(PER_ENTRY, (sources.targets.len() + sets) as u64)?;
        let (first, count) = match known.get(&sources) {
            Some(&vertices) => vertices,
            None => {
                let vertices = self.vertices(sources, instance)?;
                known.insert(sources, vertices);
                vertices
            }
        };
        let Some(accessor) = primitive.indices else {
            self.accessors.room(4, count.into())?;
            return self.add(primitive.mode, count as usize, |place| Ok(first + place as u32));
        };
        let found = self
            .accessors
            .read(accessor, SCALAR, &[UNSIGNED_BYTE, UNSIGNED_SHORT, UNSIGNED_INT])?;
        self.accessors.room(4, found.count)?;
        self.add(primitive.mode, found.count as usize, |place| {
            let vertex = found.integer(place, 0);
            if vertex >= count {
                bail!("index {place}: unknown vertex {vertex}: there are {count}, from 0");
            }
            Ok(first + vertex)
        })
    }

    /// Returns the index of the first vertex, and their number.
    fn vertices(&mut self, sources: Sources<'a>, instance: &Instance<'a>) -> Result<(u32, u32)> {
        let found = self.accessors.read(sources.position, VEC3, &POSITION_KINDS)?;
        self.accessors.room(12, found.count)?;
        let first = self.mesh.positions.len();
        // The library reserves the largest id for "none".
        if first as u64 + found.count >= u32::MAX.into() {
            bail!("too many vertices: ids have 32 bits");
        }
        let count = found.count as usize;
        self.mesh
            .positions
            .extend((0..count).map(|vertex| found.vector(vertex)));
        self.morph(first, sources.targets, instance.morph_weights)?;
        let weights = match sources.influences {
            Some(influences) => Some(Weights::read(influences, found.count, &mut self.accessors)?),
            None => None,
        };
        let positions = &mut self.mesh.positions[first..];
        match (&weights, &instance.joints, &instance.global) {
            (Some(weights), Some(joints), _) => self.weightless += weights.apply(joints, positions)?,
            (_, _, Some(global)) => positions
                .iter_mut()
                .for_each(|position| *position = apply(global, *position)),
            _ => {}
        }
        if weights.is_some() || !sources.targets.is_empty() {
            let is_finite = |position: [f64; 3]| position.iter().all(|value| value.is_finite());
            let became_infinite = |&vertex: &usize| !is_finite(positions[vertex]) && is_finite(found.vector(vertex));
            if let Some(vertex) = (0..count).find(became_infinite) {
                bail!("vertex {vertex}: not finite after skin and morph targets");
            }
        }
        Ok((first as u32, found.count as u32))
    }

    fn morph(&mut self, first: usize, targets: &[Target], weights: &[f64]) -> Result<()> {
        if targets.is_empty() {
            return Ok(());
        }
        if targets.len() != weights.len() {
            let targets = counted(targets.len() as u64, "morph target");
            bail!("{} for {targets}", counted(weights.len() as u64, "weight"));
        }
        for (number, (target, &weight)) in targets.iter().zip(weights).enumerate() {
            let Some(accessor) = target.position.filter(|_| weight != 0.0) else {
                continue;
            };
            let mut add = || -> Result<()> {
                let positions = &mut self.mesh.positions[first..];
                let deltas = self.accessors.read_or_zeros(accessor, VEC3, &POSITION_KINDS)?;
                check_count(accessor, &deltas, positions.len() as u64)?;
                self.accessors.room(12, deltas.count)?;
                for (vertex, position) in positions.iter_mut().enumerate() {
                    let delta = deltas.vector(vertex);
                    *position = std::array::from_fn(|axis| position[axis] + weight * delta[axis]);
                }
                Ok(())
            };
            add().with_context(|| format!("morph target {number}"))?;
        }
        Ok(())
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
}

const POINTS: u32 = 0;
const LINES: u32 = 1;
const LINE_LOOP: u32 = 2;
const LINE_STRIP: u32 = 3;
const TRIANGLES: u32 = 4;
const TRIANGLE_STRIP: u32 = 5;
const TRIANGLE_FAN: u32 = 6;

fn entry<'a, T>(list: &'a [T], index: u32, what: &str) -> Result<&'a T> {
    list.get(index as usize)
        .with_context(|| format!("unknown {what} {index}: there are {}, from 0", list.len()))
}

fn check_count(accessor: u32, elements: &Elements<'_>, vertices: u64) -> Result<()> {
    if elements.count != vertices {
        bail!(
            "accessor {accessor}: {} elements for {vertices} positions",
            elements.count
        );
    }
    Ok(())
}
