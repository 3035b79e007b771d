//! The command `rays`.

use anyhow::Result;
use gpu_broad_phase::{BroadPhaseDescriptor, NONE, RayMode, Scene};

use crate::Status;
use crate::args::{Mode, RaysArgs};
use crate::engine::{Engine, dimensions, scheme};
use crate::input;
use crate::output::Target;
use crate::report::Reporter;

pub fn run(args: &RaysArgs, reporter: Reporter) -> Result<Status> {
    let target = Target::new(&args.output)?;
    let scene = input::scene(&args.scene.scene, &args.scene.reading, None, false, reporter)?;
    let rays = input::rays(&args.rays, scene.dimensions, reporter)?;
    let descriptor = BroadPhaseDescriptor {
        dimensions: dimensions(&scene),
        scheme: scheme(&args.scheme, &scene, reporter)?,
        pairs: false,
        ray_mode: match args.mode {
            Mode::Closest => RayMode::Closest,
            Mode::Any => RayMode::Any,
            Mode::All => RayMode::All,
        },
        timestamps: true,
        ..Default::default()
    };
    let mut engine = Engine::open(&args.engine, descriptor, reporter)?;
    let asked = Scene {
        objects: &scene.boxes,
        rays: rays.as_slice().into(),
        ..Scene::default()
    };
    engine.keep(&asked, &args.snapshot)?;
    let result = reporter.timed("step", || engine.step_scene(&asked))?;
    reporter.step(&result, rays.len());
    let status = Status::of(&result.counters, reporter);

    let id = |index: u32| scene.elements.as_ref().map_or(index, |elements| elements.id(index));
    match args.mode {
        Mode::Closest => {
            let values = result.ray_hits.iter().zip(0_u32..).flat_map(|(hit, ray)| {
                let object = if hit.object == NONE {
                    -1.0
                } else {
                    f64::from(id(hit.object))
                };
                [f64::from(ray), object, f64::from(hit.t)]
            });
            target.write(rays.len(), 3, values, reporter)?;
        }
        Mode::Any => {
            let values = result.ray_any.iter().zip(0_u32..).flat_map(|(&hit, ray)| [ray, hit]);
            target.write(rays.len(), 2, values, reporter)?;
        }
        Mode::All => {
            let spinner = reporter.spinner("sorting");
            let mut rows = Vec::with_capacity(result.ray_hits.len());
            for (range, ray) in result.ray_offsets.windows(2).zip(0_u32..) {
                let hits = &result.ray_hits[range[0] as usize..range[1] as usize];
                let first = rows.len();
                rows.extend(hits.iter().map(|hit| [ray, id(hit.object)]));
                rows[first..].sort_unstable();
            }
            spinner.finish_and_clear();
            target.write(rows.len(), 2, rows.into_iter().flatten(), reporter)?;
        }
    }
    Ok(status)
}
