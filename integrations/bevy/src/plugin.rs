use bevy::app::{App, Plugin, PostUpdate, PreStartup, PreUpdate};
use bevy::camera::visibility::VisibilitySystems;
use bevy::ecs::schedule::IntoScheduleConfigs;
use bevy::transform::TransformSystems;
use gpu_broad_phase::Dimensions;

use crate::overlaps::{OverlapEnd, OverlapStart, Overlaps};
use crate::schedule::BroadPhaseSystems;
use crate::state::{self, BroadPhase, BroadPhaseDiagnostics, Runner};
use crate::{collect, engine, queries, tell};

/// Finds overlapping entities with a [`BroadPhaseObject`](crate::BroadPhaseObject), and runs queries and picking.
///
/// ```no_run
/// use bevy::prelude::*;
/// use bevy_gpu_broad_phase::{GpuBroadPhasePlugin, OverlapStart};
///
/// App::new()
///     .add_plugins((DefaultPlugins, GpuBroadPhasePlugin::default()))
///     .add_systems(Update, |mut starts: MessageReader<OverlapStart>| {
///         starts.read().for_each(|start| println!("{} meets {}", start.a, start.b));
///     })
///     .run();
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct GpuBroadPhasePlugin {
    /// True to run steps on the CPU even if there is a GPU.
    pub force_cpu: bool,
    /// Number of axes to compare. [`Dimensions::Two`] ignores z, for 2D games.
    pub dimensions: Dimensions,
    /// Distance by which every box grows on every side, so entities overlap up to twice this apart. Finite and not
    /// negative.
    pub margin: f32,
}

impl Plugin for GpuBroadPhasePlugin {
    fn build(&self, app: &mut App) {
        let descriptor = engine::descriptor(self.dimensions, self.margin);
        let runner = match self.force_cpu {
            true => Runner::Cpu,
            false => Runner::OwnDevice,
        };
        app.insert_resource(BroadPhase::new(descriptor, runner))
            .init_resource::<Overlaps>()
            .init_resource::<BroadPhaseDiagnostics>()
            .init_resource::<collect::Toggled>()
            .add_message::<OverlapStart>()
            .add_message::<OverlapEnd>()
            .configure_sets(
                PostUpdate,
                (BroadPhaseSystems::Collect, BroadPhaseSystems::Step)
                    .chain()
                    .after(TransformSystems::Propagate)
                    .after(VisibilitySystems::CalculateBounds),
            )
            .add_systems(
                PreUpdate,
                (tell::tell, state::update_diagnostics)
                    .chain()
                    .in_set(BroadPhaseSystems::SendEvents),
            )
            .add_systems(PreStartup, (collect::watch_disabling, state::open))
            .add_systems(
                PostUpdate,
                (
                    collect::collect.in_set(BroadPhaseSystems::Collect),
                    state::step.in_set(BroadPhaseSystems::Step),
                ),
            );
        queries::build(app);
        #[cfg(feature = "picking")]
        crate::picking::build(app);
        #[cfg(feature = "gizmos")]
        crate::gizmos::build(app);
    }

    #[cfg(feature = "render")]
    fn finish(&self, app: &mut App) {
        if !self.force_cpu && crate::render::build(app) {
            app.world_mut().resource_mut::<BroadPhase>().runner = Runner::Renderer;
            #[cfg(feature = "gizmos")]
            crate::gizmos::build_render(app);
        }
    }
}
