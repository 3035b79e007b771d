use std::f32::consts::FRAC_PI_2;

use glam::camera::rh::{proj::directx::perspective, view::look_at_mat4};
use glam::{Mat4, UVec2, Vec2, Vec3, Vec4};

use crate::Input;

/// A camera on a sphere around a point. Up is +y.
#[derive(Clone, Copy, Debug)]
pub struct Orbit {
    pub center: Vec3,
    pub distance: f32,
    /// Angle around +y in radians. At 0, it looks from +z.
    pub yaw: f32,
    /// Angle above the horizon in radians.
    pub pitch: f32,
    /// Vertical, in radians.
    pub field_of_view: f32,
}

impl Orbit {
    pub fn update(&mut self, input: &Input) {
        let turn = input.drag * 0.008;
        self.yaw -= turn.x;
        self.pitch = (self.pitch + turn.y).clamp(-0.99 * FRAC_PI_2, 0.99 * FRAC_PI_2);
        self.distance *= 0.9f32.powf(input.scroll);
    }

    pub fn eye(&self) -> Vec3 {
        let (up, out) = self.pitch.sin_cos();
        let (x, z) = self.yaw.sin_cos();
        self.center + self.distance * Vec3::new(out * x, up, out * z)
    }

    pub fn view_projection(&self, size: UVec2) -> Mat4 {
        let aspect = size.x as f32 / size.y as f32;
        let [near, far] = [0.01, 100.0].map(|part| part * self.distance);
        let projection = perspective(self.field_of_view, aspect, near, far);
        projection * look_at_mat4(self.eye(), self.center, Vec3::Y)
    }

    /// Eye and unit direction.
    pub fn ray(&self, size: UVec2, pixel: Vec2) -> (Vec3, Vec3) {
        let place = (pixel / size.as_vec2() * 2.0 - 1.0) * Vec2::new(1.0, -1.0);
        let far = self.view_projection(size).inverse() * Vec4::new(place.x, place.y, 1.0, 1.0);
        let eye = self.eye();
        (eye, (far.truncate() / far.w - eye).normalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ray_meets_what_its_pixel_shows() {
        let camera = Orbit {
            center: Vec3::new(1.0, 2.0, 3.0),
            distance: 10.0,
            yaw: 0.7,
            pitch: 0.4,
            field_of_view: 0.8,
        };
        let size = UVec2::new(640, 400);
        let point = Vec3::new(2.0, 1.5, 2.0);
        let place = camera.view_projection(size).project_point3(point).truncate();
        let pixel = (place * Vec2::new(1.0, -1.0) + 1.0) / 2.0 * size.as_vec2();
        let (origin, direction) = camera.ray(size, pixel);
        let along = (point - origin).dot(direction);
        assert!((origin + along * direction).distance(point) < 1e-3);
    }
}
