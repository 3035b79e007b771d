use std::collections::BTreeSet;
use std::mem::offset_of;

use crate::common::steps::{self, SCHEMES, broad_phase, download, encoder, record, scene_of, whole};
use crate::common::{Rng, TestAdapter, adapters};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, DebugDraw, DebugLines, GpuBroadPhase, Growth, LineVertex, Pair, Ray, RayMode, Scene,
    Scheme, StepResult, wgpu,
};

const ALL: u32 = 1_000_000;

fn descriptor(scheme: Scheme, growth: Growth, entries: Option<u32>) -> BroadPhaseDescriptor<'static> {
    steps::descriptor(|all| {
        (all.scheme, all.outputs.growth) = (scheme, growth);
        (all.outputs.ray_mode, all.outputs.ray_cells) = (RayMode::Any, true);
        all.outputs.capacities.entries = entries;
    })
}

struct Drawing<'a> {
    adapter: &'a TestAdapter,
    on_gpu: GpuBroadPhase,
    draw: DebugDraw,
    scene: Scene<'a>,
}

impl<'a> Drawing<'a> {
    fn new(adapter: &'a TestAdapter, descriptor: &BroadPhaseDescriptor<'_>, scene: Scene<'a>) -> Self {
        Self {
            adapter,
            on_gpu: broad_phase(adapter, descriptor),
            draw: DebugDraw::new(descriptor, Some("test")),
            scene,
        }
    }

    fn draw(&mut self, lines: DebugLines, max_lines: u32) -> (Vec<LineVertex>, [u32; 5]) {
        let (device, queue) = (&self.adapter.device, &self.adapter.queue);
        let mut encoder = encoder(self.adapter);
        let step = record(&mut self.on_gpu, &mut encoder, self.scene);
        let output = self.draw.record(&mut encoder, &step, lines, [1, 2, 3, 4], max_lines);
        let output = output.unwrap();
        assert!(output.vertices.usage().contains(wgpu::BufferUsages::VERTEX));
        assert!(output.args.usage().contains(wgpu::BufferUsages::INDIRECT));
        queue.submit([encoder.finish()]);
        let args: Vec<u32> = download(device, queue, &output.args, 20);
        let bytes = 16 * u64::from(args[0]).max(1);
        let mut vertices = download(device, queue, &output.vertices, bytes);
        vertices.truncate(args[0] as usize);
        (vertices, args.try_into().unwrap())
    }

    fn boxes(&mut self, lines: DebugLines) -> Vec<[[f32; 3]; 2]> {
        let (vertices, args) = self.draw(lines, ALL);
        assert_eq!(args, [args[0], 1, 0, 0, args[0]]);
        let corners = |lines: &[LineVertex]| {
            for line in lines.chunks(2) {
                let [a, b] = [line[0].position, line[1].position];
                assert!((0..3).filter(|&axis| a[axis] != b[axis]).count() <= 1, "{line:?}");
            }
            [f32::min, f32::max].map(|of: fn(f32, f32) -> f32| {
                let bounds = lines.iter().map(|vertex| vertex.position);
                bounds
                    .reduce(|a, b| [0, 1, 2].map(|axis: usize| of(a[axis], b[axis])))
                    .unwrap()
            })
        };
        vertices.chunks(24).map(corners).collect()
    }
}

fn is_drawn(object: &Aabb) -> bool {
    object.min.iter().chain(&object.max).all(|bound| bound.is_finite())
}

fn check_boxes(drawing: &mut Drawing<'_>, objects: &[Aabb]) {
    let bits = |corners: [[f32; 3]; 2]| corners.map(|corner| corner.map(f32::to_bits));
    let drawn: BTreeSet<_> = drawing.boxes(DebugLines::Boxes).into_iter().map(bits).collect();
    let mut expected: BTreeSet<_> = objects
        .iter()
        .filter(|object| is_drawn(object))
        .map(|object| bits([object.min, object.max]))
        .collect();
    // Others have degenerate lines.
    expected.insert([[0; 3]; 2]);
    assert!(drawn == expected);
    let all = 24 * objects.len() as u32;
    for (max_lines, drawn) in [(11, 0), (12 * 7 + 11, 24 * 7), (ALL, all)] {
        let (vertices, args) = drawing.draw(DebugLines::Boxes, max_lines);
        assert_eq!(args, [drawn, 1, 0, 0, all]);
        assert!(vertices.iter().all(|vertex| vertex.color == 0x0403_0201));
    }
}

fn check_pairs(drawing: &mut Drawing<'_>, objects: &[Aabb], pairs: &[Pair]) {
    let (vertices, args) = drawing.draw(DebugLines::Pairs, ALL);
    assert!(pairs.len() > 50 && args[0] as usize == 2 * pairs.len());
    for (Pair { a, b }, line) in pairs.iter().zip(vertices.chunks(2)) {
        let ends = [a, b].map(|&object| &objects[object as usize]);
        for (vertex, object) in line.iter().zip(ends) {
            let middle = |axis: usize| 0.5 * object.min[axis] + 0.5 * object.max[axis];
            let are_drawn = ends.iter().all(|end| is_drawn(end));
            let expected = if are_drawn { [0, 1, 2].map(middle) } else { [0.0; 3] };
            assert_eq!(vertex.position, expected);
        }
    }
}

fn check_cells(drawing: &mut Drawing<'_>, lines: DebugLines, objects: &[Aabb], scheme: Scheme) {
    let is_uniform = matches!(scheme, Scheme::Uniform { .. });
    let reaches = |[low, high]: &[[f32; 3]; 2], object: &Aabb, upper: [f32; 3]| {
        (0..3).all(|axis| low[axis] <= upper[axis] && object.min[axis] <= high[axis])
    };
    let cells = drawing.boxes(lines);
    let objects: Vec<_> = objects.iter().filter(|object| is_drawn(object)).collect();
    for object in &objects {
        // In the uniform scheme, a box that covers more than 64 cells is large and has no cell.
        let is_large = is_uniform && object.max[0] - object.min[0] > 1.5 * 2.0;
        let has_cell = cells.iter().any(|cell| reaches(cell, object, object.min));
        assert!(has_cell || is_large, "{object:?}");
    }
    for cell in &cells {
        let is_occupied = |object: &&Aabb| reaches(cell, object, if is_uniform { object.max } else { object.min });
        assert!(objects.iter().any(is_occupied), "{cell:?}");
    }
    assert!(cells.len() > 20);
}

fn check_ray_cells(drawing: &mut Drawing<'_>, ray: &Ray, result: &StepResult) {
    let boxes = drawing.boxes(DebugLines::RayCells);
    assert!(boxes.len() == result.ray_cells.len() && boxes.len() > 3);
    for [low, high] in boxes {
        let side = high[1] - low[1];
        assert!((0..3).all(|axis| (high[axis] - low[axis] - side).abs() < 1e-4 * side.max(20.0)));
        let is_near = |axis: usize| {
            let [from, to] = [low[0], high[0]].map(|x| ray.origin[axis] + (x - ray.origin[0]) * ray.direction[axis]);
            from.min(to) <= high[axis] + 2.0 * side && from.max(to) >= low[axis] - 2.0 * side
        };
        assert!(is_near(1) && is_near(2), "{low:?} {high:?}");
    }
}

#[test]
fn the_vertex_layout_is_that_of_the_lines() {
    let [position, color] = DebugDraw::VERTICES.attributes else {
        panic!("position and colour");
    };
    let stride = DebugDraw::VERTICES.array_stride as usize;
    let color_offset = offset_of!(LineVertex, color) as u64;
    assert_eq!(
        (stride, position.offset, color.offset),
        (size_of::<LineVertex>(), 0, color_offset)
    );
    let formats = [position.format, color.format];
    assert_eq!(formats, [wgpu::VertexFormat::Float32x3, wgpu::VertexFormat::Unorm8x4]);
}

#[test]
fn lines_are_where_boxes_pairs_and_cells_are() {
    let mut rng = Rng(72);
    let mut objects: Vec<_> = (0..300)
        .map(|index| {
            let size = [1.0, 0.2, 7.0][index % 3];
            let low = rng.point(40.0).map(|bound| bound - 20.0);
            Aabb::new(low, low.map(|bound| bound + size * (0.5 + 0.5 * rng.unit())))
        })
        .collect();
    objects[3].min = [f32::NAN; 3];
    objects[150].max[1] = f32::INFINITY;
    let (statics, moving) = objects.split_at(100);
    let rays = [Ray::new([-50.0, 3.0, 2.0], [1.0, 0.1, 0.05], f32::INFINITY)];
    let mut scene = scene_of(moving);
    (scene.query.rays, scene.statics.objects) = (rays[..].into(), statics.into());
    for adapter in adapters() {
        for scheme in SCHEMES {
            println!("{scheme:?} on {}", adapter.name);
            let mut drawing = Drawing::new(&adapter, &descriptor(scheme, Growth::Grow, None), scene);
            let result = whole(&adapter, &mut drawing.on_gpu, scene);
            check_boxes(&mut drawing, &objects);
            check_pairs(&mut drawing, &objects, &result.pairs);
            let cells = |levels| DebugLines::Cells { levels };
            check_cells(&mut drawing, cells(!0), moving, scheme);
            check_cells(&mut drawing, DebugLines::StaticCells { levels: !0 }, statics, scheme);
            check_ray_cells(&mut drawing, &rays[0], &result);
            let [all, finest, rest] = [!0, 1, !1].map(|levels| drawing.draw(cells(levels), ALL).1[0]);
            assert_eq!(finest + rest, all);
            assert!(finest > 0 && (rest > 0 || !matches!(scheme, Scheme::Adaptive { .. })));
        }
        // Only entries that fit have cells.
        let fixed = descriptor(SCHEMES[1], Growth::Fixed, Some(50));
        let mut drawing = Drawing::new(&adapter, &fixed, scene);
        let (_, args) = drawing.draw(DebugLines::Cells { levels: !0 }, ALL);
        assert!((10 * 24..=50 * 24).contains(&args[0]), "{args:?}");
    }
}
