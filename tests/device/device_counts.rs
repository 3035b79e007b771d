use crate::common::steps::{
    UNIT, bind, broad_phase, buffer, compute_pipeline, download, encoder, read, record, upload, whole,
};
use crate::common::{Rng, TestAdapter, adapters, uniform};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, DeviceCount, DispatchArgs, Growth, Output, Page, Query, Ray, RayMode, ResultOrder,
    Scene, StepOutput, StepResult, wgpu,
};

const OUTPUTS: [Output; 4] = [Output::Pairs, Output::RayHits, Output::RayCells, Output::QueryObjects];

fn rows_in(result: &StepResult, output: Output) -> usize {
    match output {
        Output::Pairs => result.pairs.len(),
        Output::RayHits => result.ray_hits.len(),
        Output::RayCells => result.ray_cells.len(),
        _ => result.query_objects.len(),
    }
}

fn descriptor(growth: Growth, pairs: Option<u32>) -> BroadPhaseDescriptor<'static> {
    let mut descriptor = BroadPhaseDescriptor::default();
    descriptor.outputs.ray_mode = RayMode::All;
    descriptor.outputs.ray_cells = true;
    descriptor.outputs.growth = growth;
    descriptor.outputs.capacities.pairs = pairs;
    descriptor
}

struct Visitor {
    pipeline: wgpu::ComputePipeline,
    workgroup_rows: u32,
}

impl Visitor {
    fn new(adapter: &TestAdapter, workgroup_rows: u32) -> Self {
        let source = format!(
            "
            @group(0) @binding(0) var<storage, read> args: array<u32>;
            @group(0) @binding(1) var<storage, read_write> visits: array<u32>;

            @compute @workgroup_size({workgroup_rows})
            fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {{
                let row = (group.y * 65535u + group.x) * {workgroup_rows}u + local;
                if (row < args[3]) {{
                    visits[row] += 1u;
                }}
            }}"
        );
        Self {
            pipeline: compute_pipeline(&adapter.device, None, source),
            workgroup_rows,
        }
    }

    /// Each of the first `expected` rows must be visited once, and no other.
    fn check(
        &self,
        adapter: &TestAdapter,
        mut encoder: wgpu::CommandEncoder,
        step: &StepOutput,
        output: Output,
        expected: impl FnOnce() -> usize,
    ) {
        let (device, queue) = (&adapter.device, &adapter.queue);
        let mut args = DispatchArgs::new(None);
        let args = args.record(&mut encoder, step, output, self.workgroup_rows).unwrap();
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let visits = buffer(device, 1 << 18, usage);
        let group = bind(device, &self.pipeline.get_bind_group_layout(0), &[&args, &visits]);
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups_indirect(&args, 0);
        drop(pass);
        queue.submit([encoder.finish()]);
        let visits: Vec<u32> = download(device, queue, &visits, visits.size());
        let expected = expected();
        let what = format!("{expected} rows of {output:?} on {}", adapter.name);
        assert!(visits[..expected].iter().all(|&visits| visits == 1), "{what}");
        assert!(visits[expected..].iter().all(|&visits| visits == 0), "{what}");
    }
}

#[test]
fn indirect_dispatches_visit_each_row_once() {
    let boxes = uniform(3000, &mut Rng(3));
    let ray = |object: &Aabb| Ray::new(object.min, [0.3, 1.0, 0.2], 9.0);
    let rays: Vec<_> = boxes[..500].iter().map(ray).collect();
    let mut input = Scene::default();
    input.query.rays = rays[..].into();
    input.query.queries = boxes[..700].into();
    input.objects = boxes[..].into();
    for adapter in adapters() {
        let visitors = [64, 100].map(|rows| Visitor::new(&adapter, rows));
        for descriptor in [descriptor(Growth::Fixed, Some(1000)), descriptor(Growth::Grow, None)] {
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            for (index, output) in OUTPUTS.into_iter().enumerate() {
                let mut encoder = encoder(&adapter);
                let step = record(&mut on_gpu, &mut encoder, input);
                visitors[index % 2].check(&adapter, encoder, &step, output, || {
                    let rows = rows_in(&read(&mut on_gpu), output);
                    assert!((1000..1 << 16).contains(&rows), "{output:?}: {rows}");
                    rows
                });
            }
        }
        let mut on_gpu = broad_phase(&adapter, &descriptor(Growth::Grow, None));
        let all = whole(&adapter, &mut on_gpu, input);
        for left in [[5, 90, 7, 30], [0; 4]] {
            let [pairs, hits, ray_cells, results] =
                [0, 1, 2, 3].map(|index: usize| (rows_in(&all, OUTPUTS[index]) - left[index]) as u32);
            let page = Page {
                pairs,
                hits,
                ray_cells,
                // Past the end.
                results: results + u32::from(left[3] == 0),
            };
            for (index, output) in OUTPUTS.into_iter().enumerate() {
                let mut encoder = encoder(&adapter);
                let shown = on_gpu.page(&mut encoder, page).unwrap();
                visitors[index % 2].check(&adapter, encoder, &shown, output, || left[index]);
            }
        }
    }
}

#[test]
fn complete_only_dispatches_run_on_all_rows_or_none() {
    let boxes = [UNIT; 40];
    for adapter in adapters() {
        let (device, queue) = (&adapter.device, &adapter.queue);
        let mut descriptor = descriptor(Growth::Grow, Some(100));
        descriptor.outputs.capacities.results = Some(5_000);
        let mut on_gpu = broad_phase(&adapter, &descriptor);
        let mut args = [DispatchArgs::new(None), DispatchArgs::new(None).complete_only()];
        let mut input = Scene::default();
        (input.objects, input.query.queries) = (boxes[..].into(), boxes[..].into());
        for frame in 0..2 {
            let mut encoder = encoder(&adapter);
            let step = record(&mut on_gpu, &mut encoder, input);
            let [of_all, of_complete] = args
                .each_mut()
                .map(|args| args.record(&mut encoder, &step, Output::Pairs, 64).unwrap());
            queue.submit([encoder.finish()]);
            let found = [of_all, of_complete].map(|args| download::<u32>(device, queue, &args, 16));
            let whole = [[13, 1, 1, 780]; 2];
            assert_eq!(found, if frame == 0 { [[2, 1, 1, 100], [0; 4]] } else { whole });
            let mut encoder = self::encoder(&adapter);
            let of_queries = args[1].record(&mut encoder, &step, Output::QueryObjects, 64).unwrap();
            queue.submit([encoder.finish()]);
            assert_eq!(download::<u32>(device, queue, &of_queries, 16), [25, 1, 1, 1_600]);
            read(&mut on_gpu);
        }
    }
}

/// Inputs past a count are invalid, which must not be counted either.
#[test]
fn inputs_past_a_device_count_are_ignored() {
    const GIVEN: usize = 600;
    let boxes = uniform(GIVEN, &mut Rng(0xc1));
    let ray = |aim: &Aabb| Ray::new([-3.0, 4.0, 1.0], aim.min.map(|bound| bound + 0.1), 900.0);
    for adapter in adapters() {
        let counts = upload(&adapter.device, &[77u32, 0, 500, 5000], wgpu::BufferUsages::STORAGE);
        let mut descriptor = descriptor(Growth::Grow, None);
        descriptor.outputs.order = ResultOrder::Sorted;
        let mut on_gpu = broad_phase(&adapter, &descriptor);
        for first in 0..4 {
            let words = [first, (first + 1) % 4, (first + 2) % 4];
            let used = words.map(|word| [77, 0, 500, GIVEN][word]);
            let mut objects = boxes.clone();
            let mut rays: Vec<_> = boxes.iter().map(ray).collect();
            let mut queries: Vec<_> = boxes.iter().map(|near| Query::sphere(near.min, 2.3)).collect();
            objects[used[0]..]
                .iter_mut()
                .for_each(|object| object.max[0] = f32::NAN);
            rays[used[1]..].iter_mut().for_each(|ray| ray.origin[1] = f32::NAN);
            queries[used[2]..]
                .iter_mut()
                .for_each(|query| query.bounds.max[0] = f32::NAN);
            let mut scene = Scene::default();
            scene.query.rays = rays[..used[1]].into();
            scene.objects = objects[..used[0]].into();
            scene.query.queries = queries[..used[2]].into();
            let mut expected = whole(&adapter, &mut on_gpu, scene);
            for offsets in [
                &mut expected.ray_offsets,
                &mut expected.ray_cell_offsets,
                &mut expected.query_offsets,
            ] {
                offsets.resize(GIVEN + 1, *offsets.last().unwrap());
            }
            let count = |index: usize| DeviceCount {
                buffer: &counts,
                word: words[index] as u32,
            };
            (scene.objects, scene.object_count) = (objects[..].into(), Some(count(0)));
            (scene.query.rays, scene.query.ray_count) = (rays[..].into(), Some(count(1)));
            (scene.query.queries, scene.query.query_count) = (queries[..].into(), Some(count(2)));
            let mut found = whole(&adapter, &mut on_gpu, scene);
            let counters = std::mem::replace(&mut found.counters, expected.counters);
            assert_eq!(counters.excluded as usize, GIVEN - used[0]);
            let invalid = [counters.invalid, counters.rays_invalid, counters.queries_invalid];
            assert_eq!(invalid, [0; 3], "{}", adapter.name);
            assert_eq!(found, expected, "{}", adapter.name);
        }
    }
}
