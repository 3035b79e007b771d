//! For physics engines: a narrow phase on the GPU. An indirect dispatch tests the spheres of each pair of boxes for
//! contact, so the host never needs the number of pairs. It reads the contacts at the end, to check and draw them.
//!
//! ```sh
//! cargo run --release --example narrow_phase -- [--output DIR]
//! ```
//!
//! With `--output`, `DIR/narrow_phase.png` shows a slice of the spheres. Touching spheres are coloured.

use std::error::Error;
use std::path::Path;

use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, DispatchArgs, GpuBroadPhase, Output, Pair, Scene, Source, block_on, wgpu,
};

const SPHERES: usize = 20_000;
/// Edge of the cube in which spheres have their centres.
const SIDE: f32 = 60.0;
/// Width and height of the picture, in pixels.
const PIXELS: usize = 720;

/// Layout as in the shader.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Sphere {
    center: [f32; 3],
    radius: f32,
}

/// Layout as in the shader.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Contact {
    normal: [f32; 3],
    depth: f32,
}

struct Found {
    pairs: Vec<Pair>,
    contacts: Vec<Contact>,
    /// Number of touching pairs.
    count: u32,
}

impl Sphere {
    fn bounds(&self) -> Aabb {
        let [low, high] = [-self.radius, self.radius].map(|reach| self.center.map(|middle| middle + reach));
        Aabb::new(low, high)
    }

    fn depth(&self, other: &Self) -> f32 {
        let squares: f32 = (0..3)
            .map(|axis| (other.center[axis] - self.center[axis]).powi(2))
            .sum();
        self.radius + other.radius - squares.sqrt()
    }
}

fn spheres() -> Vec<Sphere> {
    // Pseudorandom numbers after Lehmer (1949), modulo 2^31 - 1.
    let mut state = 1u64;
    let mut unit = || {
        state = state * 48_271 % ((1 << 31) - 1);
        state as f32 / (1u64 << 31) as f32
    };
    let sphere = |_| Sphere {
        center: [0; 3].map(|_| SIDE * unit()),
        radius: 0.3 + 0.9 * unit(),
    };
    (0..SPHERES).map(sphere).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let output = match &std::env::args().skip(1).collect::<Vec<_>>()[..] {
        [] => None,
        [flag, directory] if flag == "--output" => Some(directory.clone()),
        _ => return Err("usage: narrow_phase [--output DIR]".into()),
    };
    let spheres = spheres();
    let adapter = block_on(wgpu::Instance::default().request_adapter(&Default::default()))?;
    println!("{}", adapter.get_info().name);
    let (device, queue) = block_on(adapter.request_device(&GpuBroadPhase::device_descriptor(&adapter)))?;
    let Found { pairs, contacts, count } = find_contacts(&device, &queue, &spheres)?;
    println!("{SPHERES} spheres, {} pairs of boxes, {count} contacts", pairs.len());

    let expected: Vec<_> = pairs
        .iter()
        .map(|pair| spheres[pair.a as usize].depth(&spheres[pair.b as usize]))
        .collect();
    let differences = std::iter::zip(&contacts, &expected).map(|(contact, depth)| (contact.depth - depth).abs());
    let worst = differences.fold(0.0, f32::max);
    println!("depths differ from the CPU's by {worst:.1e} at most");
    if worst > 1e-4 {
        return Err("that is more than rounding explains".into());
    }
    if let Some(directory) = output {
        std::fs::create_dir_all(&directory)?;
        let path = Path::new(&directory).join("narrow_phase.png");
        draw(&path, &spheres, &pairs, &contacts)?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

fn find_contacts(device: &wgpu::Device, queue: &wgpu::Queue, spheres: &[Sphere]) -> Result<Found, Box<dyn Error>> {
    let pipeline = pipeline(device);
    let mut broad_phase = GpuBroadPhase::new(device, queue, &BroadPhaseDescriptor::default())?;
    let mut args = DispatchArgs::new(None);
    let boxes: Vec<_> = spheres.iter().map(Sphere::bounds).collect();
    let input = Scene {
        objects: Source::Host(&boxes),
        ..Scene::default()
    };

    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("frame") });
    let step = broad_phase.step(&mut encoder, input)?;
    let args = args.record(&mut encoder, &step, Output::Pairs, 64)?;
    let pairs = step.pairs.ok_or("the descriptor asks for pairs")?;
    // One contact per row of the pair buffer.
    let contacts = storage(
        device,
        "contacts",
        u64::from(pairs.capacity) * size_of::<Contact>() as u64,
    );
    let count = storage(device, "contact count", 4);
    let sphere_buffer = device.create_buffer_init(&BufferInitDescriptor {
        label: Some("spheres"),
        contents: bytemuck::cast_slice(spheres),
        usage: wgpu::BufferUsages::STORAGE,
    });
    let bound = [&sphere_buffer, &pairs.buffer, &args, &contacts, &count];
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("narrow phase"),
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[0, 1, 2, 3, 4].map(|binding| wgpu::BindGroupEntry {
            binding,
            resource: bound[binding as usize].as_entire_binding(),
        }),
    });
    {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("narrow phase"),
            timestamp_writes: None,
        });
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups_indirect(&args, 0);
    }
    queue.submit([encoder.finish()]);

    // Results are read back only for the check.
    let result = pollster::block_on(broad_phase.read_back())?;
    if !result.counters.is_complete() {
        // A frame loop continues here: the next step has enough space.
        return Err("there are more pairs than the first step has room for".into());
    }
    let rows = result.pairs.len();
    let contacts = download(device, queue, &contacts, rows)?;
    let count: Vec<u32> = download(device, queue, &count, 1)?;
    Ok(Found {
        pairs: result.pairs,
        contacts,
        count: count[0],
    })
}

fn pipeline(device: &wgpu::Device) -> wgpu::ComputePipeline {
    let module = device.create_shader_module(wgpu::include_wgsl!("narrow_phase.wgsl"));
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("narrow phase"),
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: Default::default(),
        cache: None,
    })
}

fn storage(device: &wgpu::Device, label: &str, size: u64) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size,
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: false,
    })
}

fn download<T: bytemuck::Pod>(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    buffer: &wgpu::Buffer,
    rows: usize,
) -> Result<Vec<T>, Box<dyn Error>> {
    let bytes = (rows * size_of::<T>()) as u64;
    let staging = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("read back"),
        size: bytes.max(4),
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, bytes);
    queue.submit([encoder.finish()]);
    // Mapping errors are reported by `get_mapped_range`.
    staging.map_async(wgpu::MapMode::Read, .., |_| {});
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let rows = bytemuck::pod_collect_to_vec(&staging.get_mapped_range(..bytes)?);
    Ok(rows)
}

/// A slice through the middle of the cube. Spheres darken towards their rim; touching ones are coloured.
fn draw(path: &Path, spheres: &[Sphere], pairs: &[Pair], contacts: &[Contact]) -> Result<(), Box<dyn Error>> {
    let mut touches = vec![false; spheres.len()];
    for (pair, _) in std::iter::zip(pairs, contacts).filter(|(_, contact)| contact.depth >= 0.0) {
        for sphere in [pair.a, pair.b] {
            touches[sphere as usize] = true;
        }
    }
    let scale = SIDE / PIXELS as f32;
    let mut pixels = vec![[16u8, 18, 24]; PIXELS * PIXELS];
    for (sphere, touches) in std::iter::zip(spheres, touches) {
        let height = sphere.center[2] - SIDE / 2.0;
        let cut = sphere.radius.powi(2) - height.powi(2);
        if cut <= 0.0 {
            continue;
        }
        let reach = cut.sqrt();
        let color: [f32; 3] = if touches {
            [255.0, 140.0, 60.0]
        } else {
            [110.0, 130.0, 150.0]
        };
        let [columns, rows] = [0, 1].map(|axis| {
            let middle = sphere.center[axis];
            let pixel = |place: f32| ((place / scale).max(0.0) as usize).min(PIXELS);
            pixel(middle - reach)..pixel(middle + reach + scale)
        });
        for row in rows {
            for column in columns.clone() {
                let [x, y] = [column, row].map(|pixel| (pixel as f32 + 0.5) * scale);
                let squares = (x - sphere.center[0]).powi(2) + (y - sphere.center[1]).powi(2);
                if squares <= cut {
                    let light = 0.45 + 0.55 * (1.0 - squares / cut).sqrt();
                    pixels[row * PIXELS + column] = color.map(|channel| (channel * light) as u8);
                }
            }
        }
    }
    let file = std::io::BufWriter::new(std::fs::File::create(path)?);
    let mut encoder = png::Encoder::new(file, PIXELS as u32, PIXELS as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(pixels.as_flattened())?;
    Ok(())
}
