use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::common::steps::{
    SCHEMES, broad_phase, by_object, descriptor, download, encoder, hits_by_ray, read, record, scene_of, sorted,
    submit, whole,
};
use crate::common::{Rng, TestAdapter, adapters, lattice, power_law, uniform};
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::{
    Aabb, BroadPhase, GpuBroadPhase, ObjectSet, Pair, Ray, RayMode, Scene, Scheme, StepResult, wgpu,
};

const fn is_send_and_sync<T: Send + Sync>() {}
const _: () = is_send_and_sync::<GpuBroadPhase>();
const _: () = is_send_and_sync::<BroadPhase>();
const _: () = is_send_and_sync::<ObjectSet>();
const _: () = is_send_and_sync::<StepResult>();

struct Case {
    scheme: Scheme,
    objects: Vec<Aabb>,
    rays: Vec<Ray>,
    pairs: Vec<Pair>,
    hits: Vec<Vec<(u32, u32)>>,
}

impl Case {
    fn new(number: usize) -> Self {
        let mut rng = Rng(number as u64);
        let count = 150 + 83 * (number % 5);
        let objects = [uniform, power_law, lattice][number / 3 % 3](count, &mut rng);
        let ray = |_| {
            let [from, to] = [0; 2].map(|_| objects[rng.below(count)].min);
            Ray::new(from, [0, 1, 2].map(|axis| to[axis] - from[axis]), 3.0)
        };
        let rays: Vec<_> = (0..20 + number % 7).map(ray).collect();
        let hits = brute_force::rays_all(&objects, &rays);
        Self {
            scheme: SCHEMES[number % 3],
            pairs: brute_force::pairs(&objects),
            hits: hits.iter().map(|hits| by_object(hits)).collect(),
            objects,
            rays,
        }
    }

    fn with_capacities(&self, adapter: &TestAdapter, rows: u32, entries: u32) -> GpuBroadPhase {
        let descriptor = descriptor(|all| {
            (all.scheme, all.outputs.ray_mode) = (self.scheme, RayMode::All);
            let capacities = &mut all.outputs.capacities;
            (capacities.pairs, capacities.hits, capacities.entries) = (Some(rows), Some(rows), Some(entries));
        });
        broad_phase(adapter, &descriptor)
    }

    fn broad_phase(&self, adapter: &TestAdapter) -> GpuBroadPhase {
        self.with_capacities(adapter, 1 << 15, 1 << 15)
    }

    fn scene(&self) -> Scene<'_> {
        let mut scene = scene_of(&self.objects);
        scene.query.rays = self.rays[..].into();
        scene
    }

    fn record(&self, on_gpu: &mut GpuBroadPhase, encoder: &mut wgpu::CommandEncoder) -> wgpu::Buffer {
        record(on_gpu, encoder, self.scene()).pairs.unwrap().buffer
    }

    fn check(&self, result: StepResult) {
        assert!(result.counters.is_complete() && self.pairs.len() > 20);
        assert_eq!(hits_by_ray(&result), self.hits, "{:?}", self.scheme);
        assert_eq!(sorted(result.pairs), self.pairs, "{:?}", self.scheme);
    }

    fn step_and_check(&self, adapter: &TestAdapter, on_gpu: &mut GpuBroadPhase) {
        submit(adapter, on_gpu, self.scene());
        self.check(read(on_gpu));
    }

    fn check_buffer(&self, adapter: &TestAdapter, pairs: &wgpu::Buffer) {
        let found = download(&adapter.device, &adapter.queue, pairs, 8 * self.pairs.len() as u64);
        assert_eq!(sorted(found), self.pairs, "{:?}", self.scheme);
    }
}

fn run<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(work).join().unwrap())
}

/// Each broad phase has two steps in different encoders.
#[test]
fn steps_of_many_broad_phases_and_encoders_do_not_mix() {
    for adapter in adapters() {
        let cases: Vec<_> = (0..6).map(Case::new).collect();
        let mut on_gpu: Vec<_> = cases.iter().map(|case| case.broad_phase(&adapter)).collect();
        for round in 0..2 {
            let mut encoders = [0; 4].map(|_| encoder(&adapter));
            for (index, on_gpu) in on_gpu.iter_mut().enumerate() {
                // Broad phase `index` has the scheme of both cases.
                cases[(index + 3) % 6].record(on_gpu, &mut encoders[(index + round) % 2]);
                cases[index].record(on_gpu, &mut encoders[2 + (index + round) % 2]);
            }
            let [a, b, c, d] = encoders.map(|encoder| encoder.finish());
            if round == 0 {
                adapter.queue.submit([b, a, d, c]);
            } else {
                let _ = [b, a, d, c].map(|commands| adapter.queue.submit([commands]));
            }
            for (case, on_gpu) in cases.iter().zip(&mut on_gpu).rev() {
                case.check(read(on_gpu));
            }
        }
    }
}

#[test]
fn a_dropped_broad_phase_leaves_its_results_and_others_alone() {
    for adapter in adapters() {
        for number in 60..63 {
            for moment in ["before submission", "after submission", "with its encoder"] {
                let [gone, remaining] = [number, number + 3].map(Case::new);
                let (mut first, mut other) = (gone.broad_phase(&adapter), remaining.broad_phase(&adapter));
                let [mut encoder, mut own] = [0; 2].map(|_| encoder(&adapter));
                remaining.record(&mut other, &mut encoder);
                gone.record(&mut first, &mut own);
                let pairs = gone.record(&mut first, &mut own);
                let mut third = remaining.broad_phase(&adapter);
                match moment {
                    "before submission" => {
                        drop(first);
                        remaining.record(&mut third, &mut own);
                        adapter.queue.submit([own.finish(), encoder.finish()]);
                    }
                    "after submission" => {
                        remaining.record(&mut third, &mut own);
                        adapter.queue.submit([encoder.finish(), own.finish()]);
                        drop(first);
                    }
                    _ => {
                        drop((own, first));
                        remaining.record(&mut third, &mut encoder);
                        adapter.queue.submit([encoder.finish()]);
                    }
                }
                if moment != "with its encoder" {
                    gone.check_buffer(&adapter, &pairs);
                }
                for on_gpu in [&mut other, &mut third] {
                    remaining.check(read(on_gpu));
                    remaining.step_and_check(&adapter, on_gpu);
                }
            }
        }
    }
}

#[test]
fn a_broad_phase_moves_between_threads_at_every_point_of_a_step() {
    for adapter in adapters() {
        for number in 20..23 {
            let (adapter, case) = (&adapter, &Case::new(number));
            let mut on_gpu = run(|| case.broad_phase(adapter));
            let (mut on_gpu, encoder) = run(move || {
                let mut encoder = encoder(adapter);
                case.record(&mut on_gpu, &mut encoder);
                (on_gpu, encoder)
            });
            run(|| adapter.queue.submit([encoder.finish()]));
            let mut on_gpu = run(|| {
                case.check(read(&mut on_gpu));
                on_gpu
            });
            case.step_and_check(adapter, &mut on_gpu);
        }
    }
}

/// Threads create, grow, read and drop broad phases, while another polls.
#[test]
fn threads_share_a_device() {
    for adapter in adapters() {
        // Compiles every pipeline first. Otherwise a thread may hold a GL device until wgpu assumes a deadlock (see
        // [`adapters`]).
        for case in (30..33).map(Case::new) {
            whole(&adapter, &mut case.with_capacities(&adapter, 3, 8), case.scene());
        }
        let (adapter, is_done) = (&adapter, &AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    let _ = adapter.device.poll(wgpu::PollType::Poll);
                }
            });
            let work = |thread: usize| {
                for number in [30, 34, 38].map(|number| number + thread) {
                    let [case, next] = [number, number + 15].map(Case::new);
                    let mut small = case.with_capacities(adapter, 3, 8);
                    case.check(whole(adapter, &mut small, case.scene()));
                    let mut on_gpu = case.broad_phase(adapter);
                    for case in [&case, &next, &case, &next] {
                        case.step_and_check(adapter, &mut on_gpu);
                        let mut short_lived = case.broad_phase(adapter);
                        submit(adapter, &mut short_lived, case.scene());
                    }
                }
            };
            let threads = [0, 1, 2, 3].map(|thread| scope.spawn(move || work(thread)));
            let ended = threads.map(|thread| thread.join());
            is_done.store(true, Ordering::Relaxed);
            ended.into_iter().for_each(|ended| ended.unwrap());
        });
    }
}
