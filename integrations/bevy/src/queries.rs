//! Queries of entities: what lies in or near something.

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

use crate::batch::QuerySizes;
use crate::components::{OverlapLayers, OverlapOwner, filtered};
use crate::schedule::BroadPhaseSystems;
use crate::state::BroadPhase;
use crate::{collect, tell};

/// Asks which entities with a [`BroadPhaseObject`](crate::BroadPhaseObject) lie in or near a place in the world. The
/// answer comes a frame or two later, as [`BroadPhaseQueryResults`] of the same entity. It is kept up to date while
/// this component is there.
///
/// [`OverlapLayers`] and [`OverlapOwner`] of the entity say what it may find, as they say what objects overlap. An
/// entity that is an object itself does not find itself. The entity's transform does not move the query.
///
/// Found is what comes within `radius` of `bounds`: of a box with radius 0 what overlaps it, of a point with a radius
/// what a sphere meets. Boxes of objects count, with the plugin's margin. A query with a NaN, with `min > max` or with
/// a negative radius finds nothing.
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
    /// A box in the world. It may be a point.
    pub bounds: Aabb3d,
    /// How far from the box objects may be; may be infinite.
    pub radius: f32,
}

impl BroadPhaseQuery {
    /// What overlaps a box. Boxes that touch overlap.
    pub const fn overlaps(bounds: Aabb3d) -> Self {
        Self { bounds, radius: 0.0 }
    }

    /// Whose boxes a position lies in.
    pub fn point(position: Vec3) -> Self {
        Self::sphere(position, 0.0)
    }

    /// What comes within `radius` of `center`.
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

/// What the [`BroadPhaseQuery`] of this entity found. It is inserted with the first answer, and again with each one
/// that differs: `On<Insert<BroadPhaseQueryResults>>` observes all of them. It goes with the query.
#[derive(Component, Clone, Debug, Default, PartialEq, Eq)]
#[component(immutable)]
pub struct BroadPhaseQueryResults {
    /// The entities, in their order. Some may have been despawned since.
    pub entities: Vec<Entity>,
}

fn remove_results(mut world: DeferredWorld, context: HookContext) {
    let mut commands = world.commands();
    // Where the entity is despawned, the results are gone as well.
    if let Ok(mut entity) = commands.get_entity(context.entity) {
        entity.try_remove::<BroadPhaseQueryResults>();
    }
}

/// A query of an entity. That it was added anew makes it another one.
#[derive(Debug, PartialEq)]
struct Asker {
    entity: Entity,
    added: Tick,
    query: gpu_broad_phase::Query,
}

/// The queries of a frame, and of which state of the objects they were asked.
#[derive(Debug, Default, PartialEq)]
struct Questions {
    self_query: Vec<Asker>,
    revision: u64,
}

#[derive(Resource, Default)]
struct Queries {
    asked: QuerySizes<Questions>,
    /// What the last answer was about: it need not be asked again.
    answered: Questions,
}

pub(crate) fn build(app: &mut App) {
    app.init_resource::<Queries>()
        .add_systems(PreUpdate, answer.in_set(BroadPhaseSystems::Tell).after(tell::tell))
        .add_systems(
            PostUpdate,
            ask.in_set(BroadPhaseSystems::Collect).after(collect::collect),
        );
}

type Asking = (
    Entity,
    Ref<'static, BroadPhaseQuery>,
    Option<&'static OverlapLayers>,
    Option<&'static OverlapOwner>,
);

/// Asks all queries while the last answer is of other ones or of other objects.
fn ask(mut broad_phase: ResMut<BroadPhase>, mut queries: ResMut<Queries>, all: Query<Asking>) {
    let querier = |(entity, query, layers, owner): (_, Ref<BroadPhaseQuery>, _, _)| {
        let Aabb3d { min, max } = query.bounds;
        let bounds = gpu_broad_phase::Aabb::new(min.to_array(), max.to_array());
        Asker {
            entity,
            added: query.added(),
            query: gpu_broad_phase::Query {
                radius: query.radius,
                ..filtered(bounds, layers, owner).into()
            },
        }
    };
    let questions = Questions {
        self_query: all.iter().map(querier).collect(),
        revision: broad_phase.objects.revision(),
    };
    let batch = &mut broad_phase.bypass_change_detection().batch;
    batch.queries.clear();
    if questions.self_query.is_empty() || questions == queries.answered {
        return;
    }
    batch.queries.extend(questions.self_query.iter().map(|querier| querier.query));
    queries.asked.push(batch.number, questions);
}

fn answer(
    broad_phase: Res<BroadPhase>,
    mut queries: ResMut<Queries>,
    all: Query<(Ref<BroadPhaseQuery>, Option<&BroadPhaseQueryResults>)>,
    mut commands: Commands,
) {
    // Each answer is of all queries: the last one counts.
    let answers = broad_phase.answers.iter();
    let last = answers.filter_map(|answer| Some((queries.asked.take(answer.number)?, &answer.of_queries)));
    let Some((questions, of_queries)) = last.last() else {
        return;
    };
    for (querier, found) in questions.self_query.iter().zip(of_queries) {
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
