//! Recorded read-backs. `renderer.rs` compares those of many frames in flight.

use crate::common::steps::{UNIT, broad_phase, descriptor, encoder, queries_of, scene_of};
use crate::common::{Rng, daily_adapters, uniform};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Events, ObjectNames, Output, Page, PairEvents, QueryInput, Ray, RayMode, Readback,
    Status, StepError, StepResult,
};
use pollster::block_on;
use wild::{Expected, check};

#[test]
fn each_read_back_has_the_outputs_that_it_names_of_its_own_recording() {
    let boxes = uniform(600, &mut Rng(3));
    let ray = |of: &Aabb| Ray::new(of.min, [0.4, 1.0, 0.3], 20.0);
    let rays: Vec<_> = boxes[..30].iter().map(ray).collect();
    let mut scene = scene_of(&boxes);
    scene.query = QueryInput {
        rays: rays[..].into(),
        ..queries_of(&boxes[..90])
    };
    let descriptor = descriptor(|all| (all.outputs.ray_mode, all.outputs.ray_cells) = (RayMode::All, true));
    for adapter in daily_adapters() {
        let mut gpu = broad_phase(&adapter, &descriptor);
        let mut encoder = encoder(&adapter);
        let refused = gpu.record_read_back(&mut encoder, Output::ALL).err();
        assert_eq!(refused, Some(StepError::NoStep));
        gpu.step(&mut encoder, scene).expect("a step");
        let of_step = [Output::ALL, &[Output::RayHits], &[Output::RayCells], &[]]
            .map(|outputs| gpu.record_read_back(&mut encoder, outputs).expect("a handle"));
        let rest = Page {
            pairs: 5,
            ..Page::default()
        };
        gpu.page(&mut encoder, rest).expect("a page");
        let page = gpu.record_read_back(&mut encoder, Output::ALL).expect("a handle");
        gpu.query(&mut encoder, queries_of(&boxes[..50])).expect("a query");
        let later = gpu.record_read_back(&mut encoder, Output::ALL).expect("a handle");
        assert!(!later.is_ready());
        adapter.queue.submit([encoder.finish()]);
        let last = block_on(gpu.read_back()).expect("a result");
        // Handles outlive their broad phase.
        drop(gpu);
        let [all, hits, cells, counters] = of_step.map(|answer| block_on(answer).expect("a result"));
        let expected = Expected::of(&descriptor, &scene);
        check(&descriptor, &scene, &expected, &all, &adapter.name);
        assert!(!all.ray_hits.is_empty() && !all.ray_cells.is_empty());
        let none = StepResult {
            counters: all.counters,
            ..StepResult::default()
        };
        let only_hits = StepResult {
            ray_hits: all.ray_hits.clone(),
            ray_offsets: all.ray_offsets.clone(),
            ..none.clone()
        };
        let only_cells = StepResult {
            ray_cells: all.ray_cells.clone(),
            ray_cell_offsets: all.ray_cell_offsets.clone(),
            ..none.clone()
        };
        assert_eq!((hits, cells, counters), (only_hits, only_cells, none));
        assert_eq!(block_on(page).expect("a result").pairs, all.pairs[5..]);
        assert_eq!(block_on(later).expect("a result"), last);
        assert_eq!((last.query_offsets.len(), last.pairs.len()), (51, 0));
    }
}

/// 300 equal boxes have 44,850 pairs, of which a first copy of 64 KiB holds 8,192.
#[test]
fn copies_grow_with_the_results_and_report_the_rows_that_they_lack() {
    let few = uniform(300, &mut Rng(1));
    for adapter in daily_adapters() {
        let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let mut events = PairEvents::new(None);
        let refused = events.record_read_back(&mut encoder(&adapter)).err();
        assert_eq!(refused, Some(StepError::NoStep));
        let mut cut = [0; 2];
        for frame in 0..12 {
            let what = format!("frame {frame} on {}", adapter.name);
            let boxes: &[Aabb] = if (3..9).contains(&frame) { &[UNIT; 300] } else { &few };
            let mut encoder = encoder(&adapter);
            let step = gpu.step(&mut encoder, scene_of(boxes)).expect("a step");
            events
                .record(&mut encoder, &step, ObjectNames::default())
                .expect("events");
            let pairs = gpu.record_read_back(&mut encoder, Output::ALL).expect("a handle");
            let changes = events.record_read_back(&mut encoder).expect("a handle");
            adapter.queue.submit([encoder.finish()]);
            let whole = block_on(events.read_changes()).expect("events");
            let found = block_on(pairs).expect("a result");
            let lacks = found.counters.pairs_needed - found.pairs.len() as u64;
            assert_eq!(found.counters.status.has(Status::PAIRS), lacks > 0, "{what}");
            let changes: Events = block_on(changes).expect("events");
            assert!(changes.persisting.is_empty(), "{what}");
            let is_start = whole.begun.starts_with(&changes.begun) && whole.ended.starts_with(&changes.ended);
            assert!(is_start, "{what}: {changes:?}, not {whole:?}");
            let unread = whole.begun.len() + whole.ended.len() - changes.begun.len() - changes.ended.len();
            assert_eq!(changes.unread as usize, unread, "{what}");
            assert!(lacks == 0 || (3..6).contains(&frame), "{what}: {lacks} pairs");
            assert!(
                unread == 0 || (3..6).contains(&frame) || frame == 9,
                "{what}: {unread} events"
            );
            cut[0] += lacks;
            cut[1] += unread as u64;
        }
        assert!(cut[0] > 0 && cut[1] > 0, "{cut:?} on {}", adapter.name);
    }
}

#[allow(dead_code, reason = "handles go wherever an engine keeps them")]
fn handles_cross_threads(handle: Readback<StepResult>) -> impl Send + Sync + Unpin {
    handle
}
