use crate::api::types::SweptRay;
use crate::layout::blocks::RayBlocks;
use crate::layout::grid::{Grid, MAX_LEVELS, cell_of, flush, whole_cell_inverse};
use crate::shared::wgsl::number;

pub(crate) const AXIS_BITS: u32 = number("rays/ray_keys", "RAY_KEY_AXIS_BITS");
pub const RAY_KEY_BITS: u32 = 3 * AXIS_BITS;

fn spread(bits: u32) -> u32 {
    let wide = (bits | bits << 8) & 0xf00f;
    let wide = (wide | wide << 4) & 0x000c_30c3;
    (wide | wide << 2) & 0x0024_9249
}

/// Returns the sort key of each ray, and its index as the value.
pub fn ray_keys(params: &RayBlocks, grid: &Grid, rays: &[SweptRay]) -> (Vec<u32>, Vec<u32>) {
    let level = &grid.levels[grid.fullest_level.min(MAX_LEVELS - 1) as usize];
    let lower = [level.lower_x >> params.x_detail(), level.lower_y, level.lower_z];
    let upper = [level.upper_x >> params.x_detail(), level.upper_y, level.upper_z];
    let sizes: [u32; 3] = std::array::from_fn(|axis| upper[axis].wrapping_sub(lower[axis]) as u32);
    let size_bits = u32::BITS - sizes.into_iter().fold(0, u32::max).leading_zeros();
    let shift = size_bits.max(AXIS_BITS) - AXIS_BITS;
    let inverse = whole_cell_inverse(level.inverse, grid.stretch);
    let key = |origin: [f32; 3]| {
        let origin = origin.map(|component| if component.is_finite() { flush(component) } else { 0.0 });
        let cell = cell_of(params.scheme, origin, inverse);
        let place = |axis: usize| {
            let within = cell[axis].clamp(lower[axis], upper[axis]);
            spread(within.wrapping_sub(lower[axis]) as u32 >> shift) << axis
        };
        place(0) | place(1) | place(2)
    };
    let rays = rays.iter().take(params.rays.count as usize).enumerate();
    rays.map(|(index, ray)| (key(ray.ray.origin), index as u32)).unzip()
}
