//! Object sets compared with a model on the host and with brute force.

use std::collections::HashMap;

use crate::common::steps::download;
use crate::common::{Rng, TestAdapter, adapters};
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, GpuBroadPhase, Handle, NONE, ObjectSet, OutputOptions, QueryInput, Ray,
    RayMode, Scene, Scheme, Source, StaleHandle, StepResult, wgpu,
};
use pollster::block_on;
use wild::answers::sorted;

const BOX_BYTES: u64 = 32;

fn cube(at: [f32; 3]) -> Aabb {
    Aabb::new(at, at.map(|low| low + 1.0))
}

fn random_box(rng: &mut Rng) -> Aabb {
    cube([0; 3].map(|_| rng.below(9) as f32 - 4.0))
}

fn any(handles: &[Handle], rng: &mut Rng) -> Handle {
    handles[rng.below(handles.len())]
}

fn disturb(set: &mut ObjectSet, handles: &mut Vec<Handle>, rng: &mut Rng) {
    let handle = any(handles, rng);
    match rng.below(7) {
        0 => handles.push(set.insert(random_box(rng))),
        1 if handles.len() > 1 => {
            handles.retain(|&kept| kept != handle);
            set.remove(handle).unwrap();
        }
        2 => set.exclude(handle).unwrap(),
        3 => set.include(handle).unwrap(),
        4 => set
            .set_layers(handle, rng.below(4) as u16, rng.below(4) as u16)
            .unwrap(),
        5 => set.set(handle, random_box(rng)).unwrap(),
        _ => {
            let Aabb { min, max, .. } = random_box(rng);
            set.move_to(handle, min, max).unwrap();
        }
    }
}

fn broad_phase(adapter: &TestAdapter, scheme: Scheme) -> GpuBroadPhase {
    let descriptor = BroadPhaseDescriptor {
        scheme,
        outputs: OutputOptions {
            ray_mode: RayMode::All,
            capacities: Capacities {
                pairs: Some(1 << 16),
                hits: Some(1 << 12),
                entries: Some(1 << 16),
                ..Default::default()
            },
            ..Default::default()
        },
        ..Default::default()
    };
    GpuBroadPhase::new(&adapter.device, &adapter.queue, &descriptor).unwrap()
}

fn record(
    adapter: &TestAdapter,
    broad_phase: &mut GpuBroadPhase,
    set: &mut ObjectSet,
    rays: &[Ray],
    encoder: &mut wgpu::CommandEncoder,
) -> wgpu::Buffer {
    let input = Scene {
        query: QueryInput {
            rays: Source::Host(rays).into(),
            ..QueryInput::default()
        },
        ..set.upload(&adapter.device, encoder).unwrap()
    };
    let output = broad_phase.step(encoder, input).unwrap();
    output.pairs.unwrap().buffer.clone()
}

fn read_back(broad_phase: &mut GpuBroadPhase) -> StepResult {
    let result = block_on(broad_phase.read_back()).unwrap();
    assert!(result.counters.is_complete());
    result
}

fn step(adapter: &TestAdapter, broad_phase: &mut GpuBroadPhase, set: &mut ObjectSet, rays: &[Ray]) -> StepResult {
    let mut encoder = adapter.device.create_command_encoder(&Default::default());
    record(adapter, broad_phase, set, rays, &mut encoder);
    adapter.queue.submit([encoder.finish()]);
    read_back(broad_phase)
}

fn encode<T>(device: &wgpu::Device, queue: &wgpu::Queue, record: impl FnOnce(&mut wgpu::CommandEncoder) -> T) -> T {
    let mut encoder = device.create_command_encoder(&Default::default());
    let recorded = record(&mut encoder);
    queue.submit([encoder.finish()]);
    recorded
}

/// Compares all slots on the device. Returns the uploaded bytes.
fn upload(device: &wgpu::Device, queue: &wgpu::Queue, set: &mut ObjectSet) -> u64 {
    let (buffer, count) = encode(device, queue, |encoder| {
        let boxes = set.upload(device, encoder).unwrap().objects;
        (boxes.buffer().expect("a buffer").clone(), boxes.len() as u32)
    });
    assert_eq!(count as usize, set.slots().len());
    if count > 0 {
        let found: Vec<Aabb> = download(device, queue, &buffer, BOX_BYTES * u64::from(count));
        assert!(found == set.slots(), "the device has other boxes");
    }
    set.uploaded_bytes()
}

#[test]
fn handles_never_alias_and_stale_ones_are_errors() {
    let mut rng = Rng(31);
    let (mut set, mut model, mut stale) = (ObjectSet::new(), HashMap::new(), Vec::new());
    for operation in 0..500 {
        let handles: Vec<Handle> = set.iter().map(|(handle, _)| handle).collect();
        match rng.below(5) {
            0 | 1 => {
                let object = random_box(&mut rng);
                let handle = set.insert(object);
                assert_eq!(model.insert(handle, object), None);
                assert!(!stale.contains(&handle));
            }
            2 if !handles.is_empty() => {
                let handle = any(&handles, &mut rng);
                assert_eq!(set.remove(handle).ok(), model.remove(&handle));
                stale.push(handle);
            }
            3 if !handles.is_empty() => {
                let (handle, object) = (any(&handles, &mut rng), random_box(&mut rng).with_group(7));
                set.set(handle, object).unwrap();
                model.insert(handle, object);
            }
            4 if !handles.is_empty() => {
                let handle = any(&handles, &mut rng);
                set.move_to(handle, [0.5; 3], [2.5; 3]).unwrap();
                let object = model.get_mut(&handle).unwrap();
                (object.min, object.max) = ([0.5; 3], [2.5; 3]);
            }
            _ => {}
        }
        if operation == 250 {
            set.clear();
            stale.extend(model.drain().map(|(handle, _)| handle));
        }

        assert_eq!((set.len(), set.is_empty()), (model.len(), model.is_empty()));
        assert!(set.iter().all(|(handle, object)| model[&handle] == *object));
        assert_eq!(set.iter().count(), model.len());
        for (handle, object) in &model {
            assert_eq!(set.get(*handle), Ok(object));
            assert_eq!(set.handle_of(handle.index()), Some(*handle));
            assert_eq!(set.slots()[handle.index() as usize], *object);
        }
        let active = set.slots().iter().filter(|object| object.group & Aabb::EXCLUDED == 0);
        assert_eq!(active.count(), model.len());
        for &handle in &stale {
            let error = StaleHandle(handle);
            assert!(!set.contains(handle));
            assert_eq!(set.get(handle), Err(error));
            assert_eq!(set.remove(handle), Err(error));
            assert_eq!(set.is_excluded(handle), Err(error));
            for refused in [
                set.set(handle, cube([0.0; 3])),
                set.move_to(handle, [0.0; 3], [1.0; 3]),
                set.exclude(handle),
                set.include(handle),
                set.set_layers(handle, 1, 1),
            ] {
                assert_eq!(refused, Err(error));
            }
        }
    }
    assert!(stale.len() > 100 && model.len() > 20);
    for index in [set.slots().len() as u32, NONE] {
        assert_eq!(set.handle_of(index), None);
    }
    assert!(StaleHandle(stale[0]).to_string().contains("index"));
}

#[test]
fn a_set_is_a_scene_on_the_host_and_tells_its_states_apart() {
    let mut set = ObjectSet::new();
    let wall = set.insert_static(cube([0.0; 3]));
    set.insert(cube([0.5; 3]));
    let generation = |set: &ObjectSet| {
        let scene = set.scene();
        assert_eq!(
            (scene.objects.elements(), scene.statics.objects.elements()),
            (Some(set.slots()), Some(set.static_slots()))
        );
        scene.statics.generation
    };
    let mut generations = vec![generation(&set)];
    set.move_to(wall, [2.0; 3], [3.0; 3]).unwrap();
    generations.push(generation(&set));
    for adapter in adapters() {
        set.invalidate();
        let recorded = encode(&adapter.device, &adapter.queue, |encoder| {
            set.upload(&adapter.device, encoder).unwrap().statics.generation
        });
        assert_eq!([generation(&set), generation(&set)], [recorded; 2]);
        set.move_to(wall, [4.0; 3], [5.0; 3]).unwrap();
        generations.extend([recorded, generation(&set)]);
        set.move_to(wall, [6.0; 3], [7.0; 3]).unwrap();
    }
    let states = generations.len();
    generations.sort_unstable();
    generations.dedup();
    assert_eq!(generations.len(), states);
}

#[test]
fn steps_of_a_changing_set_agree_with_brute_force() {
    for adapter in adapters() {
        for scheme in [Scheme::Hierarchical, Scheme::Uniform { cell_size: 1.5 }] {
            let mut rng = Rng(37);
            let mut broad_phase = broad_phase(&adapter, scheme);
            let mut set = ObjectSet::new();
            let mut handles: Vec<_> = (0..200).map(|_| set.insert(random_box(&mut rng))).collect();
            for changes in [0, 1, 10, 50, 150, 600, 0, 3, 30] {
                (0..changes).for_each(|_| disturb(&mut set, &mut handles, &mut rng));
                let ray = Ray::new([-9.0, 0.5, 0.5], [1.0, 0.0, 0.0], f32::INFINITY);
                let result = step(&adapter, &mut broad_phase, &mut set, &[ray]);
                let name = format!("{changes} changes, {scheme:?} on {}", adapter.name);
                assert_eq!(sorted(result.pairs), brute_force::pairs(set.slots()), "{name}");
                let mut hits: Vec<_> = result.ray_hits.iter().map(|hit| hit.object).collect();
                hits.sort_unstable();
                let expected = brute_force::rays_all(set.slots(), &[ray]).remove(0);
                assert!(hits.into_iter().eq(expected.iter().map(|hit| hit.object)), "{name}");
                let excluded = set.slots().iter().filter(|object| object.group & Aabb::EXCLUDED != 0);
                assert_eq!(result.counters.excluded as usize, excluded.count(), "{name}");
            }
        }
    }
}

#[test]
fn steps_of_one_encoder_each_see_the_set_as_it_was() {
    for adapter in adapters() {
        let mut rng = Rng(41);
        for (changes, inserted) in [(5, 0), (400, 0), (3, 10), (0, 500)] {
            let mut broad_phase = broad_phase(&adapter, Scheme::Hierarchical);
            let mut set = ObjectSet::new();
            let mut handles: Vec<_> = (0..200).map(|_| set.insert(random_box(&mut rng))).collect();
            step(&adapter, &mut broad_phase, &mut set, &[]);
            (0..9).for_each(|_| disturb(&mut set, &mut handles, &mut rng));

            let mut encoder = adapter.device.create_command_encoder(&Default::default());
            let pairs = record(&adapter, &mut broad_phase, &mut set, &[], &mut encoder);
            let expected = brute_force::pairs(set.slots());
            let kept = adapter.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("pairs of the first step"),
                size: 8 * expected.len() as u64,
                usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            });
            encoder.copy_buffer_to_buffer(&pairs, 0, &kept, 0, kept.size());
            (0..changes).for_each(|_| disturb(&mut set, &mut handles, &mut rng));
            (0..inserted).for_each(|_| handles.push(set.insert(random_box(&mut rng))));
            record(&adapter, &mut broad_phase, &mut set, &[], &mut encoder);
            adapter.queue.submit([encoder.finish()]);

            let name = format!("{changes} changes, {inserted} inserted, on {}", adapter.name);
            let result = read_back(&mut broad_phase);
            assert_eq!(sorted(result.pairs), brute_force::pairs(set.slots()), "{name}");
            let found = download(&adapter.device, &adapter.queue, &kept, kept.size());
            assert_eq!(sorted(found), expected, "{name}");
        }
    }
}

#[test]
fn only_what_changed_is_uploaded() {
    for TestAdapter { device, queue, .. } in adapters() {
        let mut rng = Rng(43);
        let mut set = ObjectSet::with_capacity(100_000);
        assert_eq!(upload(&device, &queue, &mut set), 0);
        let handles: Vec<_> = (0..100_000).map(|_| set.insert(random_box(&mut rng))).collect();
        let full = BOX_BYTES * handles.len() as u64;
        assert_eq!(upload(&device, &queue, &mut set), full);
        assert_eq!(upload(&device, &queue, &mut set), 0);

        let move_some = |set: &mut ObjectSet, stride: usize, by: f32| {
            for &handle in handles.iter().step_by(stride) {
                let Aabb { min, max, .. } = *set.get(handle).unwrap();
                set.move_to(handle, min.map(|low| low + by), max.map(|high| high + by))
                    .unwrap();
            }
        };
        (0..4).for_each(|_| move_some(&mut set, 100, 0.25));
        let uploaded = upload(&device, &queue, &mut set);
        assert!(uploaded * 1000 <= full * 12, "{uploaded} bytes for 1% of {full}");
        move_some(&mut set, 2, 1.0);
        assert!((full / 2..full * 6 / 10).contains(&upload(&device, &queue, &mut set)));
        move_some(&mut set, 1, 1.0);
        assert_eq!(upload(&device, &queue, &mut set), full);
        move_some(&mut set, 1, 0.0);
        assert_eq!(upload(&device, &queue, &mut set), 0);
    }
}

#[test]
fn growth_keeps_everything_and_copies_on_the_device() {
    for TestAdapter { device, queue, .. } in adapters() {
        let mut rng = Rng(47);
        let mut set = ObjectSet::new();
        let mut handles = Vec::new();
        for count in [1, 2, 3, 64, 65, 1000, 1001, 1002, 2003, 4100] {
            let before = handles.len();
            handles.extend((before..count).map(|_| set.insert(random_box(&mut rng))));
            let uploaded = upload(&device, &queue, &mut set);
            let new = (count - before) as u64;
            let whole = BOX_BYTES * count as u64;
            let most = if new > count as u64 / 2 { whole } else { 36 * new + 48 };
            assert!(uploaded <= most, "{uploaded} bytes for {before} to {count} objects");
        }
        set.remove(handles[5]).unwrap();
        set.insert(cube([7.0; 3]));
        assert!(upload(&device, &queue, &mut set) <= 64);
        assert_eq!(set.slots().len(), handles.len());
    }
}

fn two_devices(adapter: &TestAdapter) -> [(wgpu::Device, wgpu::Queue); 2] {
    let adapter = block_on(gpu_broad_phase::adapters(adapter.backends)).remove(0);
    [0; 2].map(|_| {
        block_on(adapter.request_device(&wgpu::DeviceDescriptor {
            required_limits: GpuBroadPhase::required_limits(),
            ..Default::default()
        }))
        .unwrap()
    })
}

fn hundred_objects() -> ObjectSet {
    let (mut rng, mut set) = (Rng(53), ObjectSet::new());
    (0..100).for_each(|_| _ = set.insert(random_box(&mut rng)));
    set
}

#[test]
fn another_device_starts_over() {
    let full = BOX_BYTES * 100;
    let mut wanderer = hundred_objects();
    for adapter in adapters() {
        wanderer.invalidate();
        assert_eq!(upload(&adapter.device, &adapter.queue, &mut wanderer), full);
        let mut set = hundred_objects();
        let [(first, first_queue), (second, second_queue)] = two_devices(&adapter);
        for _ in 0..2 {
            assert_eq!(upload(&first, &first_queue, &mut set), full);
            assert_eq!(upload(&first.clone(), &first_queue, &mut set), 0);
            assert_eq!(upload(&second, &second_queue, &mut set), full);
        }
        set.invalidate();
        assert_eq!(upload(&adapter.device, &adapter.queue, &mut set), full);
    }
}

#[test]
fn what_a_dropped_encoder_had_is_uploaded_again() {
    for TestAdapter { device, queue, .. } in adapters() {
        let mut set = hundred_objects();
        upload(&device, &queue, &mut set);
        set.set(set.handle_of(3).unwrap(), cube([3.0; 3])).unwrap();
        let mut dropped = device.create_command_encoder(&Default::default());
        set.upload(&device, &mut dropped).unwrap();
        drop(dropped);
        assert_eq!(upload(&device, &queue, &mut set), BOX_BYTES * 100);
        assert_eq!(upload(&device, &queue, &mut set), 0);
    }
}

#[test]
fn excluded_objects_are_never_found_and_included_ones_are() {
    for adapter in adapters() {
        let mut broad_phase = broad_phase(&adapter, Scheme::Hierarchical);
        let mut set = ObjectSet::new();
        let mut found = |set: &mut ObjectSet| -> (Vec<(Handle, Handle)>, Vec<Handle>) {
            let ray = Ray::new([0.5, 0.5, 9.0], [0.0, 0.0, -1.0], f32::INFINITY);
            let result = step(&adapter, &mut broad_phase, set, &[ray]);
            let handle_of = |index| set.handle_of(index).unwrap();
            let pairs = result.pairs.iter().map(|pair| (handle_of(pair.a), handle_of(pair.b)));
            let mut hits: Vec<_> = result.ray_hits.iter().map(|hit| handle_of(hit.object)).collect();
            hits.sort_unstable();
            (pairs.collect(), hits)
        };
        let ball = set.insert(cube([0.0; 3]));
        let wall = set.insert(cube([0.25; 3]));
        let both = (vec![(ball, wall)], vec![ball, wall]);
        assert_eq!(found(&mut set), both);

        set.exclude(wall).unwrap();
        assert!(set.contains(wall) && set.is_excluded(wall).unwrap());
        assert_eq!(found(&mut set), (vec![], vec![ball]));
        set.move_to(wall, [0.5; 3], [1.5; 3]).unwrap();
        assert_eq!(found(&mut set), (vec![], vec![ball]));
        set.include(wall).unwrap();
        assert!(!set.is_excluded(wall).unwrap());
        assert_eq!(found(&mut set), both);

        set.set_layers(wall, 2, 2).unwrap();
        set.set_layers(ball, 1, 1).unwrap();
        assert_eq!(found(&mut set), (vec![], vec![ball, wall]));
        set.set_layers(ball, 2, 2).unwrap();
        assert_eq!(found(&mut set), both);

        set.remove(wall).unwrap();
        assert_eq!(found(&mut set), (vec![], vec![ball]));
        let door = set.insert(cube([0.5; 3]));
        assert_eq!((door.index(), set.contains(wall)), (wall.index(), false));
        assert_eq!(found(&mut set), (vec![(ball, door)], vec![ball, door]));
        set.clear();
        assert_eq!(found(&mut set), (vec![], vec![]));
    }
}
