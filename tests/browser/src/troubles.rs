use gpu_broad_phase::{
    Aabb, Backend, BroadPhase, BroadPhaseDescriptor, BroadPhaseError, ReadBackError, Scene, Source, wgpu,
};

use crate::Say;
use crate::golden;
use crate::gpu::{Gpu, Kind};

/// One box more than a default binding holds is refused, and the next step works.
pub async fn too_large(gpu: &Gpu, say: Say<'_>) {
    let count = gpu.device.limits().max_storage_buffer_binding_size as usize / size_of::<Aabb>() + 1;
    let boxes = vec![Aabb::point([0.0; 3]); count];
    let mut broad_phase = gpu.broad_phase(&BroadPhaseDescriptor::default());
    let mut encoder = gpu.device.create_command_encoder(&Default::default());
    let input = Scene {
        objects: Source::Host(&boxes),
        ..Scene::default()
    };
    let refused = broad_phase.step(&mut encoder, input);
    let error = refused.expect_err("too many boxes").to_string();
    drop(encoder);
    let case = golden::uniform_boxes();
    let found = gpu.whole(&mut broad_phase, case.scene()).await;
    assert!(!found.pairs.is_empty());
    say(&format!(
        "{count} boxes: {error}; the next step: {} pairs",
        found.pairs.len()
    ));
}

pub async fn lost(say: Say<'_>) {
    let case = golden::uniform_boxes();
    let scene = case.scene();
    let gpu = Gpu::open(Kind::Rich).await;
    let mut broad_phase = gpu.broad_phase(&BroadPhaseDescriptor::default());
    gpu.whole(&mut broad_phase, scene).await;
    gpu.device.destroy();
    let answer = broad_phase.read_back().await;
    let error = answer.expect_err("a lost device");
    assert!(
        matches!(error, ReadBackError::Map(_) | ReadBackError::DeviceLost),
        "{error:?}"
    );
    let mut headless = BroadPhase::with_backend(&BroadPhaseDescriptor::default(), Backend::Gpu(wgpu::Backends::all()))
        .await
        .expect("a broad phase");
    headless.device().expect("a device").destroy();
    let of_headless = headless.step_scene(&scene).await.expect_err("a lost device");
    let is_lost = matches!(of_headless, BroadPhaseError::DeviceLost);
    assert!(is_lost, "{of_headless:?}");
    let next = Gpu::open(Kind::Rich).await;
    let mut broad_phase = next.broad_phase(&BroadPhaseDescriptor::default());
    let found = next.whole(&mut broad_phase, scene).await;
    next.check();
    say(&format!(
        "a lost device: {error}; another one: {} pairs",
        found.pairs.len()
    ));
}
