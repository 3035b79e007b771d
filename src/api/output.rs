/// First row of each output on a page: see [`GpuBroadPhase::page`](crate::GpuBroadPhase::page).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Index of the page's first pair.
    pub pairs: u32,
    /// Index of the page's first hit ([`RayMode::All`](crate::RayMode::All)).
    pub hits: u32,
    /// Index of the page's first ray cell ([`ray_cells`](crate::OutputOptions::ray_cells)).
    pub ray_cells: u32,
    /// Index of the page's first query result ([`QueryMode::All`](crate::QueryMode::All)).
    pub results: u32,
}

/// Pairs of a step on the device.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PairOutput {
    /// [`Pair`](crate::Pair) rows: two `u32`, `a < b`.
    ///
    /// The first `min(needed - first, capacity)` rows are valid, where `needed` is
    /// [`Counters::pairs_needed`](crate::Counters::pairs_needed).
    pub buffer: wgpu::Buffer,
    /// Pairs that `buffer` can hold.
    pub capacity: u32,
    /// Index of the buffer's first row among all pairs. 0 except on a [`page`](crate::GpuBroadPhase::page).
    pub first: u32,
    /// Number of pairs of each world, then of two objects of [`ALL_WORLDS`](crate::ALL_WORLDS), `u32`, modulo 2^32.
    /// `None` with one world.
    pub per_world: Option<wgpu::Buffer>,
    /// Offsets of each world's rows in `buffer`, `u32`, two more than worlds: see
    /// [`StepResult::world_offsets`](crate::StepResult::world_offsets). `None` unless sorted, or with one world.
    pub world_offsets: Option<wgpu::Buffer>,
}

/// One list per ray or query, all in one buffer (CSR).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Lists {
    /// Rows of all lists, one list after the other. The first `min(needed - first, capacity)` rows are valid, where
    /// `needed` is the last offset.
    pub buffer: wgpu::Buffer,
    /// Offsets, `u32`: one per list, then the total number of rows. List `i` has the rows `offsets[i]..offsets[i + 1]`;
    /// row `r` is at index `r - first` of `buffer`.
    pub offsets: wgpu::Buffer,
    /// Rows that `buffer` can hold.
    pub capacity: u32,
    /// Index of the buffer's first row among the rows of all lists. 0 except on a [`page`](crate::GpuBroadPhase::page).
    pub first: u32,
}

/// Ray results of a step on the device.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RayOutput {
    /// [`RayMode::Closest`](crate::RayMode::Closest): [`RayHit`](crate::RayHit), one per ray.
    pub closest: Option<wgpu::Buffer>,
    /// [`RayMode::Any`](crate::RayMode::Any): one `u32` per ray, 1 if the ray hits anything, else 0.
    pub any: Option<wgpu::Buffer>,
    /// [`RayMode::All`](crate::RayMode::All): [`RayHit`](crate::RayHit), a list per ray.
    pub hits: Option<Lists>,
    /// [`ray_cells`](crate::OutputOptions::ray_cells): [`RayCell`](crate::RayCell), a list per ray.
    pub cells: Option<Lists>,
}

/// Query results of a step on the device.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct QueryOutput {
    /// [`QueryMode::All`](crate::QueryMode::All): objects, `u32`, a list per query.
    pub objects: Option<Lists>,
    /// [`QueryMode::Nearest`](crate::QueryMode::Nearest): [`NearestObject`](crate::NearestObject), `k` per query.
    pub nearest: Option<wgpu::Buffer>,
}
