use super::lines::{box_lines, draw_args};
use crate::api::types::{Aabb, LineVertex};
use crate::layout::blocks::{BOX_VERTICES, DrawParams};
use crate::layout::grid::{Class, classify, flush};

/// Returns the lines, and the words of their indirect draw.
pub fn draw_boxes(params: &DrawParams, objects: &[Aabb]) -> (Vec<LineVertex>, [u32; 5]) {
    let args = draw_args(params, params.rows, BOX_VERTICES);
    let lines = objects[..params.rows as usize].iter().flat_map(|object| {
        let [low, high] = match classify(object) {
            Class::Finite => [object.min, object.max].map(|corner| corner.map(flush)),
            _ => [[0.0; 3]; 2],
        };
        box_lines(low, high, params.color)
    });
    (lines.take(args[0] as usize).collect(), args)
}
