//! Affine maps: three axes, then the origin.

use anyhow::{Result, bail};

use super::document::Node;

pub type Transform = [[f64; 3]; 4];

pub const IDENTITY: Transform = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0; 3]];

/// `None` if the node leaves its children where they are.
pub fn transform(node: &Node) -> Result<Option<Transform>> {
    if let Some(matrix) = &node.matrix {
        if [matrix[3], matrix[7], matrix[11], matrix[15]] != [0.0, 0.0, 0.0, 1.0] {
            bail!("unsupported matrix: not affine");
        }
        return Ok(Some(std::array::from_fn(|column| {
            std::array::from_fn(|axis| matrix[4 * column + axis])
        })));
    }
    if node.translation.is_none() && node.rotation.is_none() && node.scale.is_none() {
        return Ok(None);
    }
    let origin = node.translation.as_deref().copied().unwrap_or([0.0; 3]);
    let [x, y, z, w] = node.rotation.as_deref().copied().unwrap_or([0.0, 0.0, 0.0, 1.0]);
    let scale = node.scale.as_deref().copied().unwrap_or([1.0; 3]);
    let axes = [
        [
            1.0 - 2.0 * (y * y + z * z),
            2.0 * (x * y + z * w),
            2.0 * (x * z - y * w),
        ],
        [
            2.0 * (x * y - z * w),
            1.0 - 2.0 * (x * x + z * z),
            2.0 * (y * z + x * w),
        ],
        [
            2.0 * (x * z + y * w),
            2.0 * (y * z - x * w),
            1.0 - 2.0 * (x * x + y * y),
        ],
    ];
    let [a, b, c]: [[f64; 3]; 3] = std::array::from_fn(|column| axes[column].map(|value| value * scale[column]));
    Ok(Some([a, b, c, origin]))
}

pub fn apply(transform: &Transform, [x, y, z]: [f64; 3]) -> [f64; 3] {
    let [a, b, c, origin] = transform;
    std::array::from_fn(|axis| a[axis] * x + b[axis] * y + c[axis] * z + origin[axis])
}

pub fn compose(outer: Transform, inner: Transform) -> Transform {
    let turned = [outer[0], outer[1], outer[2], [0.0; 3]];
    let [a, b, c, origin] = inner;
    [
        apply(&turned, a),
        apply(&turned, b),
        apply(&turned, c),
        apply(&outer, origin),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_scale_then_turn_then_move() {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let json =
            format!(r#"{{"translation":[10,0,0],"rotation":[0,0,{half},{half}],"scale":[2,3,1],"children":[]}}"#);
        let node: Node = serde_json::from_str(&json).unwrap();
        let outer = transform(&node).unwrap().unwrap();
        let near = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(apply(&outer, [1.0, 1.0, 1.0]), [7.0, 2.0, 1.0]));
        let moved = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]];
        assert!(near(apply(&compose(outer, moved), [0.0, 1.0, 1.0]), [7.0, 2.0, 1.0]));
    }
}
