use super::*;
use gpu_broad_phase::reference;

#[derive(Clone, Copy, Debug)]
enum Fate {
    /// Dropped before the next step is recorded.
    Dropped,
    /// Dropped after the next step is recorded, as a command buffer.
    DroppedLate,
}

const FATES: [Fate; 2] = [Fate::Dropped, Fate::DroppedLate];

/// Records a step twice and drops the first encoder by `fate`. The second recording reports the missing table or
/// builds its own.
fn record_both(
    adapter: &TestAdapter,
    fate: Fate,
    on_gpu: &mut GpuBroadPhase,
    mut record: impl FnMut(&mut GpuBroadPhase, &mut wgpu::CommandEncoder),
) -> Result<StepResult, ReadBackError> {
    let mut encoders = [encoder(adapter), encoder(adapter)];
    record(on_gpu, &mut encoders[0]);
    let [first, mut second] = encoders;
    let held = match fate {
        Fate::Dropped => {
            drop(first);
            None
        }
        Fate::DroppedLate => Some(first.finish()),
    };
    record(on_gpu, &mut second);
    drop(held);
    adapter.queue.submit([second.finish()]);
    block_on(on_gpu.read_back())
}

#[test]
fn a_table_whose_encoder_was_not_submitted_is_built_again() {
    for adapter in daily_adapters() {
        for (scheme, fate) in SCHEMES.into_iter().flat_map(|scheme| FATES.map(|fate| (scheme, fate))) {
            let what = format!("{fate:?}, {scheme:?} on {}", adapter.name);
            let descriptor = everything(scheme);
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let is_told = !matches!(fate, Fate::Dropped);
            for seed in [1, 2] {
                let case = Case::new(seed, [150, 40], 2);
                let scene = case.scene();
                let read = record_both(&adapter, fate, &mut on_gpu, |on_gpu, encoder| {
                    record(on_gpu, encoder, scene);
                });
                assert_eq!(read.is_err(), is_told, "{what}: {read:?}");
                if is_told {
                    assert_eq!(read, Err(ReadBackError::NotSubmitted), "{what}");
                }
                let found = whole(&adapter, &mut on_gpu, scene);
                check(&descriptor, &scene, &found, &what);
            }
        }
    }
}

#[test]
fn boxes_that_were_to_move_in_a_dropped_encoder_are_read_again() {
    for adapter in daily_adapters() {
        for fate in FATES {
            let what = format!("{fate:?} on {}", adapter.name);
            let descriptor = everything(Scheme::Hierarchical);
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let mut case = Case::new(3, [300, 60], 2);
            let first = whole(&adapter, &mut on_gpu, case.scene());
            check(&descriptor, &case.scene(), &first, &what);
            let more = Case::new(4, [0, 2000], 2);
            (case.moving, case.worlds) = (more.moving, more.worlds);
            let scene = case.scene();
            let read = record_both(&adapter, fate, &mut on_gpu, |on_gpu, encoder| {
                record(on_gpu, encoder, scene);
            });
            let is_told = !matches!(fate, Fate::Dropped);
            assert_eq!(read.is_err(), is_told, "{what}: {read:?}");
            let found = whole(&adapter, &mut on_gpu, scene);
            check(&descriptor, &scene, &found, &what);
        }
    }
}

#[test]
fn sets_and_tables_find_out_together_what_was_not_submitted() {
    let unit = |at: f32| Aabb::new([at; 3], [at + 1.0; 3]);
    for adapter in daily_adapters() {
        for fate in FATES {
            let what = format!("{fate:?} on {}", adapter.name);
            let mut on_gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
            let mut set = ObjectSet::new();
            let balls = [0.0, 0.5, 5.0].map(|at| set.insert(unit(at)));
            let walls = [0.7, 9.0].map(|at| set.insert_static(unit(at)));
            for round in 0..3 {
                let mut uploaded = Vec::new();
                let told = record_both(&adapter, fate, &mut on_gpu, |on_gpu, encoder| {
                    let input = set.upload(&adapter.device, encoder).unwrap();
                    record(on_gpu, encoder, input);
                    uploaded.push(set.uploaded_bytes());
                });
                let is_told = !matches!(fate, Fate::Dropped);
                assert_eq!(told.is_err(), is_told, "{what}, round {round}: {told:?}");
                assert_eq!(uploaded[1] > 0, !is_told, "{what}, round {round}");
                let mut last = encoder(&adapter);
                let input = set.upload(&adapter.device, &mut last).unwrap();
                record(&mut on_gpu, &mut last, input);
                adapter.queue.submit([last.finish()]);
                let objects: Vec<_> = set.static_slots().iter().chain(set.slots()).copied().collect();
                let expected = reference::brute_force::pairs(&objects);
                assert_eq!(sorted(read(&mut on_gpu).pairs), expected, "{what}, round {round}");
                set.move_to(balls[2], [1.2 + round as f32; 3], [2.0 + round as f32; 3])
                    .unwrap();
                if round == 1 {
                    set.move_to(walls[1], [2.5; 3], [3.5; 3]).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_step_whose_uploads_did_not_run_is_reported() {
    let unit = |at: f32| Aabb::new([at; 3], [at + 1.0; 3]);
    for adapter in daily_adapters() {
        for is_static in [false, true] {
            let what = format!("static {is_static} on {}", adapter.name);
            let (mut set, mut on_gpu) = (
                ObjectSet::new(),
                broad_phase(&adapter, &BroadPhaseDescriptor::default()),
            );
            let ball = set.insert(unit(0.0));
            set.insert(unit(0.5));
            let wall = set.insert_static(unit(0.7));
            let mut pairs = |set: &mut ObjectSet, is_dropped: bool| {
                let [mut uploads, mut step] = [encoder(&adapter), encoder(&adapter)];
                let input = set.upload(&adapter.device, &mut uploads).unwrap();
                record(&mut on_gpu, &mut step, input);
                let (uploads, step) = (uploads.finish(), step.finish());
                adapter.queue.submit((!is_dropped).then_some(uploads));
                adapter.queue.submit([step]);
                block_on(on_gpu.read_back()).map(|result| result.pairs.len())
            };
            assert_eq!(pairs(&mut set, false), Ok(3), "{what}");
            let moved = if is_static { wall } else { ball };
            set.move_to(moved, [7.0; 3], [8.0; 3]).unwrap();
            assert_eq!(pairs(&mut set, true), Err(ReadBackError::NotSubmitted), "{what}");
            assert_eq!(pairs(&mut set, false), Ok(1), "{what}");
            assert!(set.uploaded_bytes() > 0, "{what}");
        }
    }
}
