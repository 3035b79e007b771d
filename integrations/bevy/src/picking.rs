use std::collections::HashMap;

use bevy::app::{App, PreUpdate};
use bevy::camera::Camera;
use bevy::camera::visibility::{InheritedVisibility, RenderLayers, ViewVisibility, VisibilityClass};
use bevy::ecs::change_detection::DetectChangesMut;
use bevy::ecs::entity::Entity;
use bevy::ecs::message::Messages;
use bevy::ecs::query::Has;
use bevy::ecs::resource::Resource;
use bevy::ecs::schedule::IntoScheduleConfigs;
use bevy::ecs::system::{Query, Res, ResMut};
use bevy::picking::backend::ray::{RayId, RayMap};
use bevy::picking::backend::{HitData, PointerHits};
use bevy::picking::{Pickable, PickingSystems};
use bevy::shape::Ray3d;
use gpu_broad_phase::Ray;

use crate::batch::PendingBatches;
use crate::schedule::BroadPhaseSystems;
use crate::state::BroadPhase;

/// Settings for picking by the boxes of entities. It needs Bevy's `PickingPlugin`.
///
/// All pointers are cast in one batch with the frame's step. Hits arrive a frame or two later, and are sent again in
/// every frame until newer hits arrive.
#[derive(Resource, Clone, Copy, Debug)]
pub struct BroadPhasePicking {
    /// True to cast pointers. Default: true.
    pub is_enabled: bool,
    /// True to hit only entities with a [`Pickable`]. Default: false, as for mesh picking.
    pub requires_pickable: bool,
}

impl Default for BroadPhasePicking {
    fn default() -> Self {
        Self {
            is_enabled: true,
            requires_pickable: false,
        }
    }
}

#[derive(Resource, Default)]
struct Pointers {
    pending: PendingBatches<Vec<(RayId, Ray3d)>>,
    /// Last known ray and hits of each pointer and camera. Hits are sorted by distance.
    known: HashMap<RayId, (Ray3d, Vec<(Entity, f32)>)>,
}

pub(crate) fn build(app: &mut App) {
    app.init_resource::<BroadPhasePicking>()
        .init_resource::<Pointers>()
        .add_systems(
            PreUpdate,
            update_hits
                .in_set(PickingSystems::Backend)
                .after(BroadPhaseSystems::SendEvents),
        );
}

type Seen = (
    Option<&'static Pickable>,
    Option<&'static InheritedVisibility>,
    Option<&'static ViewVisibility>,
    Has<VisibilityClass>,
    Option<&'static RenderLayers>,
);

fn update_hits(
    settings: Res<BroadPhasePicking>,
    ray_map: Option<Res<RayMap>>,
    mut broad_phase: ResMut<BroadPhase>,
    mut pointers: ResMut<Pointers>,
    cameras: Query<(&Camera, Option<&RenderLayers>)>,
    entities: Query<Seen>,
    messages: Option<ResMut<Messages<PointerHits>>>,
) {
    let broad_phase = broad_phase.bypass_change_detection();
    broad_phase.batch.rays.clear();
    let (Some(ray_map), Some(mut messages), true) = (ray_map, messages, settings.is_enabled) else {
        pointers.known.clear();
        pointers.pending = PendingBatches::default();
        return;
    };
    let pointers = &mut *pointers;
    for answer in &broad_phase.answers {
        if let Some(rays) = pointers.pending.take(answer.number) {
            let of_rays = rays.into_iter().zip(&answer.of_rays);
            pointers.known = of_rays.map(|((id, ray), hits)| (id, (ray, hits.clone()))).collect();
        }
    }
    // Drops hits of pointers that left the viewport.
    pointers.known.retain(|id, _| ray_map.map.contains_key(id));
    for (id, (ray, hits)) in &pointers.known {
        let Ok((camera, camera_layers)) = cameras.get(id.camera) else {
            continue;
        };
        let camera_layers = camera_layers.cloned().unwrap_or_default();
        let mut picks = Vec::new();
        for &(entity, distance) in hits {
            let Ok((pickable, inherited, in_view, is_drawn, layers)) = entities.get(entity) else {
                continue;
            };
            let is_visible = inherited.is_none_or(|visible| visible.get())
                && (!is_drawn || in_view.is_none_or(|visible| visible.get()));
            let meets = match layers {
                Some(layers) => camera_layers.intersects(layers),
                None => camera_layers.intersects(&RenderLayers::default()),
            };
            let is_wanted = match pickable {
                Some(pickable) => pickable.is_hoverable,
                None => !settings.requires_pickable,
            };
            if !(is_visible && meets && is_wanted) {
                continue;
            }
            let position = ray.get_point(distance);
            picks.push((entity, HitData::new(id.camera, distance, Some(position), None)));
            if pickable.is_some_and(|pickable| pickable.should_block_lower) {
                break;
            }
        }
        if !picks.is_empty() {
            messages.write(PointerHits::new(id.pointer, picks, camera.order as f32));
        }
    }
    let rays: Vec<_> = ray_map.iter().map(|(&id, &ray)| (id, ray)).collect();
    let cast = |&(_, ray): &(RayId, Ray3d)| Ray::new(ray.origin.to_array(), ray.direction.to_array(), f32::INFINITY);
    if !rays.is_empty() {
        broad_phase.batch.rays.extend(rays.iter().map(cast));
        pointers.pending.push(broad_phase.batch.number, rays);
    }
}
