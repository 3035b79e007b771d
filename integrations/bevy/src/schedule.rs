//! When the plugin does what.

use bevy::ecs::schedule::SystemSet;

/// When the plugin does what.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BroadPhaseSystems {
    /// In `PreUpdate`: what has arrived is told. Messages are written, observers run, and
    /// [`Overlaps`](crate::Overlaps) is brought up to date.
    Tell,
    /// In `PostUpdate`, after transforms and bounds: what changed of entities is taken over.
    Collect,
    /// In `PostUpdate`, after [`Collect`](Self::Collect): the step, where no renderer runs it in its
    /// `ExtractSchedule`.
    Step,
}
