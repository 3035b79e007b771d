use super::wgsl::number;

/// Layout of elements in the caller's buffer: `SourceLayout` in `shaders/common/source.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct SourceLayout {
    /// First word of the first element in the bound range.
    pub first: u32,
    /// Words from one element to the next.
    pub stride: u32,
    /// For boxes: words from lower to upper corner, or from center to half extents.
    pub second: u32,
    /// [`UNFILTERED`] and [`CENTER_HALF`] for boxes; 0 copies words unchanged.
    pub flags: u32,
}

impl SourceLayout {
    /// Packed words.
    pub const WORDS: Self = Self {
        first: 0,
        stride: 1,
        second: 0,
        flags: 0,
    };
}

/// Flag of boxes without filter words.
pub const UNFILTERED: u32 = number("common/source", "UNFILTERED");
/// Flag of boxes with center and half extents.
pub const CENTER_HALF: u32 = number("common/source", "CENTER_HALF");
