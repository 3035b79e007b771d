//! Warnings about rows that a step ignores, with the reason for the first such row.

use gpu_broad_phase::Ray;

const AXES: [char; 3] = ['x', 'y', 'z'];

/// `[min, max]` in the coordinates of the file.
pub fn of_box(&[min, max]: &[[f64; 3]; 2]) -> Option<String> {
    (0..3).find_map(|axis| {
        let (min, max, name) = (min[axis], max[axis], AXES[axis]);
        match min.partial_cmp(&max) {
            None => Some(format!("{name} from {min} to {max}")),
            Some(std::cmp::Ordering::Greater) => Some(format!("its min {name} {min} is above its max {max}")),
            _ => None,
        }
    })
}

pub fn of_point(point: &[f64; 3]) -> Option<String> {
    let axis = point.iter().position(|value| !value.is_finite())?;
    Some(format!("its {} is {}", AXES[axis], point[axis]))
}

pub fn of_ray(ray: &Ray) -> Option<String> {
    const STEEPEST: f32 = (1_u128 << 126) as f32;
    let part = |what: &str, values: [f32; 3], is_good: fn(f32) -> bool| {
        let axis = values.iter().position(|&value| !is_good(value))?;
        Some(format!("{what} {} is {}", AXES[axis], values[axis]))
    };
    part("its origin", ray.origin, f32::is_finite)
        .or_else(|| part("its direction", ray.direction, |value| value.abs() <= STEEPEST))
        .or_else(|| ray.t_max.is_nan().then(|| "its t_max is NaN".to_owned()))
}

pub fn warning<T>(
    what: &str,
    rows: impl Iterator<Item = T> + Clone,
    why: impl Fn(&T) -> Option<String>,
    name: impl Fn(usize) -> String,
) -> Option<String> {
    let mut numbered = rows.clone().enumerate();
    let (first, reason) = numbered.find_map(|(row, of)| Some((row, why(&of)?)))?;
    let count = 1 + numbered.filter(|(_, row)| why(row).is_some()).count();
    Some(format!(
        "ignored {count} of {} {what} as invalid, the first in {}: {reason}",
        rows.count(),
        name(first)
    ))
}
