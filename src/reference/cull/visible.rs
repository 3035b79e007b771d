//! Visible objects by definition: every object against every view.

use super::cull_objects::{layers_meet, sees};
use super::cull_views::cull_views;
use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::BroadPhaseError;
use crate::api::frustum::{Frustum, Visible, check_views};
use crate::api::scene::Scene;
use crate::layout::counters::cull_word as word;
use crate::layout::grid::{Class, classify};
use crate::reference::host::HostScene;
use crate::reference::params::prepared;

/// Returns the objects of a scene that each view sees, as [`Culling`](crate::Culling) finds them after a step.
///
/// # Errors
///
/// - The descriptor is invalid, there are more objects than indices can name, or worlds are missing.
/// - [`InputError::TooMany`](crate::InputError::TooMany): more than 32 views.
pub fn cull(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene<'_>,
    views: &[Frustum],
) -> Result<Visible, BroadPhaseError> {
    check_views(views.len() as u64)?;
    let scene = HostScene::of(scene)?;
    let ([params, _], objects) = prepared(descriptor, &scene)?;
    let mut counters = vec![0; word::COUNT];
    let views = cull_views(&params, views, &mut counters);
    let (_, worlds) = scene.all_objects();
    let world_of = |object: u32| {
        if params.world_count > 1 {
            worlds[object as usize]
        } else {
            0
        }
    };
    let is_in_table = |class| matches!(class, Class::Finite | Class::Infinite);
    let seen_by = |view: &Frustum| {
        let seen = (0..).zip(&objects).filter(|&(index, object)| {
            is_in_table(classify(object))
                && sees(view, object.min, object.max, world_of(index))
                && (!descriptor.filters || layers_meet(view.layers, object.layers))
        });
        seen.map(|(index, _)| index).collect()
    };
    Ok(Visible {
        objects: views.iter().map(seen_by).collect(),
        invalid: counters[word::INVALID],
    })
}
