//! Nodes of the scene, and global transforms of all nodes.

use std::borrow::Cow;

use anyhow::{Context, Result, bail};

use super::document::{Document, Node};
use super::entry;
use super::transform::{Transform, compose, transform};

/// No parent, or the identity.
const NONE: u32 = u32::MAX;
const UNKNOWN: u32 = u32::MAX - 1;
const SEVERAL: u32 = u32::MAX - 2;

pub struct Nodes<'a> {
    nodes: &'a [Node],
    /// Nodes of the scene, depth first.
    pub in_scene: Vec<u32>,
    parents: Vec<u32>,
    has_all_parents: bool,
    transforms: Vec<Transform>,
    /// Index of each node's global transform.
    globals: Vec<u32>,
}

impl<'a> Nodes<'a> {
    pub fn of_scene(document: &'a Document) -> Result<Self> {
        let nodes = &document.nodes;
        let mut found = Self {
            nodes,
            in_scene: Vec::new(),
            parents: vec![UNKNOWN; nodes.len()],
            has_all_parents: false,
            transforms: Vec::new(),
            globals: vec![UNKNOWN; nodes.len()],
        };
        let mut stack = Vec::new();
        found.push(&roots(document)?, NONE, &mut stack)?;
        while let Some(index) = stack.pop() {
            let parent = found.parents[index as usize];
            let outer = match parent {
                NONE => NONE,
                parent => found.globals[parent as usize],
            };
            found.add(index, outer)?;
            found.in_scene.push(index);
            found.push(&nodes[index as usize].children, index, &mut stack)?;
        }
        Ok(found)
    }

    fn push(&mut self, children: &[u32], parent: u32, stack: &mut Vec<u32>) -> Result<()> {
        for &child in children.iter().rev() {
            let Some(known) = self.parents.get_mut(child as usize) else {
                bail!("unknown node {child}: there are {}, from 0", self.nodes.len());
            };
            if *known != UNKNOWN {
                bail!("{}", not_a_tree(child));
            }
            *known = parent;
            stack.push(child);
        }
        Ok(())
    }

    /// `outer` is the global transform of the parent.
    fn add(&mut self, index: u32, outer: u32) -> Result<u32> {
        let own = transform(&self.nodes[index as usize]).with_context(|| format!("node {index}"))?;
        let global = match own {
            Some(own) => {
                let outer = self.transforms.get(outer as usize);
                let global = outer.map_or(own, |&outer| compose(outer, own));
                self.transforms.push(global);
                self.transforms.len() as u32 - 1
            }
            None => outer,
        };
        self.globals[index as usize] = global;
        Ok(global)
    }

    pub fn node(&self, index: u32) -> &'a Node {
        &self.nodes[index as usize]
    }

    pub fn parent(&self, index: u32) -> Option<u32> {
        Some(self.parents[index as usize]).filter(|&parent| parent != NONE)
    }

    /// `None` for the identity. The node may be outside the scene.
    pub fn global(&mut self, index: u32) -> Result<Option<Transform>> {
        entry(self.nodes, index, "node")?;
        let mut chain = Vec::new();
        let mut at = index;
        let mut global = loop {
            match self.globals[at as usize] {
                UNKNOWN if chain.len() == self.nodes.len() => bail!("{}", not_a_tree(at)),
                UNKNOWN => chain.push(at),
                known => break known,
            }
            self.find_parents();
            at = match self.parents[at as usize] {
                UNKNOWN => break NONE,
                SEVERAL => bail!("{}", not_a_tree(at)),
                parent => parent,
            };
        };
        for node in chain.into_iter().rev() {
            global = self.add(node, global)?;
        }
        Ok(self.transforms.get(global as usize).copied())
    }

    /// Only joints need parents of nodes outside the scene.
    fn find_parents(&mut self) {
        if std::mem::replace(&mut self.has_all_parents, true) {
            return;
        }
        let is_in_scene: Vec<_> = self.parents.iter().map(|&parent| parent != UNKNOWN).collect();
        for (parent, node) in (0..).zip(self.nodes) {
            for &child in &node.children {
                if is_in_scene.get(child as usize) == Some(&false) {
                    let known = &mut self.parents[child as usize];
                    *known = if *known == UNKNOWN { parent } else { SEVERAL };
                }
            }
        }
    }
}

fn not_a_tree(node: u32) -> String {
    format!("node {node} has two parents, or is its own descendant")
}

/// Root nodes of the default scene, else of the first. Without scenes: all nodes without a parent.
fn roots(document: &Document) -> Result<Cow<'_, [u32]>> {
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
