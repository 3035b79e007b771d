use crate::common::pool::opened;
use crate::common::{TestAdapter, adapters};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, BroadPhaseError, CreateError, DebugDraw, DebugLines, DispatchArgs, GpuBroadPhase,
    ObjectNames, ObjectSet, Output, Page, PairEvents, Queries, QueryInput, Ray, ReadBackError, Scene, Source,
    StepError, adapters as list_adapters, wgpu,
};
use pollster::block_on;

fn host<'a>(objects: &'a [Aabb], rays: &'a [Ray]) -> Scene<'a> {
    Scene {
        objects: Source::Host(objects),
        query: QueryInput {
            rays: Source::Host(rays).into(),
            ..QueryInput::default()
        },
        ..Default::default()
    }
}

fn own_devices<const COUNT: usize>(adapter: &TestAdapter) -> [(wgpu::Device, wgpu::Queue); COUNT] {
    let list = block_on(list_adapters(adapter.backends));
    let own = list.into_iter().next().expect("an adapter");
    std::array::from_fn(|_| {
        let (device, queue) = block_on(own.request_device(&wgpu::DeviceDescriptor {
            required_limits: GpuBroadPhase::required_limits(),
            ..Default::default()
        }))
        .expect("a device");
        device.on_uncaptured_error(std::sync::Arc::new(|error| panic!("uncaptured: {error}")));
        (device, queue)
    })
}

fn two() -> [Aabb; 2] {
    [Aabb::new([0.0; 3], [1.0; 3]); 2]
}

#[test]
fn a_buffer_of_another_device_is_a_typed_error() {
    for adapter in adapters() {
        let [(device, queue), (other, _)] = own_devices(&adapter);
        let foreign = other.create_buffer(&wgpu::BufferDescriptor {
            label: Some("foreign"),
            size: 64,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        });
        let mut gpu = GpuBroadPhase::new(&device, &queue, &BroadPhaseDescriptor::default()).expect("a broad phase");
        let mut encoder = device.create_command_encoder(&Default::default());
        let input = Scene {
            objects: Source::device(&foreign, 2),
            ..Default::default()
        };
        let refused = gpu.step(&mut encoder, input).err();
        assert!(
            matches!(refused, Some(StepError::Device(_))),
            "{}: {refused:?}",
            adapter.name
        );
        drop(encoder);
        assert_eq!(block_on(gpu.read_back()), Err(ReadBackError::NoStep));

        let mut encoder = device.create_command_encoder(&Default::default());
        gpu.step(&mut encoder, host(&two(), &[])).expect("a step");
        queue.submit([encoder.finish()]);
        let result = block_on(gpu.read_back()).expect("a result");
        assert_eq!(result.pairs.len(), 1, "{}", adapter.name);
    }
}

#[test]
fn what_was_used_on_another_device_is_a_typed_error() {
    for adapter in adapters() {
        let name = &adapter.name;
        let devices: [_; 2] = own_devices(&adapter);
        let descriptor = BroadPhaseDescriptor::default();
        let mut both = devices
            .each_ref()
            .map(|(device, queue)| GpuBroadPhase::new(device, queue, &descriptor).expect("a broad phase"));
        let mut events = PairEvents::new(None);
        let mut args = DispatchArgs::new(None);
        let mut draw = DebugDraw::new(&descriptor, None);
        for turn in [0, 1, 0] {
            let (device, queue) = &devices[turn];
            let mut encoder = device.create_command_encoder(&Default::default());
            let step = both[turn].step(&mut encoder, host(&two(), &[])).expect("a step");
            let names = ObjectNames::default();
            let told = [
                events.record(&mut encoder, &step, names).err(),
                args.record(&mut encoder, &step, Output::Pairs, 64).err(),
                draw.record(&mut encoder, &step, DebugLines::Boxes, [0; 4], 64).err(),
            ];
            if turn == 1 {
                let is_typed = |told: &Option<StepError>| matches!(told, Some(StepError::Device(_)));
                assert!(told.iter().all(is_typed), "{name}: {told:?}");
            } else {
                assert_eq!(told, [const { None }; 3], "{name}, turn {turn}");
                queue.submit([encoder.finish()]);
            }
        }
        let changes = block_on(events.read_back()).expect("events");
        assert_eq!((changes.persisting.len(), changes.begun.len()), (0, 1), "{name}");
    }
}

#[test]
fn a_step_on_a_lost_device_ends_in_typed_errors() {
    for adapter in adapters() {
        let [(device, queue)] = own_devices(&adapter);
        let mut gpu = GpuBroadPhase::new(&device, &queue, &BroadPhaseDescriptor::default()).expect("a broad phase");
        let mut set = gpu.query_set("set", &gpu.descriptor().outputs).expect("options");
        let mut events = PairEvents::new(None);
        let mut encoder = device.create_command_encoder(&Default::default());
        let step = gpu.step(&mut encoder, host(&two(), &[])).expect("a step");
        events
            .record(&mut encoder, &step, ObjectNames::default())
            .expect("events");
        queue.submit([encoder.finish()]);
        device.destroy();

        let lost = Some(ReadBackError::DeviceLost);
        assert_eq!(block_on(gpu.read_back()).err(), lost, "{}", adapter.name);
        assert_eq!(block_on(events.read_back()).err(), lost, "{}", adapter.name);
        let mut encoder = device.create_command_encoder(&Default::default());
        let rays = [Ray::new([0.0; 3], [1.0; 3], 1.0)];
        let recorded = gpu.step(&mut encoder, host(&[two()[0]; 700], &rays)).map(drop);
        assert_eq!(recorded, Err(StepError::DeviceLost), "{}", adapter.name);
        drop(encoder);
        let read = block_on(gpu.read_back());
        assert_eq!(read, Err(ReadBackError::DeviceLost), "{}", adapter.name);

        gpu.mark_lost();
        let mut encoder = device.create_command_encoder(&Default::default());
        let lost = gpu.step(&mut encoder, host(&two(), &[])).err();
        assert_eq!(lost, Some(StepError::DeviceLost));
        let lost = gpu.page(&mut encoder, Page::default()).err();
        assert_eq!(lost, Some(StepError::DeviceLost));
        let query = QueryInput {
            queries: Queries::Boxes(Source::Host(&[])),
            ..Default::default()
        };
        let lost = gpu.query(&mut encoder, query).err();
        assert_eq!(lost, Some(StepError::DeviceLost));
        let lost = set.record(&mut encoder, &step, query).err();
        assert_eq!(lost, Some(StepError::DeviceLost));
        assert_eq!(block_on(gpu.read_back()), Err(ReadBackError::DeviceLost));
    }
}

#[test]
fn a_lost_device_ends_in_typed_errors() {
    for adapter in adapters() {
        let [(device, queue)] = own_devices(&adapter);
        let descriptor = BroadPhaseDescriptor::default();
        let mut gpu = GpuBroadPhase::new(&device, &queue, &descriptor).expect("a broad phase");
        device.destroy();
        let made = GpuBroadPhase::new(&device, &queue, &descriptor).err();
        assert_eq!(made, Some(CreateError::DeviceLost), "{}", adapter.name);
        let mut set = ObjectSet::new();
        set.insert(two()[0]);
        let mut encoder = device.create_command_encoder(&Default::default());
        let input = set.upload(&device, &mut encoder).expect("sources");
        let refused = gpu.step(&mut encoder, input).err();
        assert_eq!(refused, Some(StepError::DeviceLost), "{}", adapter.name);
    }
}

#[test]
fn a_broad_phase_reports_a_lost_device() {
    for adapter in adapters() {
        let descriptor = BroadPhaseDescriptor::default();
        let mut headless = opened(&adapter, &descriptor);
        assert_eq!(block_on(headless.step(&two(), &[])).expect("a result").pairs.len(), 1);
        headless.device().unwrap().destroy();
        for _ in 0..2 {
            let lost = block_on(headless.step(&two(), &[]));
            assert!(
                matches!(lost, Err(BroadPhaseError::DeviceLost)),
                "{}: {lost:?}",
                adapter.name
            );
        }
    }
}
