use crate::harness::*;
use bytemuck::{bytes_of, pod_collect_to_vec};
use gpu_broad_phase::internals::blocks::DrawParams;
use gpu_broad_phase::internals::reference::Trace;
use gpu_broad_phase::internals::reference::draw::{draw_boxes, draw_cells, draw_pairs, draw_ray_cells};
use gpu_broad_phase::internals::shaders;
use gpu_broad_phase::{LineVertex, RayCell};

pub fn is_near(a: &LineVertex, b: &LineVertex) -> bool {
    let near = |a: f32, b: f32| (a - b).abs() <= 1e-6 * a.abs().max(b.abs());
    std::iter::zip(a.position, b.position).all(|(a, b)| near(a, b))
}

pub fn check_lines(bench: &Bench, trace: &Trace) {
    let objects = trace.tables.objects.len() as u32;
    let mut counters = used_counters();
    (counters[10], counters[11]) = (trace.pairs.len() as u32, 0);
    (counters[20], counters[21]) = (trace.ray_cells.len() as u32 + 3, 0);
    let static_grid = &trace.tables.statics.as_ref().unwrap_or(trace).grid;
    for (part, color) in [(1, 0x80ff_1234u32), (3, 0x3300_0000)] {
        let draw = |rows: usize, row_vertices: u32| DrawParams {
            rows: rows as u32,
            first: 0,
            capacity: (rows as u32).div_ceil(part) * row_vertices,
            color,
            levels: if part == 1 { !0 } else { 0x0f5 },
        };
        let run = |pass, params: &DrawParams, mut more: Vec<(&'static str, Vec<u8>)>| {
            more.extend([
                ("draw", uniform(params)),
                ("objects", bytes(&trace.tables.objects)),
                ("step_counters", bytes(&counters)),
                ("lines", poison::<LineVertex>(params.capacity as usize)),
                ("draw_args", zeros(5)),
            ]);
            bench.run(pass, groups(params.rows as usize).max(1), uniform(&trace.params), &more)
        };
        let params = draw(objects as usize, 24);
        let found = run(&shaders::DRAW_BOXES, &params, Vec::new());
        let (lines, args) = draw_boxes::draw_boxes(&params, &trace.tables.objects);
        found.check("lines", &lines);
        found.check("draw_args", &args);

        let params = draw(trace.pairs.len(), 2);
        let found = run(&shaders::DRAW_PAIRS, &params, vec![("pairs", bytes(&trace.pairs))]);
        let (lines, args) = draw_pairs::draw_pairs(&params, &trace.tables.objects, &trace.pairs, &counters);
        found.check("lines", &lines);
        found.check("draw_args", &args);

        let shown = &trace.ray_cells[..trace.ray_cells.len().min(400)];
        let params = DrawParams {
            first: trace.ray_cells.len() as u32 + 3 - shown.len() as u32 / 2,
            ..draw(shown.len(), 24)
        };
        let more = vec![
            ("ray_cells", bytes(shown)),
            ("grid", bytes_of(&trace.grid).to_vec()),
            ("static_grid", bytes_of(static_grid).to_vec()),
        ];
        let found = run(&shaders::DRAW_RAY_CELLS, &params, more);
        let grids = [&trace.grid, static_grid];
        let (lines, args) = draw_ray_cells::draw_ray_cells(&trace.params, &params, grids, shown, &counters);
        found.check("draw_args", &args);
        let written: Vec<LineVertex> = pod_collect_to_vec(&found.buffers["lines"][..16 * lines.len()]);
        assert!(std::iter::zip(&written, &lines).all(|(a, b)| a.color == b.color && is_near(a, b)));

        let params = DrawParams {
            capacity: 24 * 4000,
            ..draw(trace.params.object_count as usize, 24)
        };
        let found = run(&shaders::DRAW_CELLS, &params, walk_inputs(trace));
        let [drawn, instances, _, _, all]: [u32; 5] = found.take("draw_args", 5).try_into().unwrap();
        assert_eq!((drawn, instances), (all, 1), "{}", found.what);
        let occupied = draw_cells::draw_cells(
            &trace.params,
            &params,
            table(trace),
            &trace.tables.objects,
            &trace.values,
        );
        let of_cell = |&cell: &RayCell| draw_cells::lines_of_cell(&trace.params, &params, table(trace), cell);
        let mut expected: Vec<_> = occupied.iter().map(of_cell).map(|lines| (lines, 0)).collect();
        let vertices: Vec<LineVertex> = pod_collect_to_vec(&found.buffers["lines"][..16 * drawn as usize]);
        for lines in vertices.chunks(24) {
            // Far from 0, cells are no larger than rounding errors.
            let is_exact = |(cell, _): &(Vec<LineVertex>, u32)| cell == lines;
            let is_cell = |(cell, _): &(Vec<LineVertex>, u32)| {
                std::iter::zip(lines, cell).all(|(a, b)| a.color == b.color && is_near(a, b))
            };
            let exact = expected.iter().position(is_exact);
            let Some(place) = exact.or_else(|| expected.iter().position(is_cell)) else {
                panic!("{}: {lines:?} are no cell", found.what);
            };
            expected[place].1 += 1;
        }
        let twice = expected.iter().filter(|(_, times)| *times > 1).count();
        assert!(
            expected.iter().all(|(_, times)| *times > 0),
            "{}: {} cells",
            found.what,
            expected.len()
        );
        assert!(
            twice <= expected.len() / 4 || trace.params.world_count > 1,
            "{}: {twice} of {} cells twice",
            found.what,
            expected.len()
        );
    }
}
