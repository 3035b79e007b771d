use glam::{Mat4, Vec3};

/// Layout as in `common.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Params {
    pub view_projection: Mat4,
    pub eye: Vec3,
    pub time_step: f32,
    pub reach: Vec3,
    pub time: f32,
    pub ray_origin: Vec3,
    pub ray_length: f32,
    pub ray_direction: Vec3,
    pub pixel: f32,
    pub stretch: Vec3,
    pub count: u32,
    pub dimensions: u32,
    pub hit_capacity: u32,
    pub has_colors: u32,
    pub shows_ray: u32,
}

/// Layout as in `common.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Found {
    pub hits: u32,
    pub closest: u32,
    pub t: f32,
    pub reserved: u32,
}

macro_rules! shader {
    ($($file:literal),+) => {
        concat!(include_str!("../../gallery/src/solid.wgsl"), include_str!("common.wgsl"), $(include_str!($file)),+)
    };
}
pub(crate) use shader;
