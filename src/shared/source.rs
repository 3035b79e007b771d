//! Layout of elements in the caller's buffers.

use super::wgsl::number;

/// Layout of elements in the caller's buffer: `SourceLayout` in `shaders/common/source.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct SourceLayout {
    /// First word, within the bound range.
    pub first: u32,
    /// Words between elements.
    pub stride: u32,
    /// Boxes: words from lower to upper corner, or from center to half extents.
    pub second: u32,
    /// Flags [`UNFILTERED`] and [`CENTER_HALF`]; 0 for plain words.
    pub flags: u32,
}

/// Boxes without filter words.
pub const UNFILTERED: u32 = number("common/source", "UNFILTERED");
/// Boxes with center and half extents.
pub const CENTER_HALF: u32 = number("common/source", "CENTER_HALF");
