//! Skins: vertices that follow joints.

use std::collections::HashMap;
use std::rc::Rc;

use anyhow::{Context, Result, bail};

use super::accessors::{Accessors, Elements, FLOAT, MAT4, UNSIGNED_BYTE, UNSIGNED_SHORT, VEC4};
use super::document::{Document, Influences};
use super::entry;
use super::nodes::Nodes;
use super::transform::{IDENTITY, Transform, apply, compose};

/// Transform of each joint of a skin, from the mesh to the scene.
pub type Joints = Rc<[Transform]>;

#[derive(Default)]
pub struct Skins(HashMap<u32, Joints>);

impl Skins {
    pub fn joints(
        &mut self,
        index: u32,
        document: &Document,
        nodes: &mut Nodes<'_>,
        accessors: &mut Accessors<'_>,
    ) -> Result<Joints> {
        let skin = entry(&document.skins, index, "skin")?;
        if let Some(known) = self.0.get(&index) {
            return Ok(known.clone());
        }
        let mut read = || {
            let count = skin.joints.len();
            let inverses = match skin.inverse_bind_matrices {
                Some(accessor) => {
                    let found = accessors.read(accessor, MAT4, &[FLOAT])?;
                    if found.count < count as u64 {
                        bail!(
                            "accessor {accessor}: {} inverse bind matrices for {count} joints",
                            found.count
                        );
                    }
                    accessors.room(64, found.count)?;
                    Some(found)
                }
                None => None,
            };
            let mut joint = |(place, &node): (usize, &u32)| -> Result<Transform> {
                let global = nodes.global(node)?.unwrap_or(IDENTITY);
                let joint = match &inverses {
                    Some(inverses) => compose(global, matrix(inverses, place).context("inverse bind matrix")?),
                    None => global,
                };
                match joint.as_flattened().iter().all(|value| value.is_finite()) {
                    true => Ok(joint),
                    false => bail!("transform is not finite"),
                }
            };
            let joints = skin.joints.iter().enumerate();
            joints
                .map(|place| joint(place).with_context(|| format!("joint {}", place.0)))
                .collect::<Result<Joints>>()
        };
        let joints = read().with_context(|| format!("skin {index}"))?;
        self.0.insert(index, joints.clone());
        Ok(joints)
    }
}

fn matrix(matrices: &Elements<'_>, place: usize) -> Result<Transform> {
    const LAST_ROW: [f64; 4] = [0.0, 0.0, 0.0, 1.0];
    // The format prescribes the last row, but exporters invert in f32.
    const TOLERANCE: f64 = 1e-4;
    let at = |column: usize, row: usize| matrices.number(place, 4 * column + row);
    if !(0..4).all(|column| (at(column, 3) - LAST_ROW[column]).abs() <= TOLERANCE) {
        bail!("unsupported matrix: not affine");
    }
    Ok(std::array::from_fn(|column| std::array::from_fn(|row| at(column, row))))
}

pub struct Weights<'a> {
    sets: Vec<[Elements<'a>; 2]>,
}

impl<'a> Weights<'a> {
    pub fn read(influences: &Influences, count: u64, accessors: &mut Accessors<'a>) -> Result<Self> {
        let mut set = |(number, set): (&u32, &[Option<u32>; 2])| {
            let [Some(joints), Some(weights)] = *set else {
                bail!("JOINTS_{number} and WEIGHTS_{number} need each other");
            };
            let found = [
                accessors.read(joints, VEC4, &[UNSIGNED_BYTE, UNSIGNED_SHORT])?,
                accessors.read(weights, VEC4, &[UNSIGNED_BYTE, UNSIGNED_SHORT, FLOAT])?,
            ];
            for (accessor, elements) in [joints, weights].into_iter().zip(&found) {
                super::check_count(accessor, elements, count)?;
                accessors.room(8, count)?;
                accessors.room(1, elements.owned())?;
            }
            Ok(found)
        };
        Ok(Self {
            sets: influences.iter().map(&mut set).collect::<Result<_>>()?,
        })
    }

    /// Returns the number of vertices without weights, which follow their first joint.
    pub fn apply(&self, joints: &[Transform], positions: &mut [[f64; 3]]) -> Result<u64> {
        let mut weightless = 0;
        for (vertex, position) in positions.iter_mut().enumerate() {
            let moved = match self.moved(joints, vertex, *position) {
                Ok(None) => {
                    weightless += 1;
                    self.joint(joints, 0, vertex, 0).map(|joint| apply(joint, *position))
                }
                moved => moved.map(|moved| moved.unwrap_or(*position)),
            };
            *position = moved.with_context(|| format!("vertex {vertex}"))?;
        }
        Ok(weightless)
    }

    /// Weighted mean of a vertex's positions at its joints, `None` if all weights are 0. The sum may differ from 1:
    /// quantized and old files miss it, and three.js and Blender normalize, too.
    fn moved(&self, joints: &[Transform], vertex: usize, position: [f64; 3]) -> Result<Option<[f64; 3]>> {
        let (mut moved, mut total) = ([0.0; 3], 0.0);
        for (set, [_, weights]) in self.sets.iter().enumerate() {
            for place in 0..4 {
                let weight = weights.number(vertex, place);
                if weight != 0.0 {
                    let at = apply(self.joint(joints, set, vertex, place)?, position);
                    moved = std::array::from_fn(|axis| moved[axis] + weight * at[axis]);
                    total += weight;
                }
            }
        }
        if !total.is_finite() {
            bail!("weights are not finite");
        }
        Ok((total > 0.0).then(|| moved.map(|value| value / total)))
    }

    fn joint<'j>(&self, joints: &'j [Transform], set: usize, vertex: usize, place: usize) -> Result<&'j Transform> {
        entry(joints, self.sets[set][0].integer(vertex, place), "joint")
    }
}
