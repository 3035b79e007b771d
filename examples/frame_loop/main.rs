//! For physics engines: a frame loop without a window, with moving and static objects, a narrow phase,
//! begin and end events on the host, rays through a query set, and growing outputs. Each frame is one encoder, and no
//! call waits. Later frames recover from a dropped encoder. The last is compared with the CPU.

use std::collections::VecDeque;
use std::error::Error;

use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, DispatchArgs, GpuBroadPhase, Handle, ObjectSet, Output, OutputOptions,
    Pair, PairTracker, QueryInput, QuerySet, Ray, RayMode, ReadBackError, Readback, ResultOrder, Scene, StepError,
    StepResult, Uses, block_on, cpu, wgpu,
};

const FRAMES: usize = 120;
const MOVING: usize = 2000;
const STATIC: usize = 200;
const RAYS: usize = 50;
const IN_FLIGHT: usize = 3;

const NARROW_PHASE: &str = "
@group(0) @binding(0) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read> args: array<u32>;
@group(0) @binding(2) var<storage, read_write> rows: array<atomic<u32>>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row = (group.y * 65535u + group.x) * 64u + lane;
    if row < args[3] && pairs[row].x < pairs[row].y {
        atomicAdd(&rows[0], 1u);
    }
}";

struct Random(u32);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as f32 / (1 << 23) as f32 - 1.0
    }

    fn vector(&mut self, size: f32) -> [f32; 3] {
        [(); 3].map(|()| self.next() * size)
    }
}

struct Body {
    handle: Handle,
    home: [f32; 3],
    phase: f32,
}

#[derive(Default)]
struct Seen {
    begun: usize,
    ended: usize,
    hit_answers: usize,
    partial_hit_answers: usize,
    lost_hit_answers: usize,
    last_hits: Option<(usize, StepResult)>,
    skipped_frames: usize,
    overflows: Vec<(usize, u64, u32)>,
}

struct World {
    device: wgpu::Device,
    queue: wgpu::Queue,
    objects: ObjectSet,
    bodies: Vec<Body>,
    broad_phase: GpuBroadPhase,
    tracker: PairTracker,
    contacts: DispatchArgs,
    sensors: QuerySet,
    narrow_phase: wgpu::ComputePipeline,
    rows: wgpu::Buffer,
    row_log: wgpu::Buffer,
    hits: VecDeque<(usize, Readback<StepResult>)>,
    seen: Seen,
}

impl World {
    fn new(adapter: &wgpu::Adapter) -> Result<Self, Box<dyn Error>> {
        let (device, queue) = block_on(adapter.request_device(&GpuBroadPhase::device_descriptor(adapter)))?;
        // Too small on purpose, so that pairs and hits overflow.
        let capacities = Capacities {
            pairs: Some(256),
            hits: Some(16),
            ..Capacities::default()
        };
        let outputs = OutputOptions {
            capacities,
            ..OutputOptions::default()
        };
        let descriptor = BroadPhaseDescriptor {
            outputs,
            ..BroadPhaseDescriptor::default()
        };
        let broad_phase = GpuBroadPhase::new(&device, &queue, &descriptor)?;
        let all_hits = OutputOptions {
            ray_mode: RayMode::All,
            order: ResultOrder::Sorted,
            ..outputs
        };
        let mut sensors = broad_phase.query_set("sensors", &all_hits)?;
        let tracker = PairTracker::new(None);
        let contacts = DispatchArgs::new(None).complete_only();

        let mut random = Random(7);
        let mut objects = ObjectSet::with_capacity(MOVING);
        for _ in 0..STATIC {
            objects.insert_static(Aabb::from_center_half(random.vector(16.0), [1.5; 3]));
        }
        let bodies = (0..MOVING)
            .map(|_| {
                let home = random.vector(16.0);
                let handle = objects.insert(Aabb::from_center_half(home, [0.7; 3]));
                Body {
                    handle,
                    home,
                    phase: random.next() * 3.0,
                }
            })
            .collect();

        broad_phase
            .prepare(Uses {
                statics: true,
                ..Uses::default()
            })
            .and(objects.prepare(&broad_phase))
            .and(tracker.prepare(&broad_phase))
            .and(contacts.prepare(&broad_phase))
            .and(sensors.prepare(
                &broad_phase,
                Uses {
                    rays: true,
                    ..Uses::default()
                },
            ))
            .run()?;

        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("narrow phase"),
            source: wgpu::ShaderSource::Wgsl(NARROW_PHASE.into()),
        });
        let narrow_phase = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("narrow phase"),
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: Default::default(),
            cache: None,
        });
        let buffer = |label, size, usage| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size,
                usage,
                mapped_at_creation: false,
            })
        };
        let copied = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let rows = buffer("rows", 4, wgpu::BufferUsages::STORAGE | copied);
        let read = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let row_log = buffer("row log", 4 * FRAMES as u64, read);
        Ok(Self {
            device,
            queue,
            objects,
            bodies,
            broad_phase,
            tracker,
            contacts,
            sensors,
            narrow_phase,
            rows,
            row_log,
            hits: VecDeque::new(),
            seen: Seen::default(),
        })
    }

    fn simulate(&mut self, frame: usize) -> Result<(), Box<dyn Error>> {
        let shrink = 1.0 - 0.4 * frame as f32 / FRAMES as f32;
        let turn = 0.05 * frame as f32;
        for body in &self.bodies {
            let center = body.home.map(|x| x * shrink + (turn + body.phase + x).sin());
            let bounds = Aabb::from_center_half(center, [0.7; 3]);
            self.objects.move_to(body.handle, bounds.min, bounds.max)?;
        }
        Ok(())
    }

    fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        frame: usize,
        rays: &[Ray],
    ) -> Result<Readback<StepResult>, StepError> {
        let input = self.objects.upload(&self.device, encoder)?;
        let step = self.broad_phase.step(encoder, input)?;
        self.tracker.record(encoder, &step, self.objects.names())?;

        let pairs = step
            .pairs
            .as_ref()
            .ok_or(StepError::NoOutput { output: Output::Pairs })?;
        let args = self.contacts.record(encoder, &step, Output::Pairs, 64)?;
        let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("narrow phase"),
            layout: &self.narrow_phase.get_bind_group_layout(0),
            entries: &[(0, &pairs.buffer), (1, &args), (2, &self.rows)].map(|(binding, buffer)| wgpu::BindGroupEntry {
                binding,
                resource: buffer.as_entire_binding(),
            }),
        });
        encoder.clear_buffer(&self.rows, 0, None);
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&self.narrow_phase);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups_indirect(&args, 0);
        drop(pass);
        encoder.copy_buffer_to_buffer(&self.rows, 0, &self.row_log, 4 * frame as u64, 4);

        let asked = QueryInput {
            rays: rays.into(),
            ..QueryInput::default()
        };
        self.sensors.record(encoder, &step, asked)?;
        self.sensors.record_read_back(encoder, &[Output::RayHits])
    }

    fn receive(&mut self, frame: usize) -> Result<(), Box<dyn Error>> {
        while let Some(changes) = self.tracker.update()? {
            self.seen.begun += changes.begun.len();
            self.seen.ended += changes.ended.len();
        }
        if let Some(counters) = self.broad_phase.counters()
            && !counters.is_complete()
        {
            self.seen
                .overflows
                .push((frame, counters.pairs_needed, counters.pairs_capacity));
        }
        while let Some((asked_in, later)) = self.hits.front_mut() {
            match later.take() {
                None => break,
                Some(Ok(result)) => {
                    self.seen.hit_answers += 1;
                    self.seen.partial_hit_answers += usize::from(!result.counters.is_complete());
                    self.seen.last_hits = Some((*asked_in, result));
                }
                Some(Err(ReadBackError::NotSubmitted)) => self.seen.lost_hit_answers += 1,
                Some(Err(error)) => return Err(error.into()),
            }
            self.hits.pop_front();
        }
        Ok(())
    }

    fn run(&mut self, dropped_frame: Option<usize>) -> Result<(), Box<dyn Error>> {
        let mut in_flight = VecDeque::new();
        for frame in 0..FRAMES {
            // At most `IN_FLIGHT` frames are in flight, as with a swapchain.
            if in_flight.len() == IN_FLIGHT {
                let submission_index = in_flight.pop_front();
                self.device.poll(wgpu::PollType::Wait {
                    submission_index,
                    timeout: None,
                })?;
            }
            self.receive(frame)?;
            self.simulate(frame)?;
            let rays = rays(frame);
            let mut encoder = self.device.create_command_encoder(&Default::default());
            match self.record(&mut encoder, frame, &rays) {
                Ok(hits) => {
                    self.hits.push_back((frame, hits));
                    if dropped_frame == Some(frame) {
                        drop(encoder);
                    } else {
                        in_flight.push_back(self.queue.submit([encoder.finish()]));
                    }
                }
                // The previous encoder was dropped, so this frame is skipped. The next has results again.
                Err(StepError::Dropped) => self.seen.skipped_frames += 1,
                Err(error) => return Err(error.into()),
            }
        }
        self.device.poll(wgpu::PollType::wait_indefinitely())?;
        self.receive(FRAMES)
    }

    fn check(&self) -> Result<(), Box<dyn Error>> {
        let frame = FRAMES - 1;
        let rays = rays(frame);
        let scene = Scene {
            query: QueryInput {
                rays: rays[..].into(),
                ..QueryInput::default()
            },
            ..self.objects.scene()
        };
        let descriptor = BroadPhaseDescriptor {
            outputs: *self.sensors.options(),
            ..self.broad_phase.descriptor()
        };
        let expected = cpu::step_scene(&descriptor, &scene)?;
        assert!(expected.counters.is_complete());

        assert!(self.tracker.is_synced() && self.tracker.in_flight() == 0);
        let mut known = Vec::new();
        for event in self.tracker.pairs() {
            let [a, b] = <[Handle; 2]>::from(event);
            known.push(Pair::new(self.objects.object_of(a)?, self.objects.object_of(b)?));
        }
        known.sort();
        assert_eq!(known, expected.pairs);
        assert_eq!(self.seen.begun - self.seen.ended, known.len());

        let (asked_in, hits) = self.seen.last_hits.as_ref().ok_or("no hits have arrived")?;
        assert_eq!(*asked_in, frame);
        assert!(hits.counters.is_complete());
        assert_eq!(hits.ray_offsets, expected.ray_offsets);
        assert_eq!(hits.ray_hits, expected.ray_hits);

        let slice = self.row_log.slice(..);
        slice.map_async(wgpu::MapMode::Read, |mapped| mapped.expect("the row log is mapped"));
        self.device.poll(wgpu::PollType::wait_indefinitely())?;
        let rows: Vec<u32> = slice
            .get_mapped_range()?
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        assert_eq!(rows[frame] as usize, known.len());

        let seen = &self.seen;
        println!(
            "  {} pairs and {} hits of {RAYS} rays, as on the CPU",
            known.len(),
            hits.ray_hits.len()
        );
        println!("  {} pairs began, {} ended", seen.begun, seen.ended);
        println!(
            "  {} answers of rays ({} in part), {} lost, {} frames skipped",
            seen.hit_answers, seen.partial_hit_answers, seen.lost_hit_answers, seen.skipped_frames
        );
        println!("  overflows (learnt in frame, needed, room): {:?}", seen.overflows);
        let idle: Vec<usize> = (0..FRAMES).filter(|&frame| rows[frame] == 0).collect();
        println!("  frames without a narrow phase: {idle:?}");
        Ok(())
    }
}

fn rays(frame: usize) -> [Ray; RAYS] {
    let mut random = Random(frame as u32 * 977 + 1);
    [(); RAYS].map(|()| {
        let [x, y, _] = random.vector(10.0);
        let [dx, dy, _] = random.vector(0.3);
        Ray::new([x, y, 30.0], [dx, dy, -1.0], 100.0)
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let instance = wgpu::Instance::default();
    let adapter = block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))?;
    println!("{:?}", adapter.get_info());
    for dropped_frame in [None, Some(60), Some(0), Some(FRAMES - 2)] {
        println!("dropped frame: {dropped_frame:?}");
        let mut world = World::new(&adapter)?;
        world.run(dropped_frame)?;
        world.check()?;
    }
    Ok(())
}
