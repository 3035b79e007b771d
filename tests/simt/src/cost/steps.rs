//! Steps and queries as recorded in a frame loop, after buffers have grown.

use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, CullOptions, Culling, Frustum, GpuBroadPhase, ObjectNames, OutputOptions, PairEvents,
    Queries, Query, QueryInput, QueryMode, Ray, RayMode, Scene, SelfQuery, Source, StepOutput,
};

use crate::common::steps::{broad_phase, encoder, read, record, submit, whole};
use crate::common::views::camera;
use crate::common::{Rng, TestAdapter};
use crate::recordings;
use crate::wgpu_backend::{CostedDispatch, DispatchLog};

pub enum Work {
    Pairs,
    Rays(usize, RayMode),
    Queries(usize),
    /// Number of points, and of nearest objects of each.
    Nearest(usize, u32),
    Neighbors(f32),
    Views(usize),
    /// Pair events of a step in which every tenth box moved.
    Events,
}

/// Returns the costs and the number of boxes, rays, queries or pairs.
pub fn count(objects: &[Aabb], work: &Work) -> (Vec<CostedDispatch>, usize) {
    let (adapter, log) = recordings::unwatched_device();
    let mut frames = FrameLoop {
        gpu: broad_phase(
            &adapter,
            &BroadPhaseDescriptor {
                pairs: matches!(work, Work::Pairs | Work::Events),
                outputs: OutputOptions {
                    ray_mode: if let Work::Rays(_, mode) = *work {
                        mode
                    } else {
                        RayMode::Closest
                    },
                    ..Default::default()
                },
                ..BroadPhaseDescriptor::default()
            },
        ),
        adapter,
        log,
    };
    let mut rng = Rng(8);
    // The first steps size the outputs and detect a crowded scene.
    let pairs = frames.warm_up(objects);
    let count = match *work {
        Work::Pairs => {
            frames.log.begin_costs();
            submit(&frames.adapter, &mut frames.gpu, scene(objects));
            assert!(read(&mut frames.gpu).counters.is_complete());
            objects.len()
        }
        Work::Rays(count, _) => {
            let rays: Vec<Ray> = (0..count).map(|_| ray(objects, &mut rng)).collect();
            frames.query(QueryInput {
                rays: rays[..].into(),
                ..QueryInput::default()
            });
            count
        }
        Work::Queries(count) => {
            let boxes: Vec<Aabb> = (0..count).map(|_| objects[rng.below(objects.len())]).collect();
            frames.query(QueryInput {
                queries: boxes[..].into(),
                ..QueryInput::default()
            });
            count
        }
        Work::Nearest(count, nearest) => {
            let around = |_| Query::sphere(objects[rng.below(objects.len())].min, f32::INFINITY);
            let points: Vec<Query> = (0..count).map(around).collect();
            frames.query(QueryInput {
                queries: points[..].into(),
                query_mode: QueryMode::Nearest(nearest),
                ..QueryInput::default()
            });
            count
        }
        Work::Neighbors(radius) => {
            let neighbors = SelfQuery::Within { radius, half: false };
            frames.query(QueryInput {
                queries: Queries::Objects(neighbors),
                ..QueryInput::default()
            });
            objects.len()
        }
        Work::Views(count) => {
            let step = frames.step(objects);
            let view = |_| Frustum::from_view_projection(camera(objects[rng.below(objects.len())].min, 50.0, &mut rng));
            let views: Vec<Frustum> = (0..count).map(view).collect();
            let mut culling = Culling::new(None);
            let mut encoder = encoder(&frames.adapter);
            let options = CullOptions::default();
            culling
                .record(&mut encoder, &step, Source::Host(&views), options)
                .expect("views");
            frames.log.begin_costs();
            frames.adapter.queue.submit([encoder.finish()]);
            objects.len()
        }
        Work::Events => {
            let mut moved = objects.to_vec();
            for object in moved.iter_mut().step_by(10) {
                *object = objects[rng.below(objects.len())];
            }
            let mut events = PairEvents::new(None);
            for (objects, is_last) in [(objects, false), (&moved, true)] {
                frames.warm_up(objects);
                let step = frames.step(objects);
                let mut encoder = encoder(&frames.adapter);
                events
                    .record(&mut encoder, &step, ObjectNames::default())
                    .expect("pairs");
                if is_last {
                    frames.log.begin_costs();
                }
                frames.adapter.queue.submit([encoder.finish()]);
            }
            pairs
        }
    };
    (frames.log.end_costs(), count)
}

struct FrameLoop {
    adapter: TestAdapter,
    gpu: GpuBroadPhase,
    log: DispatchLog,
}

impl FrameLoop {
    fn warm_up(&mut self, objects: &[Aabb]) -> usize {
        whole(&self.adapter, &mut self.gpu, scene(objects)).pairs.len()
    }

    fn step(&mut self, objects: &[Aabb]) -> StepOutput {
        let mut encoder = encoder(&self.adapter);
        let step = record(&mut self.gpu, &mut encoder, scene(objects));
        self.adapter.queue.submit([encoder.finish()]);
        step
    }

    fn query(&mut self, input: QueryInput<'_>) {
        for is_counted in [false, true] {
            let mut encoder = encoder(&self.adapter);
            self.gpu.query(&mut encoder, input).expect("a table");
            if is_counted {
                self.log.begin_costs();
            }
            self.adapter.queue.submit([encoder.finish()]);
            let result = read(&mut self.gpu);
            assert!(result.counters.is_complete() || !is_counted);
        }
    }
}

fn scene(objects: &[Aabb]) -> Scene<'_> {
    Scene {
        objects: Source::Host(objects),
        ..Scene::default()
    }
}

fn ray(objects: &[Aabb], rng: &mut Rng) -> Ray {
    let mut middle = || {
        let object = objects[rng.below(objects.len())];
        [0, 1, 2].map(|axis| 0.5 * object.min[axis] + 0.5 * object.max[axis])
    };
    let (from, to) = (middle(), middle());
    let way = [0, 1, 2].map(|axis| to[axis] - from[axis]);
    let length = way.iter().map(|along| along * along).sum::<f32>().sqrt().max(1e-6);
    Ray::new(from, way.map(|along| along / length), length)
}
