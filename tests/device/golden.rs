//! Hashes of results as constants. They detect changes in drivers and schemes, even if brute force changes equally.

use std::collections::BTreeSet;

use crate::common::golden::{
    self, Case, Film, Golden, defined_rows, event_rows, hash, hash_all, hash_boxes, hash_closest, hash_lists,
    hash_pairs, hashes,
};
use crate::common::steps::{RAY_MODES, SCHEMES, broad_phase, by_object, encoder, record, whole};
use crate::common::{TestAdapter, adapters};
use gpu_broad_phase::reference::brute_force::{self, Found};
use gpu_broad_phase::{
    BroadPhaseDescriptor, Events, GpuBroadPhase, ObjectNames, OutputOptions, PairEvents, RayMode, Scene, Scheme,
    Source, Status, cpu,
};
use pollster::block_on;

/// Hashes by brute force, which shares no code with the schemes.
fn defined(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> Golden {
    let hits = brute_force::scene_rays(descriptor, scene).unwrap();
    let closest: Vec<_> = hits.iter().map(|hits| brute_force::closest(hits)).collect();
    let found = brute_force::scene_queries(descriptor, scene).unwrap();
    let names = |found: &Found| found.surely.iter().map(|&(object, _)| object).collect();
    Golden {
        boxes: hash_boxes(scene),
        pairs: hash_pairs(&brute_force::scene_pairs(descriptor, scene).unwrap()),
        closest: hash_closest(&closest),
        any: hash(hits.iter().map(|hits| u32::from(!hits.is_empty()))),
        all: hash_all(&hits.iter().map(|hits| by_object(hits)).collect::<Vec<_>>()),
        queries: hash_lists(&found.iter().map(names).collect::<Vec<_>>()),
    }
}

fn check(case: &Case) {
    let (descriptor, scene, expected) = (case.descriptor, &case.scene(), case.expected);
    assert_eq!(defined(&descriptor, scene), expected, "by definition");
    let descriptors = SCHEMES.map(|scheme| {
        RAY_MODES.map(|ray_mode| BroadPhaseDescriptor {
            scheme,
            outputs: OutputOptions {
                ray_mode,
                ..descriptor.outputs
            },
            ..descriptor
        })
    });
    for descriptor in descriptors.as_flattened() {
        let mode = descriptor.outputs.ray_mode;
        let on_cpu = cpu::step_scene(descriptor, scene).unwrap();
        // A hash of few rows would prove little.
        let much = on_cpu.pairs.len().min(on_cpu.query_objects.len());
        assert!(
            much > 400 && (mode != RayMode::All || on_cpu.ray_hits.len() > 100),
            "{:?}",
            on_cpu.counters
        );
        let found = hashes(scene, &on_cpu, mode, &expected);
        assert_eq!(found, expected, "{descriptor:?} on the CPU");
        for adapter in adapters() {
            let on_gpu = whole(&adapter, &mut broad_phase(&adapter, descriptor), *scene);
            let found = hashes(scene, &on_gpu, mode, &expected);
            assert_eq!(found, expected, "{descriptor:?} on {}", adapter.name);
        }
    }
}

#[test]
fn uniform_boxes_keep_their_hashes() {
    check(&golden::uniform_boxes());
}

#[test]
fn boxes_of_a_power_law_keep_their_hashes() {
    check(&golden::power_law());
}

#[test]
fn touching_boxes_of_a_lattice_keep_their_hashes() {
    check(&golden::touching_boxes());
}

#[test]
fn filtered_boxes_of_three_worlds_keep_their_hashes() {
    check(&golden::filtered_boxes());
}

#[test]
fn flat_boxes_keep_their_hashes() {
    check(&golden::flat_boxes());
}

fn events_of(
    adapter: &TestAdapter,
    broad_phase: &mut GpuBroadPhase,
    events: &mut PairEvents,
    input: Scene<'_>,
) -> Events {
    let mut encoder = encoder(adapter);
    let output = record(broad_phase, &mut encoder, input);
    events.record(&mut encoder, &output, ObjectNames::default()).unwrap();
    adapter.queue.submit([encoder.finish()]);
    block_on(events.read_back()).unwrap()
}

fn film_hash(adapter: &TestAdapter, film: &Film, scheme: Scheme) -> u64 {
    let mut broad_phase = broad_phase(adapter, &film.descriptor(scheme));
    let mut events = PairEvents::new(None);
    let rows = (0..).zip(&film.frames).flat_map(|(frame, objects)| {
        let found = events_of(
            adapter,
            &mut broad_phase,
            &mut events,
            Scene {
                objects: Source::Host(objects),
                ..Scene::default()
            },
        );
        assert_eq!(found.status, Status::default());
        event_rows(frame, &found)
    });
    hash(rows.collect::<Vec<_>>().into_iter().flatten())
}

#[test]
fn moving_boxes_keep_the_hash_of_their_events() {
    let film = golden::moving_boxes();
    let mut before = BTreeSet::new();
    let mut rows = Vec::new();
    for (frame, objects) in (0..).zip(&film.frames) {
        let now = brute_force::pairs(objects).into_iter().collect();
        rows.extend(defined_rows(frame, [&before, &now]));
        before = now;
    }
    for kind in 0..3 {
        let much = rows.iter().filter(|row| row[1] == kind).count();
        assert!(much > 1000, "{much} of kind {kind}");
    }
    assert_eq!(hash(rows.into_iter().flatten()), film.expected, "by definition");
    for adapter in adapters() {
        for scheme in SCHEMES {
            assert_eq!(
                film_hash(&adapter, &film, scheme),
                film.expected,
                "{scheme:?} on {}",
                adapter.name
            );
        }
    }
}
