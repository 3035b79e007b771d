//! Reference passes of `shaders/draw/lines.wgsl` and `shaders/draw/cell_lines.wgsl`.

use crate::api::types::LineVertex;
use crate::layout::blocks::{BOX_VERTICES, DrawParams};
use crate::layout::grid::{Level, Params, SCHEME_ADAPTIVE, whole_cell_inverse};

const LEVEL_COLORS: [u32; 8] = [
    0x50_50ff, 0x50_a0ff, 0x50_e6e6, 0x6e_e650, 0xd2_dc46, 0xff_a05a, 0xff_6ea0, 0xdc_6eff,
];

pub(crate) fn level_color(params: &DrawParams, level: u32) -> u32 {
    LEVEL_COLORS[level as usize & 7] | (params.color & 0xff00_0000)
}

pub(crate) fn box_lines(low: [f32; 3], high: [f32; 3], color: u32) -> impl Iterator<Item = LineVertex> {
    (0..BOX_VERTICES).map(move |vertex| {
        let (end, edge) = (vertex & 1, vertex >> 1 & 3);
        let sides = [edge & 1, edge >> 1];
        let corner = match vertex >> 3 {
            0 => [end, sides[0], sides[1]],
            1 => [sides[0], end, sides[1]],
            _ => [sides[0], sides[1], end],
        };
        LineVertex {
            position: std::array::from_fn(|axis| if corner[axis] == 1 { high[axis] } else { low[axis] }),
            color,
        }
    })
}

pub(crate) fn cell_lines(
    params: &Params,
    level: &Level,
    stretch: u32,
    cell: [i32; 3],
    color: u32,
) -> impl Iterator<Item = LineVertex> + use<> {
    let sides = whole_cell_inverse(level.inverse, stretch).map(|inverse| 1.0 / inverse);
    let (begin, size) = if params.scheme == SCHEME_ADAPTIVE {
        (cell.map(|cell| 2 * cell - 1), 2)
    } else {
        (cell, 1)
    };
    let [mut low, mut high] = [0, size].map(|more| [0, 1, 2].map(|axis| (begin[axis] + more) as f32 * sides[axis]));
    if params.dimensions == 2 {
        (low[2], high[2]) = (0.0, 0.0);
    }
    box_lines(low, high, color)
}

pub(crate) fn draw_args(params: &DrawParams, rows: u32, vertices: u32) -> [u32; 5] {
    let fits = rows.min(params.capacity / vertices);
    [fits * vertices, 1, 0, 0, rows * vertices]
}
