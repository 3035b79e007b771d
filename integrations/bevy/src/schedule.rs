use bevy::ecs::schedule::SystemSet;

/// The plugin's system sets.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BroadPhaseSystems {
    /// In `PreUpdate`: sends messages, runs observers, and updates [`Overlaps`](crate::Overlaps) and
    /// [`BroadPhaseQueryResults`](crate::BroadPhaseQueryResults).
    SendEvents,
    /// In `PostUpdate`, after transforms and bounds are updated: collects changed entities and queries.
    Collect,
    /// In `PostUpdate`, after [`Collect`](Self::Collect): runs the step, unless a renderer runs it in
    /// `ExtractSchedule`.
    Step,
}
