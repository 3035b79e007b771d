//! Steps on the renderer's device, and their outputs in its world.

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

/// The last step's outputs on the device: a resource of the render world, for passes of yours.
///
/// It is there from the first step on, and absent while the CPU runs the steps. Passes of the render graph see exactly
/// the step of the frame that they draw. Buffers may be others in each frame: make bind groups anew, or where they
/// differ.
#[derive(Resource, Clone)]
#[non_exhaustive]
pub struct BroadPhaseOutput {
    /// Pairs, counters and tables.
    pub step: StepOutput,
    /// The boxes that move, a `gpu_broad_phase::Aabb` of 32 bytes each: object `statics + i` is box `i`. Free places
    /// hold boxes with `gpu_broad_phase::Aabb::EXCLUDED` in the owner word. The buffer may be longer than that.
    pub objects: wgpu::Buffer,
    /// The static boxes, where there are any: object `i` is box `i`.
    pub statics: Option<wgpu::Buffer>,
    /// Which entities the objects are.
    pub entities: ObjectEntities,
    /// What the steps are made from: what a `gpu_broad_phase::TableShader` needs to know.
    pub descriptor: BroadPhaseDescriptor<'static>,
}

/// Lets steps run along with the renderer, where there is one.
pub(crate) fn build(app: &mut App) -> bool {
    let Some(render_app) = app.get_sub_app_mut(RenderApp) else {
        return false;
    };
    render_app.add_systems(ExtractSchedule, step);
    true
}

/// Runs in the pause between two frames, so that all of the frame to come sees this step, and nothing of the frame
/// before is still to be recorded. The output is put in place at once: commands of this schedule wait for the next
/// frame that is drawn, and a renderer that stopped draws none.
pub(crate) fn step(world: &mut World) {
    world.resource_scope(|world, mut main: Mut<MainWorld>| {
        main.resource_scope(|_, mut broad_phase: Mut<BroadPhase>| {
            // A device of another instance may compare equal to the one before, so that is not looked at.
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
