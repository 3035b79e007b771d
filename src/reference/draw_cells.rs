//! Twin of `shaders/draw_cells.wgsl`.

use std::collections::BTreeSet;

use super::blocks::DrawParams;
use super::draw::{cell_lines, level_color};
use super::rows::Table;
use crate::debug_draw::LineVertex;
use crate::grid::{Class, NO_LEVEL, Params, Record, SCHEME_UNIFORM, classify, place, unordered};
use crate::types::{Aabb, RayCell};

/// The occupied cells of the levels that are drawn, in whole cells: what the pass draws, each at least once, in any order. It draws
/// them once a world, and some more often where hashed cells share slots.
pub fn draw_cells(params: &Params, draw: &DrawParams, table: Table<'_>, objects: &[Aabb]) -> BTreeSet<RayCell> {
    let is_covered = params.scheme == SCHEME_UNIFORM;
    let entered: Vec<Aabb> = if is_covered {
        let objects = params.objects(objects).iter().copied();
        objects.filter(|object| classify(object) == Class::Finite).collect()
    } else {
        // Records come in the order of the entries, and those of cells come first.
        let count = table.starts[table.grid.table_cells as usize] as usize;
        table.records[..count].iter().map(box_of).collect()
    };
    let mut cells = BTreeSet::new();
    for object in &entered {
        let placement = place(params, table.grid, object);
        let level = placement.level;
        if level == NO_LEVEL || draw.levels >> level & 1 == 0 {
            continue;
        }
        let mut lower = placement.lower;
        lower[0] >>= table.grid.x_detail;
        let upper = if is_covered { placement.upper } else { lower };
        for (z, y) in (lower[2]..=upper[2]).flat_map(|z| (lower[1]..=upper[1]).map(move |y| (z, y))) {
            cells.extend((lower[0]..=upper[0]).map(|x| RayCell { level, x, y, z }));
        }
    }
    cells
}

/// The lines that a cell is drawn with.
pub fn lines_of_cell(params: &Params, draw: &DrawParams, table: Table<'_>, cell: RayCell) -> Vec<LineVertex> {
    let level = &table.grid.levels[cell.level as usize];
    let color = level_color(draw, cell.level);
    cell_lines(params, level, [cell.x, cell.y, cell.z], color).collect()
}

fn box_of(record: &Record) -> Aabb {
    Aabb::new(record.low.map(unordered), record.high.map(unordered))
}
