//! The plugin's system sets.

use bevy::ecs::schedule::SystemSet;

/// The system sets of the plugin.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BroadPhaseSystems {
    /// In `PreUpdate`: what has arrived is told. Messages are written, observers run, and [`Overlaps`](crate::Overlaps)
    /// and [`BroadPhaseQueryResults`](crate::BroadPhaseQueryResults) are brought up to date.
    Tell,
    /// In `PostUpdate`, after transforms and bounds: what changed of entities is taken over, and queries are asked.
    Collect,
    /// In `PostUpdate`, after [`Collect`](Self::Collect): the step, where no renderer runs it in its
    /// `ExtractSchedule`.
    Step,
}
