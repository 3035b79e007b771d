use std::fmt::{self, Display, Formatter};

use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::{BroadPhaseError, InputError};
use crate::api::scene::Scene;
use crate::api::types::{Aabb, Pair};
use crate::layout::grid::{Class, classify, ordered, worlds_meet};
use crate::reference::host::HostScene;
use crate::reference::params::prepared;

/// Rule that decides whether two objects are a pair. If several apply, the first in this order is returned.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum PairRule {
    /// Both indices are equal.
    SameObject,
    /// The object has the flag [`Aabb::EXCLUDED`].
    Excluded {
        /// Index of the object.
        object: u32,
    },
    /// A bound of the object is NaN, a minimum is above its maximum, or its world does not exist.
    Invalid {
        /// Index of the object.
        object: u32,
    },
    /// The objects are in different worlds.
    Worlds {
        /// World of the first object.
        first: u32,
        /// World of the second object.
        second: u32,
    },
    /// The boxes do not overlap along an axis.
    Apart {
        /// First axis without overlap: 0, 1 or 2.
        axis: usize,
        /// Distance between the boxes along that axis, margins included. With periods, the objects are first wrapped
        /// into the periods; their periodic images are not considered.
        gap: f64,
    },
    /// Both objects are static.
    BothStatic,
    /// Both objects have the same group.
    SameGroup {
        /// Group of both objects.
        group: u32,
    },
    /// The layers of one object are not in the mask of the other.
    Layers,
    /// The scene's list of excluded pairs contains the pair.
    Listed,
    /// The boxes overlap, and none of the rules above excludes the pair.
    Overlap,
}

impl Display for PairRule {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Self::SameObject => formatter.write_str("an object does not pair with itself"),
            Self::Excluded { object } => write!(formatter, "object {object} has the flag EXCLUDED"),
            Self::Invalid { object } => write!(formatter, "object {object} is invalid"),
            Self::Worlds { first, second } => write!(formatter, "the objects are in worlds {first} and {second}"),
            Self::Apart { axis, gap } => write!(formatter, "the boxes are {gap} apart along {}", ["x", "y", "z"][axis]),
            Self::BothStatic => formatter.write_str("both objects are static"),
            Self::SameGroup { group } => write!(formatter, "both objects have the group {group}"),
            Self::Layers => formatter.write_str("the layers of one object are not in the mask of the other"),
            Self::Listed => formatter.write_str("the list of excluded pairs contains the pair"),
            Self::Overlap => formatter.write_str("the boxes overlap, and no rule excludes the pair"),
        }
    }
}

/// Returns the rule that decides whether objects `a` and `b` of a scene are a pair. A
/// [`pair_filter`](BroadPhaseDescriptor::pair_filter) is not evaluated.
///
/// ```
/// use gpu_broad_phase::reference::{PairRule, pair_rule};
/// use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Scene};
///
/// let objects = [Aabb::new([0.0; 3], [1.0; 3]), Aabb::new([3.0, 0.0, 0.0], [4.0, 1.0, 1.0])];
/// let scene = Scene { objects: objects[..].into(), ..Scene::default() };
/// let rule = pair_rule(&BroadPhaseDescriptor::default(), &scene, 0, 1)?;
/// assert_eq!(rule, PairRule::Apart { axis: 0, gap: 2.0 });
/// assert_eq!(rule.to_string(), "the boxes are 2 apart along x");
/// # Ok::<(), gpu_broad_phase::BroadPhaseError>(())
/// ```
///
/// # Errors
///
/// - Errors of [`step_scene`](crate::cpu::step_scene), except `PairFilterOnCpu`.
/// - [`InputError::NoObject`]: `a` or `b` is not an object of the scene.
pub fn pair_rule(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene<'_>,
    a: u32,
    b: u32,
) -> Result<PairRule, BroadPhaseError> {
    let scene = HostScene::of(scene)?;
    let count = scene.object_count() as u64;
    if let Some(index) = [a, b].into_iter().find(|&index| u64::from(index) >= count) {
        return Err(InputError::NoObject { index, count }.into());
    }
    let (_, objects) = prepared(descriptor, &scene)?;
    let pair = [a, b].map(|index| &objects[index as usize]);
    if a == b {
        return Ok(PairRule::SameObject);
    }
    let of_class = |class: Class| {
        (classify(pair[0]) == class)
            .then_some(a)
            .or((classify(pair[1]) == class).then_some(b))
    };
    if let Some(object) = of_class(Class::Excluded) {
        return Ok(PairRule::Excluded { object });
    }
    if let Some(object) = of_class(Class::Invalid) {
        return Ok(PairRule::Invalid { object });
    }
    if descriptor.worlds > 1 {
        let (_, worlds) = scene.all_objects();
        let [first, second] = [a, b].map(|index| worlds[index as usize]);
        if !worlds_meet(first, second) {
            return Ok(PairRule::Worlds { first, second });
        }
    }
    let statics = scene.static_objects.len() as u64;
    let are_of_statics = [a, b].into_iter().all(|index| u64::from(index) < statics);
    let is_listed = || {
        let in_order = |pair: &Pair| Pair::new(pair.a, pair.b);
        scene
            .excluded_pairs
            .iter()
            .any(|pair| in_order(pair) == Pair::new(a, b))
    };
    Ok(apart(pair)
        .or_else(|| filtered(pair, descriptor.filters, are_of_statics))
        .or_else(|| is_listed().then_some(PairRule::Listed))
        .unwrap_or(PairRule::Overlap))
}

fn apart([a, b]: [&Aabb; 2]) -> Option<PairRule> {
    (0..3).find_map(|axis| {
        let gap = |low: f32, high: f32| {
            (ordered(low) > ordered(high)).then(|| PairRule::Apart {
                axis,
                gap: f64::from(low) - f64::from(high),
            })
        };
        gap(b.min[axis], a.max[axis]).or_else(|| gap(a.min[axis], b.max[axis]))
    })
}

/// Static objects never pair with each other, even without filters.
fn filtered([a, b]: [&Aabb; 2], filters: bool, are_of_statics: bool) -> Option<PairRule> {
    if are_of_statics || (filters && a.group & b.group & Aabb::STATIC != 0) {
        return Some(PairRule::BothStatic);
    }
    if !filters {
        return None;
    }
    let [group, other] = [a, b].map(|object| object.group & Aabb::GROUP_MASK);
    if group != 0 && group == other {
        return Some(PairRule::SameGroup { group });
    }
    let excludes = |of: &Aabb, by: &Aabb| of.layers as u16 & (by.layers >> 16) as u16 == 0;
    (excludes(a, b) || excludes(b, a)).then_some(PairRule::Layers)
}
