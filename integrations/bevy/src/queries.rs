use bevy::app::{App, PostUpdate, PreUpdate};
use bevy::ecs::change_detection::{DetectChanges, DetectChangesMut, Ref, Tick};
use bevy::ecs::component::Component;
use bevy::ecs::entity::Entity;
use bevy::ecs::lifecycle::HookContext;
use bevy::ecs::resource::Resource;
use bevy::ecs::schedule::IntoScheduleConfigs;
use bevy::ecs::system::{Commands, Query, Res, ResMut};
use bevy::ecs::world::DeferredWorld;
use bevy::math::Vec3;
use bevy::shape::Aabb3d;

use crate::batch::PendingBatches;
use crate::components::{OverlapGroup, OverlapLayers, filtered};
use crate::schedule::BroadPhaseSystems;
use crate::state::BroadPhase;
use crate::{collect, tell};

/// Finds the entities with a [`BroadPhaseObject`](crate::BroadPhaseObject) in or near a place in the world. The result
/// arrives a frame or two later as [`BroadPhaseQueryResults`] on the same entity. It is updated until this component is
/// removed.
///
/// The query finds entities whose boxes are within `radius` of `bounds`. If `radius` is 0, these are the boxes that
/// overlap `bounds`. Boxes include the plugin's margin. [`OverlapLayers`] and [`OverlapGroup`] of the querying entity
/// filter the results. A query never finds its own entity, and the entity's transform does not move the query. A query
/// with a NaN, with `min > max` or with a negative radius finds nothing.
///
/// ```no_run
/// # use bevy::prelude::*;
/// # use bevy_gpu_broad_phase::{BroadPhaseQuery, BroadPhaseQueryResults};
/// # fn explode(mut commands: Commands) {
/// commands
///     .spawn(BroadPhaseQuery::sphere(Vec3::new(3.0, 0.0, 1.0), 5.0))
///     .observe(hurt);
/// # }
///
/// fn hurt(answer: On<Insert<BroadPhaseQueryResults>>, all: Query<&BroadPhaseQueryResults>, mut commands: Commands) {
///     for &entity in &all.get(answer.entity).unwrap().entities {
///         info!("{entity} is within the blast");
///     }
///     commands.entity(answer.entity).despawn(); // one answer was enough
/// }
/// ```
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(on_remove = remove_results)]
pub struct BroadPhaseQuery {
    /// Box in world space. It may be a point.
    pub bounds: Aabb3d,
    /// Largest distance from `bounds`. It may be infinite.
    pub radius: f32,
}

impl BroadPhaseQuery {
    /// Finds entities that overlap or touch a box.
    pub const fn overlaps(bounds: Aabb3d) -> Self {
        Self { bounds, radius: 0.0 }
    }

    /// Finds entities whose boxes contain a position.
    pub fn point(position: Vec3) -> Self {
        Self::sphere(position, 0.0)
    }

    /// Finds entities within `radius` of `center`.
    pub fn sphere(center: Vec3, radius: f32) -> Self {
        let center = center.into();
        Self {
            bounds: Aabb3d {
                min: center,
                max: center,
            },
            radius,
        }
    }
}

/// Result of the entity's [`BroadPhaseQuery`]. It is inserted when the first result arrives, and again whenever the
/// result differs, so observe `On<Insert<BroadPhaseQueryResults>>`. It is removed with the query.
#[derive(Component, Clone, Debug, Default, PartialEq, Eq)]
#[component(immutable)]
pub struct BroadPhaseQueryResults {
    /// The found entities, sorted. Some may have been despawned in the meantime.
    pub entities: Vec<Entity>,
}

fn remove_results(mut world: DeferredWorld, context: HookContext) {
    let mut commands = world.commands();
    if let Ok(mut entity) = commands.get_entity(context.entity) {
        entity.try_remove::<BroadPhaseQueryResults>();
    }
}

/// A query and its entity. `added` distinguishes a query that was removed and added again.
#[derive(Debug, PartialEq)]
struct Querier {
    entity: Entity,
    added: Tick,
    query: gpu_broad_phase::Query,
}

#[derive(Debug, Default, PartialEq)]
struct Questions {
    queriers: Vec<Querier>,
    revision: u64,
}

#[derive(Resource, Default)]
struct Queries {
    pending: PendingBatches<Questions>,
    /// Queries of the last result. They run again only after a change.
    answered: Questions,
}

pub(crate) fn build(app: &mut App) {
    app.init_resource::<Queries>()
        .add_systems(
            PreUpdate,
            answer.in_set(BroadPhaseSystems::SendEvents).after(tell::tell),
        )
        .add_systems(
            PostUpdate,
            ask.in_set(BroadPhaseSystems::Collect).after(collect::collect),
        );
}

type QuerierData = (
    Entity,
    Ref<'static, BroadPhaseQuery>,
    Option<&'static OverlapLayers>,
    Option<&'static OverlapGroup>,
);

fn ask(mut broad_phase: ResMut<BroadPhase>, mut queries: ResMut<Queries>, all: Query<QuerierData>) {
    let querier = |(entity, query, layers, group): (_, Ref<BroadPhaseQuery>, _, _)| {
        let Aabb3d { min, max } = query.bounds;
        let bounds = gpu_broad_phase::Aabb::new(min.to_array(), max.to_array());
        Querier {
            entity,
            added: query.added(),
            query: gpu_broad_phase::Query {
                radius: query.radius,
                ..filtered(bounds, layers, group).into()
            },
        }
    };
    let questions = Questions {
        queriers: all.iter().map(querier).collect(),
        revision: broad_phase.objects.revision(),
    };
    let batch = &mut broad_phase.bypass_change_detection().batch;
    batch.queries.clear();
    if questions.queriers.is_empty() || questions == queries.answered {
        return;
    }
    batch
        .queries
        .extend(questions.queriers.iter().map(|querier| querier.query));
    queries.pending.push(batch.number, questions);
}

fn answer(
    broad_phase: Res<BroadPhase>,
    mut queries: ResMut<Queries>,
    all: Query<(Ref<BroadPhaseQuery>, Option<&BroadPhaseQueryResults>)>,
    mut commands: Commands,
) {
    // Each answer covers all queries, so only the last one is used.
    let answers = broad_phase.answers.iter();
    let last = answers.filter_map(|answer| Some((queries.pending.take(answer.number)?, &answer.of_queries)));
    let Some((questions, of_queries)) = last.last() else {
        return;
    };
    for (querier, found) in questions.queriers.iter().zip(of_queries) {
        let entities: Vec<_> = found.iter().copied().filter(|&found| found != querier.entity).collect();
        if let Ok((query, known)) = all.get(querier.entity)
            && query.added() == querier.added
            && known.is_none_or(|known| known.entities != entities)
        {
            commands
                .entity(querier.entity)
                .try_insert(BroadPhaseQueryResults { entities });
        }
    }
    queries.answered = questions;
}
