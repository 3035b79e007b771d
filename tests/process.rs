//! A separate test binary for process-wide state: the log, and the size of the process.

use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use gpu_broad_phase::{
    Aabb, Backend, BroadPhase, BroadPhaseDescriptor, GpuBroadPhase, Growth, Scene, adapters, block_on, wgpu,
};

/// Serialises all tests of this file.
fn serial() -> MutexGuard<'static, ()> {
    static SERIAL: Mutex<()> = Mutex::new(());
    SERIAL.lock().unwrap_or_else(PoisonError::into_inner)
}

fn devices() -> Vec<(String, wgpu::Device, wgpu::Queue)> {
    let wanted = std::env::var("GPU_BROAD_PHASE_ADAPTERS").unwrap_or_default();
    let backends = match wanted.as_str() {
        "" => wgpu::Backends::all(),
        wanted => wgpu::Backends::from_comma_list(wanted),
    };
    let found = block_on(adapters(backends));
    assert!(wanted.is_empty() || !found.is_empty(), "no adapter of {wanted}");
    let open = |adapter: &wgpu::Adapter| {
        let descriptor = GpuBroadPhase::device_descriptor(adapter);
        let (device, queue) = block_on(adapter.request_device(&descriptor)).expect("a device");
        (adapter.get_info().name, device, queue)
    };
    found.iter().map(open).collect()
}

fn row(count: u32) -> Vec<Aabb> {
    let along = (0..count).map(|place| 0.9 * place as f32);
    along.map(|x| Aabb::new([x, 0.0, 0.0], [x + 1.0, 1.0, 1.0])).collect()
}

fn scene(objects: &[Aabb]) -> Scene<'_> {
    Scene {
        objects: objects.into(),
        ..Scene::default()
    }
}

struct Log(Mutex<Vec<String>>);

static LOG: Log = Log(Mutex::new(Vec::new()));

impl log::Log for Log {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Warn && metadata.target().starts_with("gpu_broad_phase")
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            self.lines().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

impl Log {
    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, label: &str) -> Vec<String> {
        let lines = self.lines();
        lines.iter().filter(|line| line.starts_with(label)).cloned().collect()
    }
}

fn install_log() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_logger(&LOG).expect("no other logger");
        log::set_max_level(log::LevelFilter::Warn);
    });
}

#[test]
fn overflow_and_invalid_input_are_logged_when_they_begin() {
    let _serial = serial();
    install_log();
    for (index, (name, device, queue)) in devices().into_iter().enumerate() {
        let label = format!("log_{index}");
        for (growth, next) in [
            (Growth::Grow, "a later step has room"),
            (Growth::Fixed, "raise it, or let outputs grow"),
        ] {
            let label = format!("{label}_{growth:?}");
            let mut descriptor = BroadPhaseDescriptor {
                label: Some(&label),
                ..Default::default()
            };
            (descriptor.outputs.growth, descriptor.outputs.capacities.pairs) = (growth, Some(10));
            let mut gpu = GpuBroadPhase::new(&device, &queue, &descriptor).expect("a broad phase");
            let mut objects = row(40);
            objects.push(Aabb::new([f32::NAN; 3], [1.0; 3]));
            for _ in 0..4 {
                let mut encoder = device.create_command_encoder(&Default::default());
                gpu.step(&mut encoder, scene(&objects)).expect("a step");
                queue.submit([encoder.finish()]);
                let polled = device.poll(wgpu::PollType::wait_indefinitely());
                polled.expect("an idle device");
                gpu.counters();
            }
            let expected = [
                format!("{label}: 1 invalid objects ignored"),
                format!("{label}: overflow: 39 pairs needed, the capacity is 10: {next}"),
            ];
            assert_eq!(LOG.of(&label), expected, "{name}");
        }
    }
    let descriptor = BroadPhaseDescriptor::default();
    let mut cpu = block_on(BroadPhase::with_backend(&descriptor, Backend::Cpu)).expect("the CPU");
    for _ in 0..2 {
        block_on(cpu.step(&[Aabb::new([1.0; 3], [0.0; 3]); 3], &[])).expect("an answer");
    }
    assert_eq!(
        LOG.of("gpu_broad_phase: 3 invalid"),
        ["gpu_broad_phase: 3 invalid objects ignored"]
    );
}

/// Some loops leak in lavapipe: one in the pair walk kept 0.64 MB per step (`docs/tried.md`).
#[cfg(target_os = "linux")]
#[test]
fn steps_do_not_grow_the_process() {
    use gpu_broad_phase::Ray;

    let _serial = serial();
    let resident_kb = || {
        let status = std::fs::read_to_string("/proc/self/status").expect("a status");
        let size = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kb = size.and_then(|size| size.trim().strip_suffix(" kB"));
        kb.expect("the resident size").parse::<u64>().expect("a number")
    };
    let objects = row(200);
    let rays = [Ray::new([-1.0, 0.5, 0.5], [1.0, 0.0, 0.0], f32::INFINITY)];
    let mut input = scene(&objects);
    (input.query.rays, input.query.queries) = (rays[..].into(), objects[..].into());
    for (name, device, queue) in devices() {
        let mut gpu = GpuBroadPhase::new(&device, &queue, &BroadPhaseDescriptor::default()).expect("a broad phase");
        let mut turns = |count| {
            for _ in 0..count {
                let mut encoder = device.create_command_encoder(&Default::default());
                gpu.step(&mut encoder, input).expect("a step");
                queue.submit([encoder.finish()]);
                block_on(gpu.read_back()).expect("a result");
            }
        };
        turns(50);
        let before = resident_kb();
        turns(200);
        let grown = resident_kb().saturating_sub(before);
        assert!(grown < 16 << 10, "{name}: 200 steps grew the process by {grown} kB");
    }
}
