//! Animations. They are not applied: vertices stay in the rest pose.

use super::document::{Channel, Document};
use super::nodes::Nodes;

pub fn moves_vertices(document: &Document, nodes: &Nodes<'_>) -> bool {
    let channels = || document.animations.iter().flat_map(|animation| &animation.channels);
    if channels().next().is_none() {
        return false;
    }
    let mut is_moved = vec![false; document.nodes.len()];
    let mut is_morphed = is_moved.clone();
    let mut is_mesh_morphed = vec![false; document.meshes.len()];
    for target in channels().filter_map(target) {
        let (flags, index) = match target {
            Target::Node(node, "translation" | "rotation" | "scale") => (&mut is_moved, node),
            Target::Node(node, "weights") => (&mut is_morphed, node),
            Target::Mesh(mesh) => (&mut is_mesh_morphed, mesh),
            Target::Node(..) => continue,
        };
        if let Some(flag) = flags.get_mut(index as usize) {
            *flag = true;
        }
    }
    for &index in &nodes.in_scene {
        if let Some(parent) = nodes.parent(index) {
            is_moved[index as usize] |= is_moved[parent as usize];
        }
    }
    let has = |flags: &[bool], index: u32| flags.get(index as usize) == Some(&true);
    let skins = document.skins.iter();
    let has_moved_joint: Vec<_> = skins
        .map(|skin| skin.joints.iter().any(|&joint| has(&is_moved, joint)))
        .collect();
    nodes.in_scene.iter().any(|&index| {
        let node = nodes.node(index);
        let is_placed_by_moved = match node.skin {
            Some(skin) => has(&has_moved_joint, skin),
            None => has(&is_moved, index),
        };
        node.mesh
            .is_some_and(|mesh| is_placed_by_moved || has(&is_morphed, index) || has(&is_mesh_morphed, mesh))
    })
}

/// Target of a channel: a property of a node, or the morph weights of a mesh.
enum Target<'a> {
    Node(u32, &'a str),
    Mesh(u32),
}

fn target(channel: &Channel) -> Option<Target<'_>> {
    let target = &channel.target;
    let path = target.path.as_deref()?;
    if path != "pointer" {
        return Some(Target::Node(target.node?, path));
    }
    let pointer = &target.extensions.as_ref()?.pointer.as_ref()?.pointer;
    if let Some(mesh) = pointer.strip_prefix("/meshes/") {
        let (mesh, path) = mesh.split_once('/')?;
        return path.starts_with("weights").then_some(Target::Mesh(mesh.parse().ok()?));
    }
    let (node, path) = pointer.strip_prefix("/nodes/")?.split_once('/')?;
    let property = path.split_once('/').map_or(path, |(property, _)| property);
    Some(Target::Node(node.parse().ok()?, property))
}
