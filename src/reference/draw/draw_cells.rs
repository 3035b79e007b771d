use std::collections::BTreeSet;

use super::lines::{cell_lines, level_color};
use crate::api::types::{Aabb, LineVertex, RayCell};
use crate::layout::blocks::DrawParams;
use crate::layout::grid::{
    ID_MASK, NO_LEVEL, Params, Placement, Record, SCHEME_UNIFORM, classify, enters_cells, key_of, place, unordered,
};
use crate::reference::rows::CellTable;

/// Returns the occupied cells. The shader draws each at least once, in any order.
pub fn draw_cells(
    params: &Params,
    draw: &DrawParams,
    table: CellTable<'_>,
    objects: &[Aabb],
    values: &[u32],
) -> BTreeSet<RayCell> {
    let level_of = |placement: &Placement| {
        let level = placement.level;
        (level != NO_LEVEL && draw.levels >> level & 1 != 0).then_some(level)
    };
    let mut cells = BTreeSet::new();
    if params.scheme == SCHEME_UNIFORM {
        for (object, record) in params.objects(objects).iter().zip(table.records) {
            if !enters_cells(classify(object), record.world) {
                continue;
            }
            let placement = place(params, table.grid.finest_cell(), object);
            let index = record.object - params.first_object;
            if level_of(&placement).is_none() {
                continue;
            }
            let Placement {
                lower, upper, level, ..
            } = placement;
            for (z, y) in (lower[2]..=upper[2]).flat_map(|z| (lower[1]..=upper[1]).map(move |y| (z, y))) {
                for x in lower[0]..=upper[0] {
                    let key = key_of(&table.grid.levels[0], [x, y, z], record.world) as usize;
                    let entries = &values[table.starts[key] as usize..table.starts[key + 1] as usize];
                    // A table past its capacity lacks some entries.
                    if entries.iter().any(|value| value & ID_MASK == index) {
                        cells.insert(RayCell { level, x, y, z });
                    }
                }
            }
        }
        return cells;
    }
    let entered = table.starts[table.grid.table_cells as usize] as usize;
    for record in &table.records[..entered] {
        let placement = place(params, table.grid.finest_cell(), &box_of(record));
        if let Some(level) = level_of(&placement) {
            let [x, y, z] = placement.lower;
            let x = x >> params.x_detail();
            cells.insert(RayCell { level, x, y, z });
        }
    }
    cells
}

pub fn lines_of_cell(params: &Params, draw: &DrawParams, table: CellTable<'_>, cell: RayCell) -> Vec<LineVertex> {
    let level = &table.grid.levels[cell.level as usize];
    let color = level_color(draw, cell.level);
    cell_lines(params, level, table.grid.stretch, [cell.x, cell.y, cell.z], color).collect()
}

fn box_of(record: &Record) -> Aabb {
    Aabb::new(record.low.map(unordered), record.high.map(unordered))
}
