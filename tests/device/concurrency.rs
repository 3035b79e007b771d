use std::io::Write;
use std::sync::mpsc;
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::Duration;

use crate::common::steps::{SCHEMES, broad_phase, encoder, hits_by_ray, read, record, sorted, submit, whole};
use crate::common::{Rng, TestAdapter, adapters, lattice, power_law, uniform};
use gpu_broad_phase::cpu;
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::{
    Aabb, BroadPhase, BroadPhaseDescriptor, Capacities, GpuBroadPhase, ObjectSet, OutputOptions, Pair, QueryInput, Ray,
    RayHit, RayMode, Scene, Scheme, Source, StepResult, wgpu,
};

const fn is_free_to_move_and_to_share<T: Send + Sync>() {}
const _: () = is_free_to_move_and_to_share::<GpuBroadPhase>();
const _: () = is_free_to_move_and_to_share::<BroadPhase>();
const _: () = is_free_to_move_and_to_share::<ObjectSet>();
const _: () = is_free_to_move_and_to_share::<StepResult>();

/// Aborts the process unless dropped within twenty minutes.
struct Watchdog {
    _ends_when_dropped: mpsc::Sender<()>,
}

fn watchdog(test: &'static str) -> Watchdog {
    let (sender, receiver) = mpsc::channel::<()>();
    thread::spawn(move || {
        if receiver.recv_timeout(Duration::from_secs(1200)) == Err(RecvTimeoutError::Timeout) {
            // The test harness captures `eprintln`, whose text would be lost with the process.
            let _ = writeln!(std::io::stderr(), "{test}: not done after twenty minutes");
            std::process::abort();
        }
    });
    Watchdog {
        _ends_when_dropped: sender,
    }
}

fn descriptor(scheme: Scheme) -> BroadPhaseDescriptor<'static> {
    BroadPhaseDescriptor {
        scheme,
        outputs: OutputOptions {
            ray_mode: RayMode::All,
            capacities: Capacities {
                pairs: Some(1 << 17),
                hits: Some(1 << 14),
                entries: Some(1 << 15),
                ..Default::default()
            },
            ..Default::default()
        },
        ..Default::default()
    }
}

struct Case {
    scheme: Scheme,
    objects: Vec<Aabb>,
    rays: Vec<Ray>,
    pairs: Vec<Pair>,
    hits: Vec<Vec<RayHit>>,
}

impl Case {
    fn new(number: usize) -> Self {
        let mut rng = Rng(number as u64);
        let count = 150 + 83 * (number % 5);
        let objects = match number / 3 % 3 {
            0 => uniform(count, &mut rng),
            1 => power_law(count, &mut rng),
            _ => lattice(count, &mut rng),
        };
        let ray = |_| {
            let [from, to] = [0; 2].map(|_| objects[rng.below(count)].min);
            Ray::new(from, [0, 1, 2].map(|axis| to[axis] - from[axis]), 3.0)
        };
        let rays: Vec<_> = (0..20 + number % 7).map(ray).collect();
        let case = Self {
            scheme: SCHEMES[number % 3],
            pairs: brute_force::pairs(&objects),
            hits: brute_force::rays_all(&objects, &rays),
            objects,
            rays,
        };
        let on_cpu = cpu::step(&descriptor(case.scheme), &case.objects, &case.rays).unwrap();
        case.check(on_cpu, "the CPU");
        case
    }

    fn each(first: usize) -> [Self; 3] {
        [0, 1, 2].map(|scheme| Self::new(3 * first + scheme))
    }

    fn broad_phase(&self, adapter: &TestAdapter) -> GpuBroadPhase {
        broad_phase(adapter, &descriptor(self.scheme))
    }

    fn input(&self) -> Scene<'_> {
        Scene {
            objects: Source::Host(&self.objects),
            query: QueryInput {
                rays: self.rays.as_slice().into(),
                ..QueryInput::default()
            },
            ..Default::default()
        }
    }

    fn check(&self, result: StepResult, place: &str) {
        let what = format!("{:?} on {place}", self.scheme);
        assert!(result.counters.is_complete() && result.pairs.len() > 20, "{what}");
        let hits: Vec<_> = self
            .hits
            .iter()
            .map(|hits| crate::common::steps::by_object(hits))
            .collect();
        assert_eq!(hits_by_ray(&result), hits, "{what}");
        assert_eq!(sorted(result.pairs), self.pairs, "{what}");
    }

    fn check_read(&self, adapter: &TestAdapter, broad_phase: &mut GpuBroadPhase) {
        self.check(read(broad_phase), &adapter.name);
    }

    fn check_buffer(&self, adapter: &TestAdapter, pairs: &wgpu::Buffer) {
        let bytes = 8 * self.pairs.len() as u64;
        let kept = adapter.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("pairs of a broad phase that is gone"),
            size: bytes,
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        let mut encoder = encoder(adapter);
        encoder.copy_buffer_to_buffer(pairs, 0, &kept, 0, bytes);
        adapter.queue.submit([encoder.finish()]);
        kept.map_async(wgpu::MapMode::Read, .., |mapped| mapped.unwrap());
        adapter.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        let bytes = kept.get_mapped_range(..).unwrap().to_vec();
        assert_eq!(
            sorted(bytemuck::pod_collect_to_vec(&bytes)),
            self.pairs,
            "{}",
            adapter.name
        );
    }
}

#[test]
fn steps_of_several_broad_phases_in_one_encoder_do_not_mix() {
    let _watchdog = watchdog("one encoder");
    for adapter in adapters() {
        let [first, second] = [0, 1].map(Case::each);
        let mut on_gpu = first.each_ref().map(|case| case.broad_phase(&adapter));
        for cases in [[&first, &second], [&second, &first]] {
            let mut encoder = encoder(&adapter);
            for round in cases {
                for (case, on_gpu) in round.iter().zip(&mut on_gpu) {
                    record(on_gpu, &mut encoder, case.input());
                }
            }
            adapter.queue.submit([encoder.finish()]);
            for (case, on_gpu) in cases[1].iter().zip(&mut on_gpu).rev() {
                case.check_read(&adapter, on_gpu);
            }
        }
    }
}

#[test]
fn steps_in_several_encoders_submitted_in_another_order_do_not_mix() {
    let _watchdog = watchdog("several encoders");
    for adapter in adapters() {
        let cases = [2, 3].map(Case::each);
        let cases = cases.as_flattened();
        let mut on_gpu: Vec<_> = cases.iter().map(|case| case.broad_phase(&adapter)).collect();
        for round in 0..2 {
            let mut encoders = [0; 4].map(|_| encoder(&adapter));
            for (index, (case, on_gpu)) in cases.iter().zip(&mut on_gpu).enumerate() {
                record(on_gpu, &mut encoders[(index + round) % 4], case.input());
            }
            let [a, b, c, d] = encoders.map(|encoder| encoder.finish());
            adapter.queue.submit([d, b]);
            adapter.queue.submit([c]);
            adapter.queue.submit([a]);
            for (case, on_gpu) in cases.iter().zip(&mut on_gpu) {
                case.check_read(&adapter, on_gpu);
            }
        }
    }
}

/// Compiles every pipeline before threads start. Otherwise a thread may hold a GL device until wgpu assumes a deadlock
/// (see [`adapters`]).
fn warm_up(adapter: &TestAdapter) {
    for case in Case::each(0) {
        let mut on_gpu = case.broad_phase(adapter);
        submit(adapter, &mut on_gpu, case.input());
        case.check_read(adapter, &mut on_gpu);
    }
}

#[test]
fn steps_of_one_broad_phase_may_be_open_at_once() {
    let _watchdog = watchdog("open at once");
    for adapter in adapters() {
        for case in Case::each(28) {
            let mut on_gpu = case.broad_phase(&adapter);
            let empty = Case {
                objects: Vec::new(),
                ..Case::new(84)
            };
            for together in [false, true] {
                let mut open = [0; 3].map(|_| encoder(&adapter));
                record(&mut on_gpu, &mut open[0], empty.input());
                record(&mut on_gpu, &mut open[1], case.input());
                record(&mut on_gpu, &mut open[2], case.input());
                let buffers = open.map(|encoder| encoder.finish());
                if together {
                    adapter.queue.submit(buffers);
                } else {
                    buffers
                        .into_iter()
                        .for_each(|buffer| _ = adapter.queue.submit([buffer]));
                }
                case.check_read(&adapter, &mut on_gpu);
            }
        }
    }
}

#[test]
fn what_was_submitted_can_be_read_at_once_while_others_poll() {
    let _watchdog = watchdog("others poll");
    for adapter in adapters() {
        let is_done = std::sync::atomic::AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
                        let _ = adapter.device.poll(wgpu::PollType::Poll);
                    }
                });
            }
            let case = Case::new(91);
            let mut on_gpu = case.broad_phase(&adapter);
            for _ in 0..40 {
                submit(&adapter, &mut on_gpu, case.input());
                case.check_read(&adapter, &mut on_gpu);
            }
            is_done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }
}

#[test]
fn threads_with_a_broad_phase_each_share_a_device() {
    for adapter in adapters() {
        warm_up(&adapter);
        let _watchdog = watchdog("threads");
        thread::scope(|scope| {
            for number in 0..4 {
                let adapter = adapter.clone();
                scope.spawn(move || {
                    for scheme in 0..3 {
                        let cases = [0, 5].map(|later| Case::new(30 + number + scheme + 3 * later));
                        let mut on_gpu = cases[0].broad_phase(&adapter);
                        for case in cases.iter().cycle().take(4) {
                            submit(&adapter, &mut on_gpu, case.input());
                            case.check_read(&adapter, &mut on_gpu);
                        }
                    }
                });
            }
        });
    }
}

#[test]
fn threads_grow_their_own_outputs() {
    for adapter in adapters() {
        warm_up(&adapter);
        let _watchdog = watchdog("growth");
        thread::scope(|scope| {
            for scheme in SCHEMES {
                let adapter = adapter.clone();
                scope.spawn(move || {
                    let capacities = Capacities {
                        pairs: Some(3),
                        hits: Some(1),
                        entries: Some(8),
                        ..Default::default()
                    };
                    let small = BroadPhaseDescriptor {
                        outputs: OutputOptions {
                            capacities,
                            ..descriptor(scheme).outputs
                        },
                        ..descriptor(scheme)
                    };
                    let mut on_gpu = broad_phase(&adapter, &small);
                    for number in 0..3 {
                        let mut case = Case::new(50 + number);
                        case.scheme = scheme;
                        case.check(whole(&adapter, &mut on_gpu, case.input()), &adapter.name);
                    }
                });
            }
        });
    }
}

#[test]
fn a_broad_phase_moves_between_threads_at_every_point_of_a_step() {
    let _watchdog = watchdog("moved");
    for adapter in adapters() {
        for case in Case::each(20) {
            let (adapter, case) = (&adapter, &case);
            thread::scope(|scope| {
                let made = scope.spawn(|| case.broad_phase(adapter)).join().unwrap();
                let recorded = scope.spawn(move || {
                    let (mut on_gpu, mut encoder) = (made, encoder(adapter));
                    record(&mut on_gpu, &mut encoder, case.input());
                    (on_gpu, encoder)
                });
                let (on_gpu, encoder) = recorded.join().unwrap();
                scope
                    .spawn(move || adapter.queue.submit([encoder.finish()]))
                    .join()
                    .unwrap();
                let read = scope.spawn(move || {
                    let mut on_gpu = on_gpu;
                    case.check_read(adapter, &mut on_gpu);
                    on_gpu
                });
                let mut on_gpu = read.join().unwrap();
                submit(adapter, &mut on_gpu, case.input());
                case.check_read(adapter, &mut on_gpu);
            });
        }
    }
}

#[test]
fn one_dropped_right_after_its_submission_disturbs_nobody() {
    let _watchdog = watchdog("dropped after submission");
    for adapter in adapters() {
        let [gone, kept] = [21, 22].map(Case::each);
        for (gone, kept) in gone.iter().zip(&kept) {
            let (mut dropped, mut other) = (gone.broad_phase(&adapter), kept.broad_phase(&adapter));
            let mut encoder = encoder(&adapter);
            record(&mut dropped, &mut encoder, gone.input());
            record(&mut other, &mut encoder, kept.input());
            let output = dropped.step(&mut encoder, gone.input());
            let pairs = output.unwrap().pairs.unwrap().buffer.clone();
            adapter.queue.submit([encoder.finish()]);
            drop(dropped);
            gone.check_buffer(&adapter, &pairs);
            kept.check_read(&adapter, &mut other);
            submit(&adapter, &mut other, kept.input());
            kept.check_read(&adapter, &mut other);
        }
    }
}

#[test]
fn one_dropped_between_recording_and_submission_still_finds_its_pairs() {
    let _watchdog = watchdog("dropped while recording");
    for adapter in adapters() {
        let [gone, kept] = [23, 24].map(Case::each);
        for (gone, kept) in gone.iter().zip(&kept) {
            let (mut dropped, mut other) = (gone.broad_phase(&adapter), kept.broad_phase(&adapter));
            let mut encoder = encoder(&adapter);
            let output = dropped.step(&mut encoder, gone.input());
            let pairs = output.unwrap().pairs.unwrap().buffer.clone();
            drop(dropped);
            let mut third = kept.broad_phase(&adapter);
            record(&mut other, &mut encoder, kept.input());
            record(&mut third, &mut encoder, kept.input());
            adapter.queue.submit([encoder.finish()]);
            gone.check_buffer(&adapter, &pairs);
            for on_gpu in [&mut other, &mut third] {
                kept.check_read(&adapter, on_gpu);
            }
        }
    }
}

#[test]
fn one_dropped_with_its_encoder_disturbs_nobody() {
    let _watchdog = watchdog("dropped with its encoder");
    for adapter in adapters() {
        let [gone, kept] = [25, 26].map(Case::each);
        for (gone, kept) in gone.iter().zip(&kept) {
            let (mut dropped, mut other) = (gone.broad_phase(&adapter), kept.broad_phase(&adapter));
            let (mut lost, mut encoder) = (encoder(&adapter), encoder(&adapter));
            record(&mut other, &mut encoder, kept.input());
            record(&mut dropped, &mut lost, gone.input());
            drop((lost, dropped));
            adapter.queue.submit([encoder.finish()]);
            kept.check_read(&adapter, &mut other);
        }
    }
}

#[test]
fn making_and_dropping_on_other_threads_disturbs_nobody() {
    for adapter in adapters() {
        warm_up(&adapter);
        let _watchdog = watchdog("coming and going");
        for case in Case::each(27) {
            let mut on_gpu = case.broad_phase(&adapter);
            let (adapter, case) = (&adapter, &case);
            thread::scope(|scope| {
                for other in [60, 61] {
                    scope.spawn(move || {
                        let other = Case::new(other);
                        for dropped_early in [true, false, true] {
                            let mut short_lived = other.broad_phase(adapter);
                            submit(adapter, &mut short_lived, other.input());
                            if !dropped_early {
                                other.check_read(adapter, &mut short_lived);
                            }
                        }
                    });
                }
                for _ in 0..8 {
                    submit(adapter, &mut on_gpu, case.input());
                    case.check_read(adapter, &mut on_gpu);
                }
            });
        }
    }
}
