//! Views as the passes of culling read them: the twin of `shaders/cull/view.wgsl`.

use crate::shared::wgsl::number;

/// Views that a call may have.
pub const MOST_VIEWS: usize = number("cull/view", "MOST_VIEWS") as usize;
/// The number of planes of a view that sees nothing.
pub const NO_VIEW: u32 = number("cull/view", "NO_VIEW");

/// Words of the counters of culling.
pub mod word {
    use crate::shared::wgsl::number;

    /// Views that are invalid.
    pub const INVALID: usize = number("cull/view", "CULL_INVALID") as usize;
    /// Rows that all lists need together; two words, low first.
    pub const NEEDED: usize = number("cull/view", "CULL_NEEDED") as usize;
    /// Objects that the first view sees; a word per view.
    pub const SEEN: usize = number("cull/view", "CULL_SEEN") as usize;
    /// Words of the buffer.
    pub const COUNT: usize = SEEN + super::MOST_VIEWS;
}
