pub mod event;
pub mod event_begun;
pub mod event_emit;
pub mod event_end;
pub mod event_insert;
pub mod event_match;
