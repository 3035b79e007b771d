//! The command `query`.

use anyhow::Result;
use gpu_broad_phase::{BroadPhaseDescriptor, Scene};

use crate::Status;
use crate::args::QueryArgs;
use crate::engine::{Engine, dimensions, scheme};
use crate::input;
use crate::output::Target;
use crate::report::Reporter;

pub fn run(args: &QueryArgs, reporter: Reporter) -> Result<Status> {
    let target = Target::new(&args.output)?;
    let scene = input::scene(&args.scene.scene, &args.scene.reading, None, false, reporter)?;
    let boxes = input::boxes(&args.boxes, scene.dimensions, reporter)?;
    let descriptor = BroadPhaseDescriptor {
        dimensions: dimensions(&scene),
        scheme: scheme(&args.scheme, &scene, reporter)?,
        pairs: false,
        timestamps: true,
        ..Default::default()
    };
    let mut engine = Engine::open(&args.engine, descriptor, reporter)?;
    let asked = Scene {
        objects: &scene.boxes,
        queries: boxes.as_slice().into(),
        ..Scene::default()
    };
    engine.keep(&asked, &args.snapshot)?;
    let result = reporter.timed("step", || engine.step_scene(&asked))?;
    reporter.queries(&result, boxes.len());

    let id = |index: u32| scene.elements.as_ref().map_or(index, |elements| elements.id(index));
    let rows = rows(&result.query_offsets, &result.query_objects, id);
    target.write(rows.len(), 2, rows.into_iter().flatten(), reporter)?;
    Ok(Status::of(&result.counters, reporter))
}

/// Rows `query,object`, ascending.
pub fn rows(offsets: &[u32], objects: &[u32], id: impl Fn(u32) -> u32) -> Vec<[u32; 2]> {
    let mut rows = Vec::with_capacity(objects.len());
    for (ends, query) in offsets.windows(2).zip(0..) {
        let first = rows.len();
        let found = &objects[ends[0] as usize..ends[1] as usize];
        rows.extend(found.iter().map(|&object| [query, id(object)]));
        rows[first..].sort_unstable();
    }
    rows
}
