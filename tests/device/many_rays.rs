//! Enough rays to be sorted by their start. With little memory, only the order of a ray's hits may change.

use std::collections::BTreeSet;

use crate::common::{KINDS, Rng, TestAdapter, adapters, scene};
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, CreateError, DescriptorError, GpuBroadPhase, InputError, OutputOptions, Page,
    QueryInput, Ray, RayMode, Rays, Scene, Scheme, SortStrategy, Source, Statics, Status, StepError, StepResult, wgpu,
};
use pollster::block_on;
use wild::answers::by_object;

/// Numbers of rays: below and at the threshold of sorting, and one that does not fill its last workgroup.
const COUNTS: [usize; 3] = [4095, 4096, 5003];

struct Device<'a> {
    adapter: &'a TestAdapter,
    broad_phase: GpuBroadPhase,
}

impl<'a> Device<'a> {
    fn new(adapter: &'a TestAdapter, descriptor: &BroadPhaseDescriptor<'_>) -> Self {
        let broad_phase = GpuBroadPhase::new(&adapter.device, &adapter.queue, descriptor).unwrap();
        Self { adapter, broad_phase }
    }

    fn read(&mut self, encoder: wgpu::CommandEncoder) -> StepResult {
        let queue = &self.adapter.queue;
        queue.submit([encoder.finish()]);
        block_on(self.broad_phase.read_back()).unwrap()
    }

    fn record(&mut self, objects: &[Aabb], statics: usize, rays: &[Ray]) -> Result<wgpu::CommandEncoder, StepError> {
        let device = &self.adapter.device;
        let (statics, moving) = objects.split_at(statics);
        let input = Scene {
            objects: Source::Host(moving),
            statics: Statics {
                objects: Source::Host(statics),
                ..Default::default()
            },
            query: QueryInput {
                rays: Rays::Plain(Source::Host(rays)),
                ..QueryInput::default()
            },
            ..Default::default()
        };
        let mut encoder = device.create_command_encoder(&Default::default());
        self.broad_phase.step(&mut encoder, input)?;
        Ok(encoder)
    }

    fn step(&mut self, objects: &[Aabb], statics: usize, rays: &[Ray]) -> StepResult {
        let encoder = self.record(objects, statics, rays).unwrap();
        self.read(encoder)
    }

    fn query(&mut self, rays: &[Ray]) -> StepResult {
        let device = &self.adapter.device;
        let input = QueryInput {
            rays: Rays::Plain(Source::Host(rays)),
            ..Default::default()
        };
        let mut encoder = device.create_command_encoder(&Default::default());
        self.broad_phase.query(&mut encoder, input).unwrap();
        self.read(encoder)
    }

    fn page(&mut self, first: Page) -> StepResult {
        let device = &self.adapter.device;
        let mut encoder = device.create_command_encoder(&Default::default());
        self.broad_phase.page(&mut encoder, first).unwrap();
        self.read(encoder)
    }
}

fn hits_of(result: &StepResult, ray: usize) -> Vec<(u32, u32)> {
    let [begin, end] = [ray, ray + 1].map(|ray| result.ray_offsets[ray] as usize);
    by_object(&result.ray_hits[begin..end])
}

fn of(result: &StepResult) -> (Vec<u32>, Vec<(u32, u32)>) {
    let hits = result.ray_hits.iter().map(|hit| (hit.object, hit.t.to_bits()));
    (result.ray_offsets.clone(), hits.collect())
}

#[test]
fn many_rays_meet_what_brute_force_says_whatever_is_kept_of_them() {
    let mut rng = Rng(41);
    for adapter in adapters() {
        let schemes = [
            Scheme::Hierarchical,
            Scheme::Adaptive { min_scale: 0.5 },
            Scheme::Uniform { cell_size: 2.0 },
        ];
        for (kind, (scheme, statics)) in (0..KINDS).zip(schemes.into_iter().zip([0, 150, 40]).cycle()) {
            let count = COUNTS[kind % COUNTS.len()];
            let given = scene(kind, 180, count, &mut rng);
            let rays: Vec<Ray> = given.rays.iter().copied().cycle().take(count).collect();
            let objects = &given.objects;
            let statics = statics.min(objects.len());
            let expected = brute_force::rays_all(objects, &rays);
            let what = format!(
                "{}, {scheme:?}, {count} rays, {statics} static, {}",
                given.name, adapter.name
            );
            let descriptor = BroadPhaseDescriptor {
                scheme,
                pairs: false,
                outputs: OutputOptions {
                    ray_mode: RayMode::All,
                    ..Default::default()
                },
                sort: [SortStrategy::Auto, SortStrategy::Portable][kind % 2],
                ..Default::default()
            };
            let mut device = Device::new(&adapter, &descriptor);
            let mut steps: Vec<_> = (0..4).map(|_| device.step(objects, statics, &rays)).collect();
            assert_eq!(steps[3].counters.status, Status::default(), "{what}");
            for (ray, expected) in expected.iter().enumerate() {
                assert_eq!(hits_of(&steps[3], ray), by_object(expected), "{what}, ray {ray}");
            }
            assert_eq!(of(&steps[2]), of(&steps[3]), "{what}");
            let whole = of(&steps[3]);
            let first = of(&steps.remove(0)).1;
            assert_eq!(whole.1[..first.len()], first, "{what}");
            assert_eq!(of(&device.query(&rays)), whole, "{what}");
            let middle = whole.1.len() / 2;
            let window = device.page(Page {
                hits: middle as u32,
                ..Default::default()
            });
            assert_eq!(of(&window).1, whole.1[middle..], "{what}");
            let limited = |limit| BroadPhaseDescriptor {
                outputs: OutputOptions {
                    max_bytes: Some(limit),
                    ..descriptor.outputs
                },
                ..descriptor
            };
            let no_step = GpuBroadPhase::new(&adapter.device, &adapter.queue, &limited(1)).err();
            let Some(CreateError::Descriptor(DescriptorError::NoStepFits(InputError::MemoryLimit { needed, .. }))) =
                no_step
            else {
                panic!("{what}: {no_step:?}");
            };
            let refused = Device::new(&adapter, &limited(needed)).record(objects, statics, &rays);
            let Err(StepError::Input(InputError::MemoryLimit { needed, .. })) = refused else {
                panic!("{what}: {refused:?}");
            };
            let prefix = Device::new(&adapter, &limited(needed)).step(objects, statics, &rays);
            let (offsets, hits) = of(&prefix);
            assert_eq!(offsets, whole.0, "{what}");
            // Little memory leaves no room for clusters, so the order of a ray's hits changes.
            for (ray, ends) in offsets.windows(2).enumerate() {
                let [begin, end] = [ends[0] as usize, ends[1] as usize];
                let shown = &hits[begin.min(hits.len())..end.min(hits.len())];
                let of_ray = &whole.1[begin..end];
                let (shown, of_ray): (BTreeSet<_>, BTreeSet<_>) = (shown.iter().collect(), of_ray.iter().collect());
                let is_complete = end <= hits.len();
                assert!(shown.is_subset(&of_ray), "{what}, ray {ray}");
                assert!(!is_complete || shown == of_ray, "{what}, ray {ray}");
            }

            for ray_mode in [RayMode::Closest, RayMode::Any] {
                let descriptor = BroadPhaseDescriptor {
                    outputs: OutputOptions {
                        ray_mode,
                        ..descriptor.outputs
                    },
                    ..descriptor
                };
                let result = Device::new(&adapter, &descriptor).step(objects, statics, &rays);
                for (ray, expected) in expected.iter().enumerate() {
                    if ray_mode == RayMode::Any {
                        assert_eq!(
                            result.ray_any[ray],
                            u32::from(!expected.is_empty()),
                            "{what}, ray {ray}"
                        );
                    } else {
                        let [found, closest] = [result.ray_hits[ray], brute_force::closest(expected)];
                        assert_eq!(by_object(&[found]), by_object(&[closest]), "{what}, ray {ray}");
                    }
                }
            }
        }
    }
}
