//! For renderers and tools: ray tracing and closest points on a mesh of 102,402 triangles. Searches of a step's table
//! end at the caller's own shapes, on the GPU and on the CPU engine. The floor is in the static table.
//!
//! ```sh
//! cargo run --release --example triangles -- [--output DIR]
//! ```
//!
//! With `--output`, writes `DIR/triangles.png`.

mod mesh;

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use gpu_broad_phase::cpu::CpuBroadPhase;
use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, GpuBroadPhase, Query, Ray, RayHit, Scene, Statics, TableShader, block_on, wgpu,
};
use mesh::{
    EYE, FLOOR, LIGHT, Point, bounds, cloud, cross, difference, dot, hit_triangle, scaled, shadow_origin,
    triangle_distance, triangles, unit, view,
};

/// Width and height of the picture.
const PIXELS: usize = 480;
const POINTS: usize = 20_000;
/// Interval between rays and points that brute force checks.
const CHECKED: usize = 499;

/// Layout as in the shader.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct View {
    eye: Point,
    pixels: u32,
    light: Point,
    points: u32,
}

fn main() -> Result<(), Box<dyn Error>> {
    let output = match &std::env::args().skip(1).collect::<Vec<_>>()[..] {
        [] => None,
        [flag, directory] if flag == "--output" => Some(directory.clone()),
        _ => return Err("usage: triangles [--output DIR]".into()),
    };
    let mesh = triangles();
    let aabb = |corners: &[Point; 3]| {
        let [low, high] = bounds(corners);
        Aabb::new(low, high)
    };
    let boxes: Vec<_> = mesh.iter().map(aabb).collect();
    let scene = Scene {
        objects: boxes[FLOOR..].into(),
        statics: Statics {
            objects: boxes[..FLOOR].into(),
            ..Statics::default()
        },
        ..Scene::default()
    };
    let directions: Vec<_> = (0..PIXELS * PIXELS)
        .map(|pixel| view([pixel % PIXELS, pixel / PIXELS], PIXELS))
        .collect();
    let points = cloud(&mesh, POINTS);

    let found = search(&mesh, scene, &directions, &points)?;
    let (seen, near) = found.split_at(directions.len());
    let [ms, ms_near] = check_on_cpu(&mesh, scene, &directions, &points, &found)?;
    println!(
        "CPU engine: {} rays in {ms:.0} ms, {POINTS} points in {ms_near:.0} ms",
        directions.len()
    );
    let mut others = 0;
    for (hit, direction) in seen.iter().zip(&directions).step_by(CHECKED) {
        let first = |origin, direction| {
            let t = mesh
                .iter()
                .map(|corners| hit_triangle(corners, origin, direction, f32::MAX));
            t.fold(f32::MAX, f32::min)
        };
        let t = first(EYE, *direction);
        let is_dark = t < f32::MAX && first(shadow_origin(EYE, *direction, t), LIGHT) < f32::MAX;
        others += usize::from(agree(f32::from_bits(hit[1]), t).is_err() || is_dark != (hit[2] == 1));
    }
    // At silhouettes and borders of shadows, rounding decides.
    if others > 2 {
        return Err(format!("brute force finds {others} other hits or shadows").into());
    }
    for (nearest, point) in near.iter().zip(&points).step_by(CHECKED) {
        let distances = mesh.iter().map(|corners| triangle_distance(corners, *point));
        agree(f32::from_bits(nearest[1]), distances.fold(f32::MAX, f32::min))?;
    }
    println!("brute force agrees, for one ray and point in {CHECKED}");
    if let Some(directory) = output {
        std::fs::create_dir_all(&directory)?;
        let path = Path::new(&directory).join("triangles.png");
        draw(&path, &mesh, seen)?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// Two devices may round differently.
fn agree(found: f32, expected: f32) -> Result<(), String> {
    if (found - expected).abs() <= 1e-4 * expected.max(1.0) {
        return Ok(());
    }
    Err(format!("found at {found}, and {expected} is right"))
}

/// Rows of the shader's buffer `found`.
fn search(
    mesh: &[[Point; 3]],
    scene: Scene<'_>,
    directions: &[Point],
    points: &[Point],
) -> Result<Vec<[u32; 4]>, Box<dyn Error>> {
    let adapter = block_on(wgpu::Instance::default().request_adapter(&Default::default()))?;
    println!("{}", adapter.get_info().name);
    let (device, queue) = block_on(adapter.request_device(&GpuBroadPhase::device_descriptor(&adapter)))?;
    // Without filters, both tables leave four storage buffers to the shader.
    let descriptor = BroadPhaseDescriptor {
        pairs: false,
        filters: false,
        ..BroadPhaseDescriptor::default()
    };
    let mut broad_phase = GpuBroadPhase::new(&device, &queue, &descriptor)?;
    let moving = TableShader::with_rays(&descriptor, "bp_", 1)?;
    let fixed = moving.second_table("fixed_", 2)?;
    let text = [
        moving.source(),
        fixed.source(),
        &moving.shape_rays(Some(&fixed)),
        &moving.shape_queries(Some(&fixed)),
        include_str!("triangles.wgsl"),
    ];
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("triangles"),
        source: wgpu::ShaderSource::Wgsl(text.concat().into()),
    });
    let padded = |of: Vec<Point>| of.into_iter().map(|[x, y, z]| [x, y, z, 0.0]).collect::<Vec<_>>();
    let buffer = |label, contents: &[u8], usage| {
        let usage = usage | wgpu::BufferUsages::COPY_SRC;
        device.create_buffer_init(&BufferInitDescriptor {
            label: Some(label),
            contents,
            usage,
        })
    };
    let storage = wgpu::BufferUsages::STORAGE;
    let view = View {
        eye: EYE,
        pixels: directions.len() as u32,
        light: LIGHT,
        points: points.len() as u32,
    };
    let sought = padded([directions, points].concat());
    let nothing = vec![[0u32; 4]; sought.len()];
    let bound = [
        buffer("view", bytemuck::bytes_of(&view), wgpu::BufferUsages::UNIFORM),
        buffer("corners", bytemuck::cast_slice(&padded(mesh.concat())), storage),
        buffer("sought", bytemuck::cast_slice(&sought), storage),
        buffer("found", bytemuck::cast_slice(&nothing), storage),
    ];
    let types = [
        wgpu::BufferBindingType::Uniform,
        wgpu::BufferBindingType::Storage { read_only: true },
        wgpu::BufferBindingType::Storage { read_only: true },
        wgpu::BufferBindingType::Storage { read_only: false },
    ];
    let entry = |(binding, ty)| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty,
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    };
    let layouts = [
        device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("triangles"),
            entries: &(0..).zip(types).map(entry).collect::<Vec<_>>(),
        }),
        moving.layout(&device, wgpu::ShaderStages::COMPUTE),
        fixed.layout(&device, wgpu::ShaderStages::COMPUTE),
    ];
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("triangles"),
        bind_group_layouts: &layouts.each_ref().map(Some),
        immediate_size: 0,
    });

    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("frame") });
    let step = broad_phase.step(&mut encoder, scene)?;
    let static_table = step.static_table.as_ref().ok_or("the floor is static")?;
    let own = (0..).zip(&bound).map(|(binding, buffer)| wgpu::BindGroupEntry {
        binding,
        resource: buffer.as_entire_binding(),
    });
    let groups = [
        device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("triangles"),
            layout: &layouts[0],
            entries: &own.collect::<Vec<_>>(),
        }),
        moving.bind(&layouts[1], &step.table)?,
        fixed.bind(&layouts[2], static_table)?,
    ];
    queue.submit([encoder.finish()]);
    device.poll(wgpu::PollType::wait_indefinitely())?;
    for (name, count) in [("see", directions.len()), ("measure", points.len())] {
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: Some(&layout),
            module: &module,
            entry_point: Some(name),
            compilation_options: Default::default(),
            cache: None,
        });
        // Software adapters compile in the first of two.
        let mut ms = 0.0;
        for _ in 0..2 {
            let start = Instant::now();
            let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some(name) });
            {
                let mut pass = encoder.begin_compute_pass(&Default::default());
                pass.set_pipeline(&pipeline);
                for (index, group) in (0..).zip(&groups) {
                    pass.set_bind_group(index, group, &[]);
                }
                pass.dispatch_workgroups(count.div_ceil(64) as u32, 1, 1);
            }
            queue.submit([encoder.finish()]);
            device.poll(wgpu::PollType::wait_indefinitely())?;
            ms = 1e3 * start.elapsed().as_secs_f64();
        }
        println!("{name}: {count} in {ms:.0} ms");
    }
    let bytes = bytemuck::cast_slice::<_, u8>(&nothing).len() as u64;
    let staging = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("read back"),
        size: bytes,
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(&bound[3], 0, &staging, 0, bytes);
    queue.submit([encoder.finish()]);
    staging.map_async(wgpu::MapMode::Read, .., |_| {});
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let rows = bytemuck::pod_collect_to_vec(&staging.get_mapped_range(..)?);
    Ok(rows)
}

/// Compares with the CPU engine. Returns milliseconds of rays and of points.
fn check_on_cpu(
    mesh: &[[Point; 3]],
    scene: Scene<'_>,
    directions: &[Point],
    points: &[Point],
    found: &[[u32; 4]],
) -> Result<[f64; 2], Box<dyn Error>> {
    let descriptor = BroadPhaseDescriptor {
        pairs: false,
        filters: false,
        ..BroadPhaseDescriptor::default()
    };
    let mut broad_phase = CpuBroadPhase::new(&descriptor)?;
    broad_phase.step_scene(&scene)?;
    let rays: Vec<_> = directions
        .iter()
        .map(|&direction| Ray::new(EYE, direction, 100.0))
        .collect();
    let hit = |triangle: u32, origin: Point, direction: Point, t_max: f32| {
        hit_triangle(&mesh[triangle as usize], origin, direction, t_max)
    };
    // Trees are built by the first search.
    broad_phase.closest_shapes(rays[..1].into(), &hit)?;
    let start = Instant::now();
    let hits = broad_phase.closest_shapes(rays[..].into(), &hit)?;
    let ms = 1e3 * start.elapsed().as_secs_f64();
    let mut others = 0;
    for (row, hit) in found.iter().zip(&hits) {
        // At the silhouette, rounding decides.
        others += usize::from((row[0] == RayHit::MISS.object) != (*hit == RayHit::MISS));
        if row[0] != RayHit::MISS.object && *hit != RayHit::MISS {
            others += usize::from(agree(f32::from_bits(row[1]), hit.t).is_err());
        }
    }
    let (lit, shadows): (Vec<_>, Vec<_>) = std::iter::zip(&hits, directions)
        .zip(found)
        .filter(|((hit, _), row)| **hit != RayHit::MISS && row[0] != RayHit::MISS.object)
        .map(|((hit, &direction), row)| {
            (
                row[2] == 0,
                Ray::new(shadow_origin(EYE, direction, hit.t), LIGHT, 100.0),
            )
        })
        .unzip();
    let covers = broad_phase.any_shapes(shadows[..].into(), &hit)?;
    others += std::iter::zip(lit, covers)
        .filter(|(lit, cover)| *lit != (*cover == RayHit::MISS))
        .count();
    println!(
        "{others} of {} rays and shadows differ on the CPU, by rounding",
        hits.len()
    );
    if others > hits.len() / 1000 {
        return Err("that is more than rounding explains".into());
    }
    let queries: Vec<_> = points.iter().map(|&point| Query::sphere(point, 100.0)).collect();
    let distance = |triangle: u32, point: Point| triangle_distance(&mesh[triangle as usize], point);
    let start = Instant::now();
    let nearest = broad_phase.nearest_shapes(&queries, &distance)?;
    let ms_near = 1e3 * start.elapsed().as_secs_f64();
    for (row, nearest) in found[directions.len()..].iter().zip(nearest) {
        let (_, distance) = nearest.ok_or("a mesh is near each point")?;
        agree(f32::from_bits(row[1]), distance)?;
    }
    Ok([ms, ms_near])
}

fn draw(path: &Path, mesh: &[[Point; 3]], seen: &[[u32; 4]]) -> Result<(), Box<dyn Error>> {
    let color = |hit: &[u32; 4]| {
        if hit[0] == RayHit::MISS.object {
            return [16u8, 18, 24];
        }
        let [a, b, c] = mesh[hit[0] as usize];
        let normal = unit(cross(difference(b, a), difference(c, a)));
        let facing = dot(normal, LIGHT).abs();
        let light = 0.25 + if hit[2] == 1 { 0.0 } else { 0.75 * facing };
        let surface = if (hit[0] as usize) < FLOOR {
            [120.0, 130.0, 145.0]
        } else {
            [255.0, 150.0, 70.0]
        };
        scaled(surface, light).map(|channel| channel as u8)
    };
    let pixels: Vec<_> = seen.iter().map(color).collect();
    let file = std::io::BufWriter::new(std::fs::File::create(path)?);
    let mut encoder = png::Encoder::new(file, PIXELS as u32, PIXELS as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(pixels.as_flattened())?;
    Ok(())
}
