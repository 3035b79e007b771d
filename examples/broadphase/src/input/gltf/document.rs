//! The JSON of a glTF file, as far as it places vertices.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    pub asset: Asset,
    pub scene: Option<u32>,
    #[serde(default)]
    pub scenes: Vec<Scene>,
    #[serde(default)]
    pub nodes: Vec<Node>,
    #[serde(default)]
    pub meshes: Vec<Mesh>,
    #[serde(default)]
    pub skins: Vec<Skin>,
    #[serde(default)]
    pub animations: Vec<Animation>,
    #[serde(default)]
    pub accessors: Vec<Accessor>,
    #[serde(default)]
    pub buffer_views: Vec<View>,
    #[serde(default)]
    pub buffers: Vec<Buffer>,
    #[serde(default)]
    pub extensions_required: Vec<String>,
}

#[derive(Deserialize)]
pub struct Asset {
    pub version: String,
}

#[derive(Deserialize)]
pub struct Scene {
    #[serde(default)]
    pub nodes: Vec<u32>,
}

// Boxed fields keep a node small: a hostile file may have millions of nodes `{}`.
#[derive(Deserialize)]
pub struct Node {
    #[serde(default)]
    pub children: Vec<u32>,
    pub mesh: Option<u32>,
    pub skin: Option<u32>,
    /// Weights of the mesh's morph targets; if empty, the mesh's own.
    #[serde(default)]
    pub weights: Box<[f64]>,
    pub matrix: Option<Box<[f64; 16]>>,
    pub translation: Option<Box<[f64; 3]>>,
    pub rotation: Option<Box<[f64; 4]>>,
    pub scale: Option<Box<[f64; 3]>>,
    pub extensions: Option<NodeExtensions>,
}

#[derive(Deserialize)]
pub struct NodeExtensions {
    #[serde(rename = "EXT_mesh_gpu_instancing")]
    pub instancing: Option<IgnoredAny>,
}

#[derive(Deserialize)]
pub struct Mesh {
    pub primitives: Vec<Primitive>,
    #[serde(default)]
    pub weights: Box<[f64]>,
}

#[derive(Deserialize)]
pub struct Primitive {
    pub attributes: Attributes,
    pub indices: Option<u32>,
    #[serde(default = "triangles")]
    pub mode: u32,
    #[serde(default)]
    pub targets: Vec<Target>,
}

#[derive(Deserialize, PartialEq, Eq, Hash)]
pub struct Target {
    #[serde(rename = "POSITION")]
    pub position: Option<u32>,
}

/// Accessors of `JOINTS_n` and `WEIGHTS_n`, by n.
pub type Influences = BTreeMap<u32, [Option<u32>; 2]>;

#[derive(Default)]
pub struct Attributes {
    pub position: Option<u32>,
    pub influences: Influences,
}

impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = Attributes;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("attributes")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Attributes, A::Error> {
                let mut attributes = Attributes::default();
                while let Some(name) = map.next_key::<String>()? {
                    let set = |start| name.strip_prefix(start)?.parse::<u32>().ok();
                    if name == "POSITION" {
                        attributes.position = map.next_value()?;
                    } else if let Some(set) = set("JOINTS_") {
                        attributes.influences.entry(set).or_default()[0] = map.next_value()?;
                    } else if let Some(set) = set("WEIGHTS_") {
                        attributes.influences.entry(set).or_default()[1] = map.next_value()?;
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(attributes)
            }
        }
        deserializer.deserialize_map(Names)
    }
}

fn triangles() -> u32 {
    super::TRIANGLES
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Skin {
    pub joints: Vec<u32>,
    pub inverse_bind_matrices: Option<u32>,
}

#[derive(Deserialize)]
pub struct Animation {
    #[serde(default)]
    pub channels: Vec<Channel>,
}

#[derive(Deserialize)]
pub struct Channel {
    pub target: ChannelTarget,
}

#[derive(Deserialize)]
pub struct ChannelTarget {
    pub node: Option<u32>,
    pub path: Option<String>,
    pub extensions: Option<TargetExtensions>,
}

#[derive(Deserialize)]
pub struct TargetExtensions {
    #[serde(rename = "KHR_animation_pointer")]
    pub pointer: Option<Pointer>,
}

#[derive(Deserialize)]
pub struct Pointer {
    pub pointer: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Accessor {
    pub buffer_view: Option<u32>,
    #[serde(default)]
    pub byte_offset: u64,
    pub component_type: u32,
    #[serde(default)]
    pub normalized: bool,
    pub count: u64,
    #[serde(rename = "type")]
    pub kind: String,
    pub sparse: Option<Box<Sparse>>,
}

/// Elements that replace those of the buffer view, or zeros.
#[derive(Deserialize)]
pub struct Sparse {
    pub count: u64,
    pub indices: SparseIndices,
    pub values: SparseValues,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SparseIndices {
    pub buffer_view: u32,
    #[serde(default)]
    pub byte_offset: u64,
    pub component_type: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SparseValues {
    pub buffer_view: u32,
    #[serde(default)]
    pub byte_offset: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    pub buffer: u32,
    #[serde(default)]
    pub byte_offset: u64,
    pub byte_length: u64,
    pub byte_stride: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Buffer {
    pub byte_length: u64,
    pub uri: Option<String>,
}
