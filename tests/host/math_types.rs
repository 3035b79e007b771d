//! Vectors of math crates convert through `[f32; 3]`, so no crate needs a feature here.

use gpu_broad_phase::{Aabb, Ray, RayHit};

#[test]
fn vectors_of_glam_and_mint_go_in_and_come_out() {
    let (low, high) = (glam::Vec3::new(-1.0, 0.5, 2.0), mint::Point3::from([4.0; 3]));
    let bounds = Aabb::new(low.into(), high.into());
    assert_eq!(bounds, Aabb::new([-1.0, 0.5, 2.0], [4.0; 3]));
    assert_eq!(glam::Vec3::from(bounds.min), low);
    assert_eq!(mint::Point3::from(bounds.max), high);

    let ray = Ray::new(low.into(), glam::Vec3::X.into(), 9.0);
    let hit = RayHit { object: 0, t: 2.0 };
    let place = glam::Vec3::from(ray.origin) + hit.t * glam::Vec3::from(ray.direction);
    assert_eq!(place, low + 2.0 * glam::Vec3::X);
}
