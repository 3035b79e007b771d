//! Object sets compared with a model on the host and with brute force.

use crate::common::steps::{broad_phase, descriptor, download, encoder, poll, scene_of};
use crate::common::{Rng, TestAdapter, adapters, daily_adapters};
use gpu_broad_phase::{
    Aabb, GpuBroadPhase, Handle, NONE, ObjectSet, Output, QueryInput, Ray, RayMode, ReadBackError, Readback, Scene,
    StaleHandle, StepResult, wgpu,
};
use pollster::block_on;
use wild::{Expected, check};

const BOX_BYTES: u64 = 32;

fn cube(at: [f32; 3]) -> Aabb {
    Aabb::new(at, at.map(|low| low + 1.0))
}

fn random_box(rng: &mut Rng) -> Aabb {
    cube([0; 3].map(|_| rng.below(7) as f32 - 3.0))
}

fn bits(object: &Aabb) -> &[u8] {
    bytemuck::bytes_of(object)
}

/// Compares all slots on the device. Returns the uploaded bytes.
fn upload(device: &wgpu::Device, queue: &wgpu::Queue, set: &mut ObjectSet) -> u64 {
    let mut encoder = device.create_command_encoder(&Default::default());
    let scene = set.upload(device, &mut encoder).unwrap();
    let sources = [scene.objects, scene.statics.objects].map(|source| (source.buffer().cloned(), source.len()));
    queue.submit([encoder.finish()]);
    for ((buffer, count), slots) in sources.into_iter().zip([set.slots(), set.static_slots()]) {
        assert_eq!(count, slots.len());
        if let Some(buffer) = buffer.filter(|_| count > 0) {
            let found: Vec<Aabb> = download(device, queue, &buffer, BOX_BYTES * count as u64);
            assert!(found == slots, "the device has other boxes");
        }
    }
    set.uploaded_bytes()
}

/// A set, and the objects that it should have.
#[derive(Default)]
struct Model {
    set: ObjectSet,
    objects: Vec<(Handle, Aabb)>,
    stale: Vec<Handle>,
    /// Generation of the uploaded static objects.
    generation: Option<u64>,
    statics_changed: bool,
}

impl Model {
    fn insert(&mut self, object: Aabb, is_static: bool) {
        let handle = if is_static {
            self.set.insert_static(object)
        } else {
            self.set.insert(object)
        };
        assert!(handle.is_static() == is_static && !self.stale.contains(&handle));
        self.objects.push((handle, object));
        self.statics_changed |= is_static;
    }

    fn change(&mut self, rng: &mut Rng) {
        let object = random_box(rng);
        let place = rng.below(self.objects.len());
        let kind = match self.objects.len() {
            0..20 => 0,
            20..90 => rng.below(8),
            _ => 1,
        };
        if kind == 0 {
            self.insert(object, rng.once_in(3));
            return;
        }
        let Self { set, objects, .. } = self;
        let (handle, known) = &mut objects[place];
        let (handle, before) = (*handle, *known);
        self.statics_changed |= handle.is_static() && kind == 1;
        match kind {
            1 => {
                let (_, known) = objects.swap_remove(place);
                assert_eq!(bits(&set.remove(handle).unwrap()), bits(&known));
                self.stale.push(handle);
                return;
            }
            2 => {
                *known = object.with_group(rng.below(3) as u32);
                set.set(handle, *known).unwrap();
            }
            3 | 4 => {
                (known.min, known.max) = (object.min, object.max);
                set.move_to(handle, object.min, object.max).unwrap();
            }
            5 => {
                known.group |= Aabb::EXCLUDED;
                set.exclude(handle).unwrap();
            }
            6 => {
                known.group &= !Aabb::EXCLUDED;
                set.include(handle).unwrap();
            }
            _ => {
                let [layers, mask] = [0; 2].map(|_| 1 + rng.below(3) as u16);
                *known = known.with_layers(layers, mask);
                set.set_layers(handle, layers, mask).unwrap();
            }
        }
        self.statics_changed |= handle.is_static() && bits(known) != bits(&before);
    }

    fn upload(&mut self, device: &wgpu::Device, encoder: &mut wgpu::CommandEncoder) -> Scene<'_> {
        let input = self.set.upload(device, encoder).unwrap();
        let generation = input.statics.generation;
        if let Some(before) = self.generation.replace(generation) {
            assert_eq!(generation != before, self.statics_changed, "of generations");
        }
        self.statics_changed = false;
        input
    }

    fn check_handles(&mut self) {
        let Self { set, objects, .. } = self;
        let statics = set.static_slots().len() as u32;
        assert_eq!((set.len(), set.is_empty()), (objects.len(), objects.is_empty()));
        objects.sort_by_key(|(handle, _)| set.object_of(*handle).unwrap());
        assert!(
            set.iter()
                .map(|(handle, _)| handle)
                .eq(objects.iter().map(|(handle, _)| *handle))
        );
        let mut active = 0;
        for (handle, object) in &*objects {
            assert_eq!(bits(set.get(*handle).unwrap()), bits(object));
            let is_excluded = object.group & Aabb::EXCLUDED != 0;
            assert_eq!(set.is_excluded(*handle), Ok(is_excluded));
            active += usize::from(!is_excluded);
            let index = handle.index() + if handle.is_static() { 0 } else { statics };
            assert_eq!(
                (set.object_of(*handle), set.handle_of(index)),
                (Ok(index), Some(*handle))
            );
        }
        let slots = || set.static_slots().iter().chain(set.slots());
        assert_eq!(slots().filter(|slot| slot.group & Aabb::EXCLUDED == 0).count(), active);
        for index in [slots().count() as u32, NONE] {
            assert_eq!(set.handle_of(index), None);
        }
        for &handle in &self.stale {
            let error = StaleHandle(handle);
            assert!(!set.contains(handle) && error.to_string().contains("index"));
            assert_eq!((set.get(handle), set.object_of(handle)), (Err(error), Err(error)));
            assert_eq!((set.remove(handle), set.is_excluded(handle)), (Err(error), Err(error)));
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
        if let Some(generation) = self.generation.filter(|&generation| generation > 0) {
            let now = set.scene().statics.generation;
            assert_eq!(now != generation, self.statics_changed);
        }
    }
}

/// A step's boxes, and its results.
struct Step {
    slots: [Vec<Aabb>; 2],
    found: Readback<StepResult>,
}

/// Two sets in turn, with several steps in an encoder. Some encoders are dropped.
#[test]
fn steps_of_changing_sets_agree_with_brute_force_and_handles_never_alias() {
    let rays = [0.5, 1.5].map(|at| Ray::new([-9.0, at, 0.5], [1.0, 0.0, 0.0], f32::INFINITY));
    let query = QueryInput {
        rays: rays[..].into(),
        ..QueryInput::default()
    };
    let descriptor = descriptor(|all| {
        (all.outputs.ray_mode, all.outputs.capacities.entries) = (RayMode::All, Some(1 << 16));
    });
    for adapter in adapters() {
        let TestAdapter { device, queue, .. } = &adapter;
        let mut rng = Rng(37);
        let mut gpu = broad_phase(&adapter, &descriptor);
        let mut models = [Model::default(), Model::default()];
        for round in 0..60 {
            let what = format!("round {round} on {}", adapter.name);
            let mut encoder = encoder(&adapter);
            let mut steps = Vec::new();
            for _ in 0..3 {
                let model = &mut models[rng.below(2)];
                let changes = rng.one_of(&[0, 1, 3, 30]);
                (0..changes).for_each(|_| model.change(&mut rng));
                if round == 30 {
                    model.set.clear();
                    model.stale.extend(model.objects.drain(..).map(|(handle, _)| handle));
                    model.statics_changed = true;
                }
                model.check_handles();
                let input = model.upload(device, &mut encoder);
                gpu.step(&mut encoder, Scene { query, ..input }).unwrap();
                steps.push(Step {
                    slots: [model.set.slots().to_vec(), model.set.static_slots().to_vec()],
                    found: gpu.record_read_back(&mut encoder, Output::ALL).unwrap(),
                });
            }
            let is_dropped = round % 7 == 6;
            let ready = encoder.finish();
            queue.submit((!is_dropped).then_some(ready));
            poll(device);
            for (place, Step { slots, found }) in steps.into_iter().enumerate() {
                let [slots, static_slots] = &slots;
                let mut scene = scene_of(slots);
                (scene.statics.objects, scene.query) = (static_slots[..].into(), query);
                let found = block_on(found);
                if is_dropped {
                    assert_eq!(found, Err(ReadBackError::NotSubmitted), "{what}");
                    continue;
                }
                let found = found.expect("a result");
                assert!(found.counters.is_complete(), "{what}");
                let expected = Expected::of(&descriptor, &scene);
                check(&descriptor, &scene, &expected, &found, &format!("{what}, step {place}"));
            }
            for Model { set, generation, .. } in &mut models {
                if is_dropped {
                    upload(device, queue, set);
                    *generation = None;
                }
                assert_eq!(upload(device, queue, set), 0, "{what}");
            }
        }
        for Model { set, stale, .. } in &models {
            assert!(stale.len() > 50 && set.static_slots().len() > 5, "{}", stale.len());
        }
    }
}

#[test]
fn only_changed_and_new_objects_are_uploaded() {
    for TestAdapter { device, queue, .. } in daily_adapters() {
        let mut rng = Rng(47);
        let mut set = ObjectSet::with_capacity(9);
        assert_eq!(upload(&device, &queue, &mut set), 0);
        let mut handles = Vec::new();
        for count in [1, 2, 3, 64, 65, 1000, 1001, 1002, 2003, 20_000] {
            let before = handles.len();
            handles.extend((before..count).map(|_| set.insert(random_box(&mut rng))));
            let uploaded = upload(&device, &queue, &mut set);
            let new = (count - before) as u64;
            let whole = BOX_BYTES * count as u64;
            let most = if new > count as u64 / 2 { whole } else { 36 * new + 48 };
            assert!(uploaded <= most, "{uploaded} bytes for {before} to {count} objects");
        }
        let full = BOX_BYTES * handles.len() as u64;
        for (stride, by, [least, most]) in [
            (100, 0.25, [1, full * 12 / 1000]),
            (2, 1.0, [full / 2, full * 6 / 10]),
            (1, 1.0, [full; 2]),
            (1, 0.0, [0; 2]),
        ] {
            for &handle in handles.iter().step_by(stride) {
                let [min, max] = [set.get(handle).unwrap()].map(|of| [of.min, of.max])[0];
                let moved = |corner: [f32; 3]| corner.map(|bound| bound + by);
                set.move_to(handle, moved(min), moved(max)).unwrap();
            }
            let uploaded = upload(&device, &queue, &mut set);
            assert!(
                (least..=most).contains(&uploaded),
                "{uploaded} of {full} for every {stride}"
            );
        }
    }
}

#[test]
fn another_device_and_an_invalidated_set_start_over() {
    for adapter in daily_adapters() {
        let own = block_on(gpu_broad_phase::adapters(adapter.backends)).remove(0);
        let request = GpuBroadPhase::device_descriptor(&own);
        let [(first, first_queue), (second, second_queue)] =
            [0; 2].map(|_| block_on(own.request_device(&request)).expect("a device"));
        let (mut rng, mut set) = (Rng(53), ObjectSet::new());
        (0..100).for_each(|_| _ = set.insert(random_box(&mut rng)));
        for _ in 0..2 {
            assert_eq!(upload(&first, &first_queue, &mut set), BOX_BYTES * 100);
            assert_eq!(upload(&first.clone(), &first_queue, &mut set), 0);
            assert_eq!(upload(&second, &second_queue, &mut set), BOX_BYTES * 100);
        }
        set.invalidate();
        assert_eq!(upload(&adapter.device, &adapter.queue, &mut set), BOX_BYTES * 100);
    }
}
