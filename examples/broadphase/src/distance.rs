use exact_neighbors::distance;
use gpu_broad_phase::Aabb;

pub fn between_boxes(a: &Aabb, b: &Aabb) -> f64 {
    distance(std::array::from_fn(|axis| {
        let [a_min, a_max, b_min, b_max] = [a.min[axis], a.max[axis], b.min[axis], b.max[axis]].map(f64::from);
        (a_min - b_max).max(b_min - a_max).max(0.0)
    }))
}

/// Distance from `from` to the nearest periodic image of `to`, and the periods to add to `to` for that image. An axis
/// with period 0 has no images.
pub fn to_nearest_image(from: &[f64; 3], to: &[f64; 3], periods: [f64; 3]) -> (f64, [f64; 3]) {
    let difference: [f64; 3] = std::array::from_fn(|axis| to[axis] - from[axis]);
    let shifts: [f64; 3] = std::array::from_fn(|axis| {
        if periods[axis] > 0.0 {
            // `0.0 - x` never gives −0, unlike `-x`.
            0.0 - (difference[axis] / periods[axis]).round()
        } else {
            0.0
        }
    });
    let image = std::array::from_fn(|axis| difference[axis] + shifts[axis] * periods[axis]);
    (distance(image), shifts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_that_meet_have_no_distance() {
        let unit = Aabb::new([0.0; 3], [1.0; 3]);
        assert_eq!(between_boxes(&unit, &Aabb::new([1.0; 3], [2.0; 3])), 0.0);
        assert_eq!(between_boxes(&unit, &Aabb::point([4.0, 5.0, 0.5])), 5.0);
    }

    #[test]
    fn images_are_those_that_are_near() {
        let (a, b) = ([0.5, 0.5, 3.0], [9.5, 0.5, 3.0]);
        assert_eq!(to_nearest_image(&a, &b, [10.0, 0.0, 4.0]), (1.0, [-1.0, 0.0, 0.0]));
        assert_eq!(to_nearest_image(&b, &a, [10.0, 0.0, 4.0]), (1.0, [1.0, 0.0, 0.0]));
        assert_eq!(to_nearest_image(&a, &b, [0.0; 3]), (9.0, [0.0; 3]));
        let far = [-30.5, 0.5, 3.0];
        assert_eq!(to_nearest_image(&a, &far, [10.0, 0.0, 0.0]), (1.0, [3.0, 0.0, 0.0]));
        for scale in [1e-200, 1e200] {
            let (distance, _) = to_nearest_image(&[3.0 * scale, 0.0, 4.0 * scale], &[0.0; 3], [0.0; 3]);
            assert!((distance / scale - 5.0).abs() < 1e-14, "{distance}");
        }
    }
}
