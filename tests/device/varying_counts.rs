//! Frames whose counts vary create no buffers and no bind groups.

use crate::common::steps::encoder;
use crate::common::{Rng, adapters, uniform};
use gpu_broad_phase::internals::{Work, watch};
use gpu_broad_phase::{
    BroadPhaseDescriptor, GpuBroadPhase, OutputOptions, Pair, Queries, QueryInput, Ray, RayMode, Scene, Scheme, Source,
    Statics, wgpu,
};

const WARM_UP: usize = 20;
const FRAMES: usize = 200;
const MOST: usize = 400;

fn made(log: &[Work]) -> Vec<&Work> {
    let is_made = |work: &&Work| matches!(work, Work::Buffer { .. } | Work::BindGroup { .. });
    log.iter().filter(is_made).collect()
}

#[test]
fn counts_that_vary_by_two_make_nothing_after_a_warm_up() {
    let schemes = [Scheme::Hierarchical, Scheme::Uniform { cell_size: 2.0 }];
    for (adapter, scheme) in adapters()
        .iter()
        .flat_map(|adapter| schemes.map(|scheme| (adapter, scheme)))
    {
        let mut rng = Rng(67);
        let objects = uniform(MOST, &mut rng);
        let statics = uniform(100, &mut rng);
        let rays: Vec<_> = objects
            .iter()
            .map(|from| Ray::new(from.min, [1.0, 0.5, 0.25], 8.0))
            .collect();
        let excluded: Vec<_> = (0..MOST as u32).map(|a| Pair::new(a, a + 1)).collect();
        let outputs = OutputOptions {
            ray_mode: RayMode::All,
            ray_cells: true,
            ..Default::default()
        };
        let descriptor = BroadPhaseDescriptor {
            scheme,
            outputs,
            ..Default::default()
        };
        let mut gpu = GpuBroadPhase::new(&adapter.device, &adapter.queue, &descriptor).unwrap();
        let mut picking = gpu.query_set("picking", &outputs).unwrap();
        let mut counts = Vec::new();
        for frame in 0..WARM_UP + FRAMES {
            // Half of the warm-up has the most of everything.
            let is_most = frame < WARM_UP && frame % 2 == 0;
            let mut of = |most: usize| most - if is_most { 0 } else { rng.below(most / 2 + 1) };
            let [boxes, cast, asked, left_out] = [of(MOST), of(100), of(50), of(200)];
            counts.push(boxes);
            let queries = Queries::Boxes(Source::Host(&objects[..asked]));
            let scene = Scene {
                objects: Source::Host(&objects[..boxes]),
                statics: Statics {
                    objects: Source::Host(&statics),
                    ..Default::default()
                },
                excluded_pairs: Source::Host(&excluded[..left_out]),
                query: QueryInput {
                    rays: Source::Host(&rays[..cast]).into(),
                    queries,
                    ..QueryInput::default()
                },
                ..Default::default()
            };
            let picks = QueryInput {
                rays: Source::Host(&rays[..cast]).into(),
                queries,
                ..Default::default()
            };
            let ((), log) = watch(|| {
                let mut encoder = encoder(adapter);
                let step = gpu.step(&mut encoder, scene).unwrap();
                picking.record(&mut encoder, &step, picks).unwrap();
                adapter.queue.submit([encoder.finish()]);
                adapter.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
            });
            let made = made(&log);
            let what = format!("{scheme:?}, frame {frame} on {}: {made:?}", adapter.name);
            assert!(frame < WARM_UP || made.is_empty(), "{what}");
            assert!(frame > 0 || !made.is_empty(), "{what}");
        }
        assert!(counts.iter().any(|&count| count < MOST * 5 / 8));
    }
}
