use std::f32::consts::FRAC_PI_2;

use glam::camera::rh::{proj::directx::perspective, view::look_at_mat4};
use glam::{Mat4, Vec2, Vec3, Vec4};

/// Sizes and positions are in pixels from the upper left corner.
#[derive(Clone, Copy, Debug)]
pub enum Camera {
    Flat(Flat),
    Orbit(Orbit),
}

/// Views the x-y plane, with y up.
#[derive(Clone, Copy, Debug)]
pub struct Flat {
    pub center: Vec2,
    /// World units per pixel.
    pub pixel: f32,
}

/// A camera on a sphere around the origin. Up is +y.
#[derive(Clone, Copy, Debug)]
pub struct Orbit {
    pub distance: f32,
    /// Angle around +y in radians. At 0, it looks from +z.
    pub yaw: f32,
    /// Angle above the horizon in radians.
    pub pitch: f32,
    /// Vertical, in radians.
    pub field_of_view: f32,
    /// Offset of the origin, in half views.
    pub shift: Vec2,
}

/// Flips y, because pixels count downwards.
const UP: Vec2 = Vec2::new(1.0, -1.0);

impl Flat {
    pub fn position(&self, size: Vec2, pixel: Vec2) -> Vec2 {
        self.center + (pixel - 0.5 * size) * UP * self.pixel
    }

    pub fn drag(&mut self, by: Vec2) {
        self.center -= by * UP * self.pixel;
    }

    /// Zooms about `pixel`.
    pub fn zoom(&mut self, size: Vec2, pixel: Vec2, factor: f32) {
        let before = self.position(size, pixel);
        self.pixel /= factor;
        self.center += before - self.position(size, pixel);
    }

    fn view_projection(&self, size: Vec2) -> Mat4 {
        let scale = 2.0 / (size * self.pixel);
        // Depth is half way between the planes.
        Mat4::from_cols(
            Vec4::new(scale.x, 0.0, 0.0, 0.0),
            Vec4::new(0.0, scale.y, 0.0, 0.0),
            Vec4::ZERO,
            (-self.center * scale).extend(0.5).extend(1.0),
        )
    }
}

impl Orbit {
    pub fn drag(&mut self, by: Vec2) {
        let turn = by * 0.006;
        self.yaw -= turn.x;
        self.pitch = (self.pitch + turn.y).clamp(-0.99 * FRAC_PI_2, 0.99 * FRAC_PI_2);
    }

    pub fn eye(&self) -> Vec3 {
        let (up, out) = self.pitch.sin_cos();
        let (x, z) = self.yaw.sin_cos();
        self.distance * Vec3::new(out * x, up, out * z)
    }

    fn view_projection(&self, size: Vec2) -> Mat4 {
        let [near, far] = [0.01, 20.0].map(|part| part * self.distance);
        let projection = perspective(self.field_of_view, size.x / size.y, near, far);
        Mat4::from_translation(self.shift.extend(0.0)) * projection * look_at_mat4(self.eye(), Vec3::ZERO, Vec3::Y)
    }

    /// Eye and unit direction.
    pub fn ray(&self, size: Vec2, pixel: Vec2) -> (Vec3, Vec3) {
        let place = (pixel / size * 2.0 - 1.0) * UP;
        let far = self.view_projection(size).inverse() * Vec4::new(place.x, place.y, 1.0, 1.0);
        let eye = self.eye();
        (eye, (far.truncate() / far.w - eye).normalize())
    }
}

impl Camera {
    pub fn view_projection(&self, size: Vec2) -> Mat4 {
        match self {
            Self::Flat(flat) => flat.view_projection(size),
            Self::Orbit(orbit) => orbit.view_projection(size),
        }
    }

    /// World units per pixel, at distance 1 in 3D.
    pub fn pixel(&self, size: Vec2) -> f32 {
        match self {
            Self::Flat(flat) => flat.pixel,
            Self::Orbit(orbit) => 2.0 * (0.5 * orbit.field_of_view).tan() / size.y,
        }
    }

    pub fn eye(&self) -> Vec3 {
        match self {
            Self::Flat(flat) => flat.center.extend(1.0),
            Self::Orbit(orbit) => orbit.eye(),
        }
    }

    pub fn drag(&mut self, by: Vec2) {
        match self {
            Self::Flat(flat) => flat.drag(by),
            Self::Orbit(orbit) => orbit.drag(by),
        }
    }

    pub fn zoom(&mut self, size: Vec2, pixel: Vec2, factor: f32) {
        match self {
            Self::Flat(flat) => flat.zoom(size, pixel, factor),
            Self::Orbit(orbit) => orbit.distance /= factor,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Vec2 = Vec2::new(640.0, 400.0);

    fn pixel_of(camera: Camera, point: Vec3) -> Vec2 {
        let place = camera.view_projection(SIZE).project_point3(point).truncate();
        (place * UP + 1.0) / 2.0 * SIZE
    }

    #[test]
    fn a_ray_meets_what_its_pixel_shows() {
        let orbit = Orbit {
            distance: 10.0,
            yaw: 0.7,
            pitch: 0.4,
            field_of_view: 0.8,
            shift: Vec2::new(-0.2, 0.1),
        };
        let point = Vec3::new(2.0, 1.5, 2.0);
        let (origin, direction) = orbit.ray(SIZE, pixel_of(Camera::Orbit(orbit), point));
        let along = (point - origin).dot(direction);
        assert!((origin + along * direction).distance(point) < 1e-3);
    }

    #[test]
    fn what_is_under_the_pointer_stays_there() {
        let mut flat = Flat {
            center: Vec2::new(3.0, -4.0),
            pixel: 0.25,
        };
        let pixel = Vec2::new(100.0, 350.0);
        let position = flat.position(SIZE, pixel);
        assert!(pixel_of(Camera::Flat(flat), position.extend(0.0)).distance(pixel) < 1e-2);
        flat.zoom(SIZE, pixel, 3.0);
        assert!(flat.position(SIZE, pixel).distance(position) < 1e-4);
        let by = Vec2::new(-7.0, 30.0);
        flat.drag(by);
        assert!(flat.position(SIZE, pixel + by).distance(position) < 1e-4);
    }
}
