//! Lost devices, objects of another device, and devices with low limits or without optional features.

use crate::common::pool::opened;
use crate::common::steps::{UNIT, buffer, scene_of};
use crate::common::{TestAdapter, adapters, daily_adapters};
use crate::refusals::{Components, descriptor};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, BroadPhaseError, CreateError, GpuBroadPhase, ObjectNames, ObjectSet, OutputOptions,
    Page, PairEvents, QueryInput, ReadBackError, Scene, Source, StepError, adapters as list_adapters, wgpu,
};
use pollster::block_on;

const OBJECTS: &[Aabb] = &[UNIT; 2];

fn two() -> Scene<'static> {
    scene_of(OBJECTS)
}

/// Opens devices of one instance, without optional features.
fn devices<const COUNT: usize>(adapter: &TestAdapter, limits: &wgpu::Limits) -> [(wgpu::Device, wgpu::Queue); COUNT] {
    let list = block_on(list_adapters(adapter.backends));
    let own = list.into_iter().next().expect("an adapter");
    std::array::from_fn(|_| {
        let request = wgpu::DeviceDescriptor {
            required_limits: limits.clone(),
            ..Default::default()
        };
        let (device, queue) = block_on(own.request_device(&request)).expect("a device");
        device.on_uncaptured_error(std::sync::Arc::new(|error| panic!("uncaptured: {error}")));
        (device, queue)
    })
}

#[test]
fn objects_of_another_device_and_lost_devices_are_typed_errors() {
    for adapter in adapters() {
        let name = &adapter.name;
        let [first, second] = devices(&adapter, &GpuBroadPhase::required_limits());
        // Devices without timestamps ignore the request.
        let descriptor = descriptor(|all| all.outputs.timestamps = true);
        let [mut gpu, mut other] =
            [&first, &second].map(|(device, queue)| GpuBroadPhase::new(device, queue, &descriptor).expect(name));
        let (device, queue) = &first;
        let encoder = |device: &wgpu::Device| device.create_command_encoder(&Default::default());
        let foreign = buffer(&second.0, 64, wgpu::BufferUsages::STORAGE);
        let mut of_foreign = two();
        of_foreign.objects = Source::device(&foreign, 2);
        let refused = gpu.step(&mut encoder(device), of_foreign).err();
        assert!(matches!(refused, Some(StepError::Device(_))), "{name}: {refused:?}");
        assert_eq!(block_on(gpu.read_back()), Err(ReadBackError::NoStep), "{name}");

        let mut components = Components::new();
        for is_foreign in [false, true, false] {
            let mut open = encoder(if is_foreign { &second.0 } else { device });
            let step = if is_foreign { &mut other } else { &mut gpu };
            let step = step.step(&mut open, two()).expect(name);
            for recorded in components.record(&mut open, &step) {
                let is_refused = matches!(recorded, Err(StepError::Device(_)));
                assert!(is_refused == is_foreign, "{name}: {recorded:?}");
            }
            if !is_foreign {
                queue.submit([open.finish()]);
            }
        }
        let result = block_on(gpu.read_back()).expect(name);
        assert_eq!((result.pairs.len(), result.timings.len()), (1, 0), "{name}");
        let events = block_on(components.events.read_back()).expect(name);
        assert_eq!((events.persisting.len(), events.begun.len()), (0, 1), "{name}");
        lose(name, device, queue, &mut gpu);
        let made = GpuBroadPhase::new(device, queue, &descriptor).err();
        assert_eq!(made, Some(CreateError::DeviceLost), "{name}");
    }
}

fn lose(name: &str, device: &wgpu::Device, queue: &wgpu::Queue, gpu: &mut GpuBroadPhase) {
    let encoder = || device.create_command_encoder(&Default::default());
    let mut set = gpu.query_set("set", &OutputOptions::default()).expect("options");
    let mut events = PairEvents::new(None);
    let mut objects = ObjectSet::new();
    objects.insert(UNIT);
    let mut last = encoder();
    let step = gpu.step(&mut last, two()).expect(name);
    events.record(&mut last, &step, ObjectNames::default()).expect(name);
    queue.submit([last.finish()]);
    device.destroy();

    let lost = Some(ReadBackError::DeviceLost);
    assert_eq!(block_on(gpu.read_back()).err(), lost, "{name}");
    assert_eq!(block_on(events.read_back()).err(), lost, "{name}");
    let more = [UNIT; 700];
    let mut open = encoder();
    let larger = scene_of(&more);
    let uploaded = objects.upload(device, &mut open).expect(name);
    let is_lost = |called: Result<_, _>| assert_eq!(called.err(), Some(StepError::DeviceLost), "{name}");
    is_lost(gpu.step(&mut encoder(), larger));
    is_lost(gpu.step(&mut open, uploaded));
    assert_eq!(block_on(gpu.read_back()).err(), lost, "{name}");

    gpu.mark_lost();
    is_lost(gpu.step(&mut open, two()));
    is_lost(gpu.page(&mut open, Page::default()));
    is_lost(gpu.query(&mut open, QueryInput::default()));
    is_lost(set.record(&mut open, &step, QueryInput::default()));
    assert_eq!(block_on(gpu.read_back()).err(), lost, "{name}");
}

#[test]
fn a_broad_phase_reports_a_lost_device_again_and_again() {
    for adapter in daily_adapters() {
        let mut whole = opened(&adapter, &BroadPhaseDescriptor::default());
        assert_eq!(block_on(whole.step(OBJECTS, &[])).expect("a result").pairs.len(), 1);
        whole.device().expect("a device").destroy();
        for _ in 0..2 {
            let lost = block_on(whole.step(OBJECTS, &[])).err();
            assert_eq!(lost, Some(BroadPhaseError::DeviceLost), "{}", adapter.name);
        }
    }
}

#[test]
fn a_limit_of_the_device_that_is_too_low_is_named() {
    for adapter in adapters() {
        let mut limits = GpuBroadPhase::required_limits();
        let needed = limits.max_storage_buffers_per_shader_stage;
        limits.max_storage_buffers_per_shader_stage -= 1;
        let [(device, queue)] = devices(&adapter, &limits);
        let made = GpuBroadPhase::new(&device, &queue, &BroadPhaseDescriptor::default()).err();
        let expected = CreateError::Limit {
            limit: "max_storage_buffers_per_shader_stage",
            needed: needed.into(),
            available: u64::from(needed) - 1,
        };
        assert_eq!(made, Some(expected), "{}", adapter.name);
    }
}
