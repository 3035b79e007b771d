//! Where the elements of a caller's buffer lie: `shaders/common/source.wgsl`.

use super::wgsl::number;

/// Where the elements of a caller's buffer lie, and of which form they are: `SourceLayout` in
/// `shaders/common/source.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct SourceLayout {
    /// Word of the first element, in what is bound of the buffer.
    pub first: u32,
    /// Words from each to the next.
    pub stride: u32,
    /// Boxes: words from the lower corner to the upper one, or from the centre to the half extents.
    pub second: u32,
    /// [`UNFILTERED`] and [`CENTER_HALF`]; 0 for words that are taken as they are.
    pub form: u32,
}

/// Boxes that have no filter words.
pub const UNFILTERED: u32 = number("common/source", "UNFILTERED");
/// Boxes that have a centre and half extents, not two corners.
pub const CENTER_HALF: u32 = number("common/source", "CENTER_HALF");
