use anyhow::{Result, bail};
use gpu_broad_phase::{BroadPhaseDescriptor, OutputOptions, QueryInput, RayMode, Rays, Scene, Scheme, Source};
use measure::verify::{Verified, compare, compare_random, table, verified};

use crate::Status;
use crate::args::{Backend, VerifyArgs};
use crate::engine::{backends, dimensions, names_no_backend};
use crate::input::{self, RayList, WideRays};
use crate::output::print;
use crate::report::Reporter;

pub fn run(args: &VerifyArgs, reporter: Reporter) -> Result<Status> {
    if args.scene.scene.is_none() && args.random.is_none() {
        bail!("verify needs a scene, or --random N");
    }
    let mut adapters = open(args, reporter)?;
    let mut status = Status::Done;
    if let Some(path) = &args.scene.scene {
        let wide = input::wide_scene(path, &args.scene.reading, reporter)?;
        let wide_rays = args
            .rays
            .as_ref()
            .map(|rays| input::rays(rays, &args.columns.ray_columns, wide.dimensions, reporter));
        let wide_rays = wide_rays.transpose()?;
        let origin = wide.origin(wide_rays.as_ref().is_none_or(WideRays::is_exact), None, reporter);
        let scene = wide.at(origin, reporter)?;
        let rays = wide_rays.map(|rays| rays.at(origin));
        let dimensions = dimensions(&scene);
        let scene_on_host = Scene {
            objects: Source::Host(&scene.boxes),
            query: QueryInput {
                rays: rays.as_ref().map_or(Rays::Plain(Source::Host(&[])), RayList::as_rays),
                ..QueryInput::default()
            },
            ..Scene::default()
        };
        let schemes = [
            Scheme::Hierarchical,
            args.cell_size.map_or_else(
                || Scheme::uniform_for(&scene.boxes, dimensions),
                |cell_size| Scheme::Uniform { cell_size },
            ),
            args.min_scale.map_or_else(
                || Scheme::adaptive_for(&scene.boxes, dimensions),
                |min_scale| Scheme::Adaptive { min_scale },
            ),
        ];
        let ray_modes: &[_] = match &rays {
            Some(_) => &[RayMode::Closest, RayMode::All],
            None => &[RayMode::Closest],
        };
        let spinner = reporter.spinner("verifying");
        let mut differences = Vec::new();
        for scheme in schemes {
            for &ray_mode in ray_modes {
                let descriptor = BroadPhaseDescriptor {
                    dimensions,
                    scheme,
                    pairs: ray_mode == RayMode::Closest,
                    outputs: OutputOptions {
                        ray_mode,
                        ..Default::default()
                    },
                    ..Default::default()
                };
                differences.extend(compare(&mut adapters, &descriptor, &scene_on_host)?);
            }
        }
        spinner.finish_and_clear();
        for difference in differences {
            reporter.warn(difference);
            status = Status::NotWhole;
        }
    }
    if let Some(count) = args.random {
        let bar = reporter.bar(count, "verifying");
        for place in 0..count {
            for difference in compare_random(&mut adapters, args.seed.wrapping_add(place))? {
                bar.suspend(|| reporter.warn(difference));
                status = Status::NotWhole;
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
    }
    print(|out| table(out, &adapters))?;
    Ok(status)
}

fn open(args: &VerifyArgs, reporter: Reporter) -> Result<Vec<Verified>> {
    let Some(backends) = backends(args.engine.backend) else {
        bail!("--backend cpu: the CPU cannot verify itself; choose another backend");
    };
    let mut found = verified(backends);
    if let Some(wanted) = &args.engine.adapter {
        match wanted.parse::<usize>() {
            Ok(index) => found = found.into_iter().skip(index).take(1).collect(),
            Err(_) => found.retain(|adapter| adapter.title().to_lowercase().contains(&wanted.to_lowercase())),
        }
    }
    if names_no_backend(&args.engine) {
        found.retain_mut(|adapter| {
            let checked = adapter.check();
            if let Err(error) = &checked {
                reporter.warn(format!("{} skipped: {error}", adapter.title()));
            }
            checked.is_ok()
        });
    }
    match (found.is_empty(), &args.engine.adapter) {
        (false, _) => Ok(found),
        (true, Some(adapter)) => bail!("no adapter with name or index {adapter}; see `broadphase info`"),
        (true, None) if args.engine.backend == Backend::Auto => bail!("no adapter found"),
        (true, None) => bail!("no adapter found for {}", args.engine.backend.name()),
    }
}
