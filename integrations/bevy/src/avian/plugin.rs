use std::marker::PhantomData;

use bevy::ecs::system::{StaticSystemParam, SystemParamItem};
use bevy::platform::time::Instant;
use bevy::prelude::*;

use super::avian::collider_tree::{ColliderTreeProxy, ColliderTreeProxyFlags, ColliderTreeProxyKey};
use super::avian::collider_tree::{ColliderTrees, MovedProxies};
use super::avian::collision::CollisionDiagnostics;
use super::avian::collision::contact_types::ContactEdgeFlags;
use super::avian::data_structures::pair_key::PairKey;
use super::avian::dynamics::joints::joint_graph::JointGraph;
use super::avian::prelude::*;
use super::search::{Overlap, Search};

/// Replaces Avian's [`BvhBroadPhasePlugin`] by the CPU engine of `gpu-broad-phase`.
///
/// Contact pairs are those of Avian's plugin. A step adds them in the order of their entities' indices, so the order
/// does not depend on trees or threads.
///
/// - **Moved colliders** are those that left their [`EnlargedAabb`](super::avian::collision::collider::EnlargedAabb) or
///   were added. A step without any searches nothing. If they are fewer than a quarter, their boxes query Avian's
///   trees.
/// - **Hooks**: [`CollisionHooks::filter_pairs`] is called once per new pair, in the order of pairs, on one thread.
/// - **Threads**: the feature `rayon` lets the search use all threads of rayon's pool.
pub struct AvianBroadPhasePlugin<H: CollisionHooks = ()> {
    optimizes_trees: bool,
    hooks: PhantomData<H>,
}

impl AvianBroadPhasePlugin {
    /// Creates the plugin without hooks.
    pub const fn new() -> Self {
        Self::with_hooks()
    }
}

impl<H: CollisionHooks> AvianBroadPhasePlugin<H> {
    /// Creates the plugin with the hooks of [`PhysicsPlugins::with_collision_hooks`].
    pub const fn with_hooks() -> Self {
        Self {
            optimizes_trees: true,
            hooks: PhantomData,
        }
    }

    /// Stops Avian from optimizing its [`ColliderTrees`] in each step.
    ///
    /// Spatial queries and steps in which few colliders move stay correct, but get slower as colliders move.
    #[must_use]
    pub const fn without_tree_optimization(mut self) -> Self {
        self.optimizes_trees = false;
        self
    }
}

impl<H: CollisionHooks> Default for AvianBroadPhasePlugin<H> {
    fn default() -> Self {
        Self::with_hooks()
    }
}

impl<H: CollisionHooks + 'static> Plugin for AvianBroadPhasePlugin<H>
where
    for<'w, 's> SystemParamItem<'w, 's, H>: CollisionHooks,
{
    fn build(&self, app: &mut App) {
        let system = BroadPhaseSystems::CollectCollisions;
        app.add_systems(PhysicsSchedule, collect_pairs::<H>.in_set(system));
        if !self.optimizes_trees {
            let forget = forget_moved_proxies.after(system).before(BroadPhaseSystems::Last);
            app.add_systems(PhysicsSchedule, forget.in_set(PhysicsStepSystems::BroadPhase));
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "parameters of a system")]
fn collect_pairs<H: CollisionHooks>(
    trees: Res<ColliderTrees>,
    moved: Res<MovedProxies>,
    hooks: StaticSystemParam<H>,
    mut commands: Commands,
    mut graph: ResMut<ContactGraph>,
    joints: Res<JointGraph>,
    mut diagnostics: ResMut<CollisionDiagnostics>,
    mut search: Local<Search>,
) where
    for<'w, 's> SystemParamItem<'w, 's, H>: CollisionHooks,
{
    let began = Instant::now();
    let moved = moved.proxies();
    if moved.is_empty() {
        diagnostics.broad_phase += began.elapsed();
        return;
    }
    let found = search.run(&trees, moved, &graph);
    let mut overlaps = match found {
        Ok(overlaps) => overlaps,
        Err(error) => {
            bevy::log::error_once!("broad phase: {error}");
            return;
        }
    };
    overlaps.sort_unstable_by_key(|overlap| *overlap.entities);
    let hooks = hooks.into_inner();
    for overlap in overlaps {
        let mut filter = |a, b| hooks.filter_pairs(a, b, &mut commands);
        if let Some(proxies) = ordered(&trees, &overlap)
            && is_admitted(proxies, &joints, &mut filter)
        {
            add(&mut graph, proxies);
        }
    }
    diagnostics.broad_phase += began.elapsed();
}

/// Returns the proxies in the order of Avian's own pairs, `None` if it would add no pair.
///
/// In Avian, moved proxies search in turn. Of two moved ones, the second by tree and id finds the first only if it is a
/// sensor. Static proxies find static ones only if they are sensors.
fn ordered<'a>(trees: &'a ColliderTrees, overlap: &Overlap) -> Option<[&'a ColliderTreeProxy; 2]> {
    let [first, second] = overlap.keys.map(|key| trees.get_proxy(key));
    let proxies = [first?, second?];
    let order = overlap.keys.map(|key| (key.tree_type() as u8, key.id()));
    let are_static = overlap.keys.iter().all(ColliderTreeProxyKey::is_static);
    let place = |proxy: usize| {
        let (moved, other_moved) = (overlap.moved[proxy], overlap.moved[1 - proxy]);
        let is_second = order[proxy] > order[1 - proxy] && other_moved > 0;
        let searches = moved > 0 && (proxies[proxy].is_sensor() || !(is_second || are_static));
        searches.then_some(moved)
    };
    match (place(0), place(1)) {
        (None, None) => None,
        (Some(first), Some(second)) if second < first => Some([proxies[1], proxies[0]]),
        (Some(_), _) => Some(proxies),
        (None, Some(_)) => Some([proxies[1], proxies[0]]),
    }
}

/// Returns true if filters admit the pair, as in Avian's `bvh_broad_phase.rs`.
fn is_admitted(
    [first, second]: [&ColliderTreeProxy; 2],
    joints: &JointGraph,
    filter: &mut impl FnMut(Entity, Entity) -> bool,
) -> bool {
    // Colliders without a body never pair, either.
    if !first.layers.interacts_with(second.layers) || first.body == second.body {
        return false;
    }
    if let (Some(first), Some(second)) = (first.body, second.body)
        && joints
            .joints_between(first, second)
            .any(|joint| joint.collision_disabled)
    {
        return false;
    }
    let flags = first.flags.union(second.flags);
    !flags.contains(ColliderTreeProxyFlags::CUSTOM_FILTER) || filter(first.collider, second.collider)
}

fn add(graph: &mut ContactGraph, [first, second]: [&ColliderTreeProxy; 2]) {
    let flags = first.flags.union(second.flags);
    let mut edge = ContactEdge::new(first.collider, second.collider);
    (edge.body1, edge.body2) = (first.body, second.body);
    let has_events = flags.contains(ColliderTreeProxyFlags::CONTACT_EVENTS);
    edge.flags.set(ContactEdgeFlags::CONTACT_EVENTS, has_events);
    let key = PairKey::new(first.collider.index_u32(), second.collider.index_u32());
    graph.add_edge_and_key_with(edge, key, |pair| {
        (pair.body1, pair.body2) = (first.body, second.body);
        let modifies = flags.contains(ColliderTreeProxyFlags::MODIFY_CONTACTS);
        pair.flags.set(ContactPairFlags::MODIFY_CONTACTS, modifies);
        let is_inert = flags.intersects(ColliderTreeProxyFlags::BODY_DISABLED | ColliderTreeProxyFlags::SENSOR);
        pair.flags.set(ContactPairFlags::GENERATE_CONSTRAINTS, !is_inert);
    });
}

/// Leaves [`ColliderTreeSystems::BeginOptimize`](super::avian::collider_tree::ColliderTreeSystems) nothing to do.
fn forget_moved_proxies(mut trees: ResMut<ColliderTrees>) {
    for tree in trees.iter_trees_mut() {
        tree.moved_proxies.clear();
    }
}
