//! What a step found, on the device: buffers that the caller's next pass binds.

/// The pairs of a step on the device.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PairOutput {
    /// [`Pair`](crate::Pair), two `u32` each, `a < b`. The first `min(needed - first, capacity)` are valid, where
    /// `needed` is [`Counters::pairs_needed`](crate::Counters::pairs_needed).
    pub buffer: wgpu::Buffer,
    /// Pairs that fit.
    pub capacity: u32,
    /// The place of the first pair among all pairs: 0 but for a [`page`](crate::GpuBroadPhase::page).
    pub first: u32,
    /// Several worlds: the number of pairs of each, `u32`, modulo 2^32.
    pub per_world: Option<wgpu::Buffer>,
}

/// A list for each ray or query, all lists in one buffer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Lists {
    /// The rows of all lists, one list behind the other. The first `min(needed - first, capacity)` are valid, where
    /// `needed` is the last offset.
    pub buffer: wgpu::Buffer,
    /// `u32`, one more than lists: list `i` has the rows `offsets[i]..offsets[i + 1]`, counted from the first row of
    /// all.
    pub offsets: wgpu::Buffer,
    /// Rows that fit.
    pub capacity: u32,
    /// The place of the first row that the buffer holds: 0 but for a [`page`](crate::GpuBroadPhase::page).
    pub first: u32,
}

/// What a step found for rays, on the device. There for a list of no rays, too; nothing is there without a list
/// ([`Rays::None`](crate::Rays::None)).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RayOutput {
    /// [`RayMode::Closest`](crate::RayMode::Closest): [`RayHit`](crate::RayHit), one per ray.
    pub closest: Option<wgpu::Buffer>,
    /// [`RayMode::Any`](crate::RayMode::Any): 1 for each ray that meets anything, else 0, `u32`.
    pub any: Option<wgpu::Buffer>,
    /// [`RayMode::All`](crate::RayMode::All): [`RayHit`](crate::RayHit), a list per ray.
    pub hits: Option<Lists>,
    /// [`ray_cells`](crate::OutputOptions::ray_cells): [`RayCell`](crate::RayCell), a list per ray.
    pub cells: Option<Lists>,
}

/// What a step found for queries, on the device. There for a list of no queries, too; nothing is there without a list
/// ([`Queries::None`](crate::Queries::None)).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct QueryOutput {
    /// [`QueryMode::All`](crate::QueryMode::All): objects, `u32`, a list per query.
    pub objects: Option<Lists>,
    /// [`QueryMode::Nearest`](crate::QueryMode::Nearest): [`NearestObject`](crate::NearestObject), as many per query as
    /// are wanted.
    pub nearest: Option<wgpu::Buffer>,
}
