//! Scenes that move: mean and worst frame of 120 (of 30 with 1,000,000 boxes), in milliseconds, of the CPU engine with
//! and without what it keeps between steps, and of parry3d and rapier3d, on all threads. Each frame runs all engines,
//! and pairs must agree.
//!
//! `cargo bench -p measure --features peers --bench moving -- [SCENE ...] [COUNT ...]`

use std::collections::HashSet;
use std::time::Instant;

use gpu_broad_phase::cpu::{self, CpuBroadPhase};
use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Scene};
use measure::bench::answer::{Answer, Rows};
use measure::generate::{Motion, Moving, Random};
use parry3d::bounding_volume::Aabb as Bounds;
use parry3d::math::Vector;
use parry3d::partitioning::{Bvh, BvhBuildStrategy, BvhWorkspace};
use rapier3d::geometry::{
    ActiveCollisionTypes, BroadPhaseBvh, BroadPhasePairEvent, ColliderBuilder, ColliderHandle, ColliderSet,
};
use rapier3d::prelude::{IntegrationParameters, RigidBodySet};

const FRAMES: usize = 120;
const FRAMES_OF_MILLIONS: usize = 30;

trait Engine {
    fn name(&self) -> &'static str;
    /// Returns the milliseconds of a frame, and its pairs.
    fn frame(&mut self, boxes: &[Aabb], bounds: &[Bounds]) -> (f64, Rows);
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed().as_secs_f64() * 1e3, result)
}

struct Kept(CpuBroadPhase);

impl Engine for Kept {
    fn name(&self) -> &'static str {
        "CPU engine"
    }

    fn frame(&mut self, boxes: &[Aabb], _: &[Bounds]) -> (f64, Rows) {
        let scene = Scene {
            objects: boxes.into(),
            ..Scene::default()
        };
        let (time, result) = timed(|| self.0.step_scene(&scene).expect("a valid scene"));
        (time, vec![result.pairs.iter().map(|pair| [pair.a, pair.b]).collect()])
    }
}

struct New;

impl Engine for New {
    fn name(&self) -> &'static str {
        "a new one per frame"
    }

    fn frame(&mut self, boxes: &[Aabb], _: &[Bounds]) -> (f64, Rows) {
        let (time, result) = timed(|| cpu::step(&BroadPhaseDescriptor::default(), boxes, &[]).expect("a valid scene"));
        (time, vec![result.pairs.iter().map(|pair| [pair.a, pair.b]).collect()])
    }
}

struct Rebuilt;

fn pairs_of(bvh: &Bvh) -> Rows {
    let pairs = bvh.traverse_bvtt_single_tree_parallel::<false>();
    vec![pairs.into_iter().map(<[u32; 2]>::from).collect()]
}

impl Engine for Rebuilt {
    fn name(&self) -> &'static str {
        "parry3d rebuilt"
    }

    fn frame(&mut self, _: &[Aabb], bounds: &[Bounds]) -> (f64, Rows) {
        timed(|| pairs_of(&Bvh::from_leaves(BvhBuildStrategy::Binned, bounds)))
    }
}

/// New bounds for all leaves, then for all nodes, then a better order of some, as its documentation says.
#[derive(Default)]
struct Refitted(Bvh, BvhWorkspace);

impl Engine for Refitted {
    fn name(&self) -> &'static str {
        "parry3d refitted"
    }

    fn frame(&mut self, _: &[Aabb], bounds: &[Bounds]) -> (f64, Rows) {
        let Self(bvh, workspace) = self;
        timed(|| {
            if bvh.is_empty() {
                *bvh = Bvh::from_leaves(BvhBuildStrategy::Binned, bounds);
            } else {
                let updates: Vec<_> = (0..).zip(bounds).map(|(leaf, bounds)| (*bounds, leaf, 0.0)).collect();
                bvh.insert_or_update_batch_partially_parallel(&updates, &mut Vec::new());
                bvh.refit_parallel(workspace);
                bvh.optimize_incremental(workspace);
            }
            pairs_of(bvh)
        })
    }
}

/// Boxes are set one by one, as in its pipeline. It keeps pairs of boxes with a margin; an exact test, which is not
/// timed, removes those that do not meet.
#[derive(Default)]
struct Rapier {
    parameters: IntegrationParameters,
    bodies: RigidBodySet,
    colliders: ColliderSet,
    handles: Vec<ColliderHandle>,
    broad_phase: BroadPhaseBvh,
    pairs: HashSet<[u32; 2]>,
}

impl Engine for Rapier {
    fn name(&self) -> &'static str {
        "rapier3d"
    }

    fn frame(&mut self, boxes: &[Aabb], bounds: &[Bounds]) -> (f64, Rows) {
        while self.handles.len() < boxes.len() {
            let collider = ColliderBuilder::ball(1.0).active_collision_types(ActiveCollisionTypes::all());
            self.handles.push(self.colliders.insert(collider));
        }
        let mut events = Vec::new();
        let (time, ()) = timed(|| {
            for (&handle, &bounds) in self.handles.iter().zip(bounds) {
                self.broad_phase.set_aabb(&self.parameters, handle, bounds);
            }
            let (colliders, bodies) = (&self.colliders, &self.bodies);
            self.broad_phase
                .update(&self.parameters, colliders, bodies, &[], &[], &mut events);
        });
        for event in events {
            let (BroadPhasePairEvent::AddPair(pair) | BroadPhasePairEvent::DeletePair(pair)) = &event;
            let [a, b] = [pair.collider1, pair.collider2].map(|handle| handle.into_raw_parts().0);
            let pair = [a.min(b), a.max(b)];
            if matches!(event, BroadPhasePairEvent::AddPair(_)) {
                self.pairs.insert(pair);
            } else {
                self.pairs.remove(&pair);
            }
        }
        let meets = |&[a, b]: &[u32; 2]| {
            let [a, b] = [a, b].map(|object| &boxes[object as usize]);
            (0..3).all(|axis| a.min[axis] <= b.max[axis] && b.min[axis] <= a.max[axis])
        };
        (time, vec![self.pairs.iter().copied().filter(meets).collect()])
    }
}

fn measure(motion: Motion, count: u32) {
    let mut engines: Vec<Box<dyn Engine>> = vec![
        Box::new(Kept(
            CpuBroadPhase::new(&BroadPhaseDescriptor::default()).expect("a valid descriptor"),
        )),
        Box::new(New),
        Box::new(Rebuilt),
        Box::<Refitted>::default(),
        Box::<Rapier>::default(),
    ];
    let mut times = vec![Vec::new(); engines.len()];
    let mut order: Vec<_> = (0..engines.len()).collect();
    let mut random = Random::new(1);
    let mut moving = Moving::new(motion, count, 1);
    let mut pairs = 0;
    // The first frame only prepares.
    let frames = if count < 1_000_000 { FRAMES } else { FRAMES_OF_MILLIONS };
    for frame in 0..=frames {
        let boxes = moving.boxes();
        let bounds = |object: &Aabb| Bounds::new(Vector::from_array(object.min), Vector::from_array(object.max));
        let bounds: Vec<_> = boxes.iter().map(bounds).collect();
        let mut expected = None;
        // In random order, since each engine finds in the caches what the one before left.
        for last in (0..engines.len()).rev() {
            order.swap(last, random.below(last as u32 + 1) as usize);
        }
        for &place in &order {
            let engine = &mut engines[place];
            let (time, rows) = engine.frame(&boxes, &bounds);
            if frame > 0 {
                times[place].push(time);
            }
            let answer = Answer::of_pairs(&rows);
            let expected: Answer = *expected.get_or_insert(answer);
            assert!(answer.agrees(&expected), "frame {frame}: {} differs", engine.name());
            pairs = answer.results;
        }
        moving.step();
    }
    for (engine, times) in engines.iter().zip(&times) {
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let worst = times.iter().copied().fold(0.0, f64::max);
        let name = engine.name();
        println!(
            "| {} | {count} | {pairs} | {name} | {mean:.2} | {worst:.2} |",
            motion.name()
        );
    }
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let counts: Vec<u32> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let counts = if counts.is_empty() {
        vec![10_000, 100_000, 1_000_000]
    } else {
        counts
    };
    let is_named = |motion: &Motion| arguments.iter().any(|argument| argument == motion.name());
    let has_names = Motion::ALL.iter().any(is_named);
    println!("| scene | boxes | pairs | engine | mean | worst |\n|---|--:|--:|---|--:|--:|");
    for motion in Motion::ALL.into_iter().filter(|motion| !has_names || is_named(motion)) {
        for &count in &counts {
            measure(motion, count);
        }
    }
}
