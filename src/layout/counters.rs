//! Counter words of events and culling.

use crate::api::frustum::MAX_VIEWS;
use crate::shared::wgsl::number;

/// Counter words of events.
pub mod event_word {
    use super::number;

    /// Number of pairs also in the previous step; 64 bits, low word first.
    pub const PERSISTING: usize = number("events/event", "EVENT_PERSISTING") as usize;
    /// Number of previous pairs also in this step; 64 bits, low word first.
    pub const MATCHED: usize = number("events/event", "EVENT_MATCHED") as usize;
    /// Number of begun pairs.
    pub const BEGUN: usize = number("events/event", "EVENT_BEGUN") as usize;
    /// Status bits of the step that report missing pairs.
    pub const STATUS: usize = number("events/event", "EVENT_STATUS") as usize;
    /// Number of ended pairs.
    pub const ENDED: usize = number("events/event", "EVENT_ENDED") as usize;
    /// Number of words in the buffer.
    pub const COUNT: usize = 8;
}

/// Counter words of culling.
pub mod cull_word {
    use super::number;

    /// Number of invalid views.
    pub const INVALID: usize = number("cull/view", "CULL_INVALID") as usize;
    /// Rows that all lists need together; two words, low first.
    pub const NEEDED: usize = number("cull/view", "CULL_NEEDED") as usize;
    /// Number of objects that the first view sees; one word per view.
    pub const SEEN: usize = number("cull/view", "CULL_SEEN") as usize;
    /// Number of words in the buffer.
    pub const COUNT: usize = SEEN + super::MAX_VIEWS as usize;
}
