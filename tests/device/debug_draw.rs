use std::collections::BTreeSet;

use crate::common::steps::{SCHEMES, broad_phase, download, encoder, record, whole};
use crate::common::{Rng, TestAdapter, adapters, uniform};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, DebugDraw, DebugLines, Growth, LineVertex, OutputOptions, Pair, QueryInput,
    Ray, RayMode, Rays, Scene, Scheme, Source, Statics, wgpu,
};

struct Drawn {
    vertices: Vec<LineVertex>,
    args: Vec<u32>,
}

fn draw(
    adapter: &TestAdapter,
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene<'_>,
    lines: DebugLines,
    max_lines: u32,
) -> Drawn {
    let mut on_gpu = broad_phase(adapter, descriptor);
    whole(adapter, &mut on_gpu, *scene);
    let mut encoder = encoder(adapter);
    let step = record(&mut on_gpu, &mut encoder, *scene);
    let mut draw = DebugDraw::new(descriptor, Some("test"));
    let output = draw
        .record(&mut encoder, &step, lines, [1, 2, 3, 4], max_lines)
        .unwrap();
    adapter.queue.submit([encoder.finish()]);
    let args: Vec<u32> = download(&adapter.device, &adapter.queue, &output.args, 20);
    let bytes = 16 * u64::from(args[0]).max(1);
    let mut vertices = download(&adapter.device, &adapter.queue, &output.vertices, bytes);
    vertices.truncate(args[0] as usize);
    Drawn { vertices, args }
}

fn boxes(drawn: &Drawn) -> BTreeSet<([u32; 3], [u32; 3], u32)> {
    let corners = |lines: &[LineVertex]| {
        let bound = |of: fn(f32, f32) -> f32, from: f32| {
            let at = |axis: usize| lines.iter().map(|vertex| vertex.position[axis]).fold(from, of);
            [0, 1, 2].map(at).map(f32::to_bits)
        };
        for line in lines.chunks(2) {
            let [a, b] = [line[0].position, line[1].position];
            assert!((0..3).filter(|&axis| a[axis] != b[axis]).count() <= 1, "{line:?}");
        }
        (
            bound(f32::min, f32::INFINITY),
            bound(f32::max, f32::NEG_INFINITY),
            lines[0].color,
        )
    };
    drawn.vertices.chunks(24).map(corners).collect()
}

#[test]
fn boxes_and_pairs_are_drawn_where_they_are() {
    for adapter in adapters() {
        let mut rng = Rng(71);
        let mut objects = uniform(200, &mut rng);
        objects[3] = Aabb::new([f32::NAN; 3], [1.0; 3]);
        objects[150].max[1] = f32::INFINITY;
        for (scheme, statics) in SCHEMES.into_iter().zip([0, 50, 80]) {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                ..Default::default()
            };
            let scene = Scene {
                objects: Source::Host(&objects[statics..]),
                statics: Statics {
                    objects: Source::Host(&objects[..statics]),
                    ..Default::default()
                },
                ..Default::default()
            };
            let drawn = draw(&adapter, &descriptor, &scene, DebugLines::Boxes, 1_000_000);
            assert_eq!(drawn.args, [200 * 24, 1, 0, 0, 200 * 24]);
            let bits = |corner: [f32; 3]| corner.map(f32::to_bits);
            let is_drawn = |object: &&Aabb| object.min[0].is_finite() && object.max[1].is_finite();
            let mut expected: BTreeSet<_> = objects
                .iter()
                .filter(is_drawn)
                .map(|object| (bits(object.min), bits(object.max), 0x0403_0201))
                .collect();
            expected.insert(([0; 3], [0; 3], 0x0403_0201));
            assert_eq!(boxes(&drawn), expected, "{scheme:?} on {}", adapter.name);

            let drawn = draw(&adapter, &descriptor, &scene, DebugLines::Pairs, 1_000_000);
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let pairs = whole(&adapter, &mut on_gpu, scene).pairs;
            assert!(pairs.len() > 50);
            assert_eq!(drawn.args[0] as usize, 2 * pairs.len());
            for (Pair { a, b }, line) in pairs.iter().zip(drawn.vertices.chunks(2)) {
                let ends = [a, b].map(|&object| &objects[object as usize]);
                for (vertex, object) in line.iter().zip(ends) {
                    let is_drawn = ends.iter().all(is_drawn);
                    let middle = |axis: usize| 0.5 * object.min[axis] + 0.5 * object.max[axis];
                    let expected = if is_drawn { [0, 1, 2].map(middle) } else { [0.0; 3] };
                    assert_eq!(vertex.position, expected);
                }
            }
            let drawn = draw(&adapter, &descriptor, &scene, DebugLines::Boxes, 11);
            assert_eq!(drawn.args, [0, 1, 0, 0, 200 * 24]);
            let drawn = draw(&adapter, &descriptor, &scene, DebugLines::Boxes, 12 * 7 + 11);
            assert_eq!(drawn.args, [7 * 24, 1, 0, 0, 200 * 24]);
        }
    }
}

#[test]
fn occupied_cells_are_drawn() {
    for adapter in adapters() {
        let mut rng = Rng(72);
        let objects: Vec<_> = (0..300)
            .map(|index| {
                let size = [1.0, 0.2, 7.0][index % 3];
                let low = [0; 3].map(|_| 40.0 * rng.unit() - 20.0);
                Aabb::new(low, low.map(|bound| bound + size * (0.5 + 0.5 * rng.unit())))
            })
            .collect();
        for scheme in SCHEMES {
            let what = format!("{scheme:?} on {}", adapter.name);
            let descriptor = BroadPhaseDescriptor {
                scheme,
                ..Default::default()
            };
            let (statics, moving) = objects.split_at(100);
            let scene = Scene {
                objects: Source::Host(moving),
                statics: Statics {
                    objects: Source::Host(statics),
                    ..Default::default()
                },
                ..Default::default()
            };
            for (lines, objects) in [
                (DebugLines::Cells { levels: !0 }, moving),
                (DebugLines::StaticCells { levels: !0 }, statics),
            ] {
                let cells = boxes(&draw(&adapter, &descriptor, &scene, lines, 1_000_000));
                let cells: Vec<_> = cells
                    .iter()
                    .map(|(low, high, _)| [low, high].map(|corner| corner.map(f32::from_bits)))
                    .collect();
                let has_corner = |[low, high]: &[[f32; 3]; 2], object: &Aabb| {
                    (0..3).all(|axis| low[axis] <= object.min[axis] && object.min[axis] <= high[axis])
                };
                let meets = |[low, high]: &[[f32; 3]; 2], object: &Aabb| {
                    (0..3).all(|axis| low[axis] <= object.max[axis] && object.min[axis] <= high[axis])
                };
                let is_uniform = matches!(scheme, Scheme::Uniform { .. });
                for object in objects {
                    // In the uniform scheme, a box that covers more than 64 cells is large and has no cell.
                    let is_large = is_uniform && object.max[0] - object.min[0] > 1.5 * 2.0;
                    assert!(
                        is_large || cells.iter().any(|cell| has_corner(cell, object)),
                        "{what}: {object:?}"
                    );
                }
                for cell in &cells {
                    let is_occupied = |object: &&Aabb| {
                        if is_uniform {
                            meets(cell, object)
                        } else {
                            has_corner(cell, object)
                        }
                    };
                    assert!(objects.iter().any(|object| is_occupied(&object)), "{what}: {cell:?}");
                }
                assert!(cells.len() > 20, "{what}");
            }
            let count = |levels| {
                let lines = DebugLines::Cells { levels };
                draw(&adapter, &descriptor, &scene, lines, 1_000_000).args[0]
            };
            let (all, finest, rest) = (count(!0), count(1), count(!1));
            assert_eq!(finest + rest, all, "{what}");
            let is_adaptive = matches!(scheme, Scheme::Adaptive { .. });
            assert!(finest > 0 && (rest > 0 || !is_adaptive), "{what}");
        }
    }
}

#[test]
fn cells_without_room_for_an_entry_are_not_drawn() {
    for adapter in adapters() {
        let objects = uniform(200, &mut Rng(74));
        let descriptor = BroadPhaseDescriptor {
            scheme: Scheme::Uniform { cell_size: 1.5 },
            outputs: OutputOptions {
                growth: Growth::Fixed,
                capacities: Capacities {
                    entries: Some(50),
                    ..Default::default()
                },
                ..Default::default()
            },
            ..Default::default()
        };
        let scene = Scene {
            objects: Source::Host(&objects),
            ..Default::default()
        };
        let mut on_gpu = broad_phase(&adapter, &descriptor);
        let mut encoder = encoder(&adapter);
        let step = record(&mut on_gpu, &mut encoder, scene);
        let mut draw = DebugDraw::new(&descriptor, None);
        let lines = DebugLines::Cells { levels: !0 };
        let output = draw.record(&mut encoder, &step, lines, [0; 4], 100_000).unwrap();
        adapter.queue.submit([encoder.finish()]);
        let args: Vec<u32> = download(&adapter.device, &adapter.queue, &output.args, 20);
        assert!((10 * 24..=50 * 24).contains(&args[0]), "{args:?}");
    }
}

#[test]
fn cells_that_rays_visit_are_drawn_along_them() {
    for adapter in adapters() {
        let objects = uniform(400, &mut Rng(73));
        let ray = Ray::new([-50.0, 3.0, 2.0], [1.0, 0.1, 0.05], f32::INFINITY);
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    ray_cells: true,
                    ray_mode: RayMode::Any,
                    ..Default::default()
                },
                ..Default::default()
            };
            let scene = Scene {
                objects: Source::Host(&objects),
                query: QueryInput {
                    rays: Rays::Plain(Source::Host(&[ray])),
                    ..QueryInput::default()
                },
                ..Default::default()
            };
            let drawn = draw(&adapter, &descriptor, &scene, DebugLines::RayCells, 1_000_000);
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let cells = whole(&adapter, &mut on_gpu, scene).ray_cells;
            assert_eq!(drawn.args[0] as usize, 24 * cells.len());
            assert!(cells.len() > 3);
            for (low, high, _) in boxes(&drawn) {
                let [low, high] = [low, high].map(|corner| corner.map(f32::from_bits));
                let side = high[1] - low[1];
                assert!((0..3).all(|axis| (high[axis] - low[axis] - side).abs() < 1e-4 * side.max(20.0)));
                let is_near = |axis: usize| {
                    let at = |x: f32| ray.origin[axis] + (x - ray.origin[0]) * ray.direction[axis];
                    let (from, to) = (at(low[0]), at(high[0]));
                    from.min(to) <= high[axis] + 2.0 * side && from.max(to) >= low[axis] - 2.0 * side
                };
                assert!(is_near(1) && is_near(2), "{scheme:?}: {low:?} {high:?}");
            }
        }
    }
}

#[test]
fn a_render_pass_draws_from_the_buffers() {
    const PIXELS: u32 = 64;
    for adapter in adapters() {
        let device = &adapter.device;
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(
                "struct Corner { @builtin(position) at: vec4<f32>, @location(0) color: vec4<f32> }
                @vertex fn corner(@location(0) position: vec3<f32>, @location(1) color: vec4<f32>) -> Corner {
                    return Corner(vec4<f32>(position.xy / 8.0, 0.5, 1.0), color);
                }
                @fragment fn color(corner: Corner) -> @location(0) vec4<f32> { return corner.color; }"
                    .into(),
            ),
        });
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor::default());
        let pipeline = device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: None,
            layout: Some(&layout),
            vertex: wgpu::VertexState {
                module: &module,
                entry_point: None,
                compilation_options: Default::default(),
                buffers: &[Some(DebugDraw::VERTICES)],
            },
            primitive: wgpu::PrimitiveState {
                topology: wgpu::PrimitiveTopology::LineList,
                ..Default::default()
            },
            depth_stencil: None,
            multisample: Default::default(),
            fragment: Some(wgpu::FragmentState {
                module: &module,
                entry_point: None,
                compilation_options: Default::default(),
                targets: &[Some(wgpu::TextureFormat::Rgba8Unorm.into())],
            }),
            multiview_mask: None,
            cache: None,
        });
        let size = wgpu::Extent3d {
            width: PIXELS,
            height: PIXELS,
            depth_or_array_layers: 1,
        };
        let target = device.create_texture(&wgpu::TextureDescriptor {
            label: None,
            size,
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::Rgba8Unorm,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let picture = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: u64::from(4 * PIXELS * PIXELS),
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        let descriptor = BroadPhaseDescriptor::default();
        let mut on_gpu = broad_phase(&adapter, &descriptor);
        let mut draw = DebugDraw::new(&descriptor, None);
        let objects = [Aabb::new([-4.1, -4.1, 0.0], [4.1, 4.1, 1.0])];
        let mut encoder = encoder(&adapter);
        let scene = Scene {
            objects: Source::Host(&objects),
            ..Default::default()
        };
        let step = record(&mut on_gpu, &mut encoder, scene);
        let lines = draw
            .record(&mut encoder, &step, DebugLines::Boxes, [255, 0, 51, 255], 12)
            .unwrap();
        {
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: &target.create_view(&Default::default()),
                    depth_slice: None,
                    resolve_target: None,
                    ops: wgpu::Operations {
                        load: wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT),
                        store: wgpu::StoreOp::Store,
                    },
                })],
                ..Default::default()
            });
            pass.set_pipeline(&pipeline);
            pass.set_vertex_buffer(0, lines.vertices.slice(..));
            pass.draw_indirect(&lines.args, 0);
        }
        encoder.copy_texture_to_buffer(
            target.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &picture,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(4 * PIXELS),
                    rows_per_image: None,
                },
            },
            size,
        );
        adapter.queue.submit([encoder.finish()]);
        let pixels: Vec<[u8; 4]> = download(device, &adapter.queue, &picture, picture.size());
        let drawn = pixels.iter().filter(|pixel| **pixel == [255, 0, 51, 255]).count();
        let blank = pixels.iter().filter(|pixel| **pixel == [0; 4]).count();
        // The box has four edges of 33 pixels.
        assert!((120..=140).contains(&drawn), "{drawn} pixels on {}", adapter.name);
        assert_eq!(drawn + blank, pixels.len());
    }
}
