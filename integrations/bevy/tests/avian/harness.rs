//! Two apps with the same scene. Avian's own broad phase adds a step's pairs in an order that depends on its trees, and
//! the solver's rounding depends on that order. So its new pairs are sorted like those of this crate. If both broad
//! phases find the same pairs in each step, all positions then have the same bits.

use std::collections::BTreeMap;
use std::time::Duration;

use bevy::ecs::entity_disabling::Disabled;
use bevy::prelude::*;
use bevy::time::TimeUpdateStrategy;

use super::AvianBroadPhasePlugin;
use super::avian::collider_tree::ColliderTreeSystems;
use super::avian::data_structures::pair_key::PairKey;
use super::avian::prelude::*;

pub const STEPS: u32 = 600;

/// Number of a collider or body, equal in both apps.
#[derive(Component, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Number(pub u32);

/// Number of the current step, from 0.
#[derive(Resource, Clone, Copy, Default)]
pub struct Step(pub u32);

/// Contact pairs by number, true if they touch; and each position and rotation, in digits that keep floats distinct.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Frame {
    pub pairs: BTreeMap<[u32; 2], bool>,
    /// Active pairs in the order of the contact graph, whose first collider comes first.
    pub order: Vec<[u32; 3]>,
    pub places: BTreeMap<u32, String>,
}

impl Frame {
    pub fn touching(&self) -> impl Iterator<Item = [u32; 2]> {
        self.pairs.iter().filter(|pair| *pair.1).map(|pair| *pair.0)
    }
}

pub fn app() -> App {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, TransformPlugin))
        .insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_micros(16_667)))
        .init_resource::<Step>();
    app
}

pub fn ours() -> App {
    let mut app = app();
    let plugins = PhysicsPlugins::new(PostUpdate).build();
    let plugins = plugins.disable::<BvhBroadPhasePlugin>();
    app.add_plugins(plugins.add(AvianBroadPhasePlugin::new()));
    app
}

pub fn theirs() -> App {
    let mut app = app();
    app.add_plugins(PhysicsPlugins::new(PostUpdate));
    app
}

#[derive(Resource, Default)]
struct Before(ContactGraph);

pub fn sorted(mut app: App) -> App {
    let keep = |graph: Res<ContactGraph>, mut before: ResMut<Before>| before.0 = graph.clone();
    let broad = BroadPhaseSystems::CollectCollisions;
    app.init_resource::<Before>().add_systems(
        PhysicsSchedule,
        (
            keep.after(ColliderTreeSystems::UpdateAabbs).before(broad),
            sort.after(broad).before(BroadPhaseSystems::Last),
        )
            .in_set(PhysicsStepSystems::BroadPhase),
    );
    app
}

fn sort(mut graph: ResMut<ContactGraph>, mut before: ResMut<Before>) {
    let before = std::mem::take(&mut before.0);
    let key = |pair: &ContactPair| *PairKey::new(pair.collider1.index_u32(), pair.collider2.index_u32());
    let mut added = graph.active_pairs()[before.active_pairs().len()..].to_vec();
    added.sort_by_key(key);
    let edges = added
        .iter()
        .map(|pair| graph.get_edge_by_id(pair.contact_id).expect("of a pair").clone());
    let edges: Vec<_> = edges.collect();
    *graph = before;
    for (edge, new) in edges.into_iter().zip(&added) {
        graph.add_edge_with(edge, |pair| {
            (pair.body1, pair.body2, pair.flags) = (new.body1, new.body2, new.flags);
        });
    }
}

pub fn finish(app: &mut App) {
    app.finish();
    app.cleanup();
}

pub fn step(app: &mut App) -> Frame {
    app.update();
    app.world_mut().resource_mut::<Step>().0 += 1;
    frame(app.world_mut())
}

pub fn frame(world: &mut World) -> Frame {
    let mut numbered = world.query_filtered::<(&Number, &Position, &Rotation), Allow<Disabled>>();
    let place = |(number, position, rotation): (&Number, &Position, &Rotation)| {
        (number.0, format!("{position:?} {rotation:?}"))
    };
    let places = numbered.iter(world).map(place).collect();
    let graph = world.resource::<ContactGraph>();
    let pairs = graph.iter_active().chain(graph.iter_sleeping());
    let number = |entity| world.get::<Number>(entity).expect("each collider has one").0;
    let pairs = pairs.map(|pair| {
        let [a, b] = [pair.collider1, pair.collider2].map(number);
        ([a.min(b), a.max(b)], pair.is_touching())
    });
    let active = graph.iter_active().chain(graph.iter_sleeping());
    Frame {
        order: active
            .map(|pair| [number(pair.collider1), number(pair.collider2), pair.contact_id.0])
            .collect(),
        pairs: pairs.collect(),
        places,
    }
}

/// Runs both apps, and fails at the first step with other pairs or positions. Returns the largest number of touching
/// pairs.
pub fn compare(name: &str, mut ours: App, theirs: App, steps: u32) -> usize {
    let mut theirs = sorted(theirs);
    finish(&mut ours);
    finish(&mut theirs);
    let mut most = 0;
    for index in 0..steps {
        let [own, other] = [step(&mut ours), step(&mut theirs)];
        most = most.max(own.touching().count());
        if own == other {
            continue;
        }
        let differing = |a: &Frame, b: &Frame| {
            let pairs = a.pairs.iter().filter(|pair| b.pairs.get(pair.0) != Some(pair.1));
            pairs.map(|pair| format!("{pair:?}")).collect::<Vec<_>>()
        };
        let moved = own
            .places
            .iter()
            .filter(|place| other.places.get(place.0) != Some(place.1));
        panic!(
            "{name}, step {index}: only ours {:?}, only avian's {:?}, order {:?}, positions of {:?}",
            differing(&own, &other),
            differing(&other, &own),
            own.order.iter().zip(&other.order).find(|(own, other)| own != other),
            moved.map(|place| place.0).collect::<Vec<_>>()
        );
    }
    most
}

pub fn noise(seed: u32) -> f32 {
    let mut bits = seed.wrapping_mul(0x9e37_79b9) ^ 0x5bf0_3635;
    for _ in 0..2 {
        bits = (bits ^ (bits >> 16)).wrapping_mul(0x045d_9f3b);
    }
    ((bits ^ (bits >> 16)) >> 8) as f32 / (1 << 24) as f32
}
