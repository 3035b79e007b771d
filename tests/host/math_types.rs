//! Vectors of math crates convert through `[f32; 3]`, so no crate needs a feature here.

use gpu_broad_phase::{Aabb, Query, Ray, RayHit};

#[test]
fn vectors_of_glam_go_in_and_come_out() {
    let (low, high) = (glam::Vec3::new(-1.0, 0.5, 2.0), glam::Vec3::splat(4.0));
    let bounds = Aabb::new(low.into(), high.into());
    assert_eq!(bounds, Aabb::new([-1.0, 0.5, 2.0], [4.0; 3]));
    let middle = glam::Vec3::from(bounds.min).midpoint(bounds.max.into());
    assert_eq!(middle, (low + high) / 2.0);

    let ray = Ray::new(low.into(), glam::Vec3::X.into(), 9.0);
    let hit = RayHit { object: 0, t: 2.0 };
    let place = glam::Vec3::from(ray.origin) + hit.t * glam::Vec3::from(ray.direction);
    assert_eq!(place, low + 2.0 * glam::Vec3::X);
}

#[test]
fn vectors_of_mint_go_in_and_come_out() {
    let low = mint::Point3::from([1.0, 2.0, 3.0]);
    let high = mint::Point3::from([4.0, 5.0, 6.0]);
    let bounds = Aabb::new(low.into(), high.into());
    assert_eq!(bounds, Aabb::new([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]));
    assert_eq!(mint::Point3::from(bounds.max), high);
    let center = mint::Vector3::from(glam::Vec3::ONE);
    assert_eq!(Query::sphere(center.into(), 2.0).bounds, Aabb::point([1.0; 3]));
}
