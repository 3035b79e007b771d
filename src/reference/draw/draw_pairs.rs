use super::lines::draw_args;
use crate::api::counters::word;
use crate::api::types::{Aabb, LineVertex, Pair};
use crate::layout::blocks::{DrawParams, rows_shown, wide};
use crate::layout::grid::{Class, classify, flush};

const PAIR_VERTICES: u32 = 2;

pub fn draw_pairs(
    params: &DrawParams,
    objects: &[Aabb],
    pairs: &[Pair],
    step_counters: &[u32],
) -> (Vec<LineVertex>, [u32; 5]) {
    let needed = wide(step_counters, word::PAIRS_NEEDED);
    let rows = rows_shown(needed, params.first, params.rows);
    let args = draw_args(params, rows, PAIR_VERTICES);
    let middle = |object: &Aabb| -> [f32; 3] {
        std::array::from_fn(|axis| 0.5 * flush(object.min[axis]) + 0.5 * flush(object.max[axis]))
    };
    let lines = pairs[..rows as usize].iter().flat_map(|pair| {
        let ends = [pair.a, pair.b].map(|object| &objects[object as usize]);
        let is_drawn = ends.iter().all(|object| classify(object) == Class::Finite);
        ends.map(|object| LineVertex {
            position: if is_drawn { middle(object) } else { [0.0; 3] },
            color: params.color,
        })
    });
    (lines.take(args[0] as usize).collect(), args)
}
