use bevy::app::App;
use bevy::ecs::change_detection::DetectChanges;
use bevy::ecs::resource::Resource;
use bevy::ecs::world::{Mut, World};
use bevy::render::renderer::{RenderDevice, RenderQueue};
use bevy::render::{ExtractSchedule, MainWorld, RenderApp};
use gpu_broad_phase::{BroadPhaseDescriptor, StepOutput, wgpu};

use crate::gpu::Gpu;
use crate::objects::ObjectEntities;
use crate::state::BroadPhase;

/// Buffers with the results of the last step: a render-world resource for your passes.
///
/// It exists after the first step, except while steps run on the CPU. Passes of the render graph see exactly the step
/// of the frame they draw. Buffers may be replaced in any frame; bind groups must then be rebuilt.
#[derive(Resource, Clone)]
#[non_exhaustive]
pub struct BroadPhaseOutput {
    /// Pairs, counters and tables.
    pub step: StepOutput,
    /// Boxes of moving objects, 32 bytes each. Box `i`, a `gpu_broad_phase::Aabb`, is that of object index
    /// `static_count + i`. Free slots have `gpu_broad_phase::Aabb::EXCLUDED` in the group word. The buffer may be
    /// longer.
    pub objects: wgpu::Buffer,
    /// Boxes of static objects, if any. Box `i` is that of object index `i`.
    pub statics: Option<wgpu::Buffer>,
    /// The entities of the objects.
    pub entities: ObjectEntities,
    /// Options of the steps, for `gpu_broad_phase::TableShader`.
    pub descriptor: BroadPhaseDescriptor<'static>,
}

/// Adds the step to the render app. Returns `false` without a renderer.
pub(crate) fn build(app: &mut App) -> bool {
    let Some(render_app) = app.get_sub_app_mut(RenderApp) else {
        return false;
    };
    render_app.add_systems(ExtractSchedule, step);
    true
}

/// Runs a step between two frames. The previous frame is fully recorded, and all passes of the next one see this step.
/// Inserts the output directly, because `Commands` of this schedule wait for the next drawn frame, which never comes if
/// the renderer has stopped.
pub(crate) fn step(world: &mut World) {
    world.resource_scope(|world, mut main: Mut<MainWorld>| {
        main.resource_scope(|_, mut broad_phase: Mut<BroadPhase>| {
            // Checks for a change, because devices of two instances may compare equal.
            if let Some(device) = world.get_resource_ref::<RenderDevice>()
                && device.is_changed()
                && let Some(queue) = world.get_resource::<RenderQueue>()
            {
                broad_phase.open(device.wgpu_device(), queue);
            }
            broad_phase.step();
            let written = broad_phase.engine.gpu().and_then(Gpu::written);
            if let Some(written) = written.cloned() {
                world.insert_resource(BroadPhaseOutput {
                    step: written.step,
                    objects: written.objects,
                    statics: written.statics,
                    entities: written.entities,
                    descriptor: broad_phase.descriptor,
                });
            } else {
                world.remove_resource::<BroadPhaseOutput>();
            }
        });
    });
}
