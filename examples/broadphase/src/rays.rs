use anyhow::{Result, bail};
use gpu_broad_phase::{BroadPhaseDescriptor, NONE, OutputOptions, QueryInput, RayMode, Scene, Source, StepResult};

use crate::Status;
use crate::args::{Mode, RaysArgs};
use crate::engine::{cell, dimensions, scheme};
use crate::input;
use crate::output::Target;
use crate::report::{self, Reporter, hits};
use crate::step::{EdgeList, Ids, Step};

pub fn run(args: &RaysArgs, reporter: Reporter) -> Result<Status> {
    for (is_given, option) in [(args.with_t, "--with-t"), (args.along, "--along")] {
        if is_given && args.mode != Mode::All {
            bail!("{option} needs --mode all");
        }
    }
    let mut target = Target::unless(args.step.count_only, &args.output)?;
    let mut edge_list = EdgeList::open(&args.ids)?;
    let mut step = Step::new(&args.engine, &args.step, reporter)?;
    let wide = input::wide_scene(&args.scene.scene, &args.scene.reading, reporter)?;
    let wide_rays = input::rays(&args.rays, &args.columns.ray_columns, wide.dimensions, reporter)?;
    let origin = wide.origin(wide_rays.is_exact(), cell(&args.scheme), reporter);
    let scene = wide.at(origin, reporter)?;
    let rays = wide_rays.at(origin);
    let ids = Ids::new(&args.ids.local, &scene, &[])?;
    // Written after all inputs are read, to overwrite none.
    edge_list.write(&scene, reporter)?;
    let descriptor = BroadPhaseDescriptor {
        dimensions: dimensions(&scene),
        scheme: scheme(&args.scheme, &scene, reporter)?,
        margin: args.margin.margin,
        pairs: false,
        outputs: OutputOptions {
            ray_mode: match args.mode {
                Mode::Closest => RayMode::Closest,
                Mode::Any => RayMode::Any,
                Mode::All => RayMode::All,
            },
            ..Default::default()
        },
        ..Default::default()
    };
    let asked = Scene {
        objects: Source::Host(&scene.boxes),
        query: QueryInput {
            rays: rays.as_rays(),
            ..QueryInput::default()
        },
        ..Scene::default()
    };
    let answer = step.run_or_count(&descriptor, &asked)?;
    let result = answer.result;
    report::rays(reporter, &result, wide_rays.count(), answer.duration);
    let status = step.status(&result);

    let Some(target) = &mut target else {
        step.write_count(hits(&result) as u64)?;
        return Ok(status);
    };
    match args.mode {
        Mode::Closest => {
            let values = result.ray_hits.iter().zip(0_u32..).flat_map(|(hit, ray)| {
                let object = if hit.object == NONE {
                    -1.0
                } else {
                    f64::from(ids.of(hit.object))
                };
                [f64::from(ray), object, f64::from(hit.t)]
            });
            target.write(wide_rays.count(), 3, values, reporter)?;
        }
        Mode::Any => {
            let values = result.ray_any.iter().zip(0_u32..).flat_map(|(&hit, ray)| [ray, hit]);
            target.write(wide_rays.count(), 2, values, reporter)?;
        }
        Mode::All => {
            let spinner = reporter.spinner("sorting");
            let rows = all_hits(&result, &ids, args.along);
            spinner.finish_and_clear();
            if args.with_t {
                let values = rows
                    .iter()
                    .flat_map(|hit| [f64::from(hit.ray), f64::from(hit.object), f64::from(hit.t)]);
                target.write(rows.len(), 3, values, reporter)?;
            } else {
                let values = rows.iter().flat_map(|hit| [hit.ray, hit.object]);
                target.write(rows.len(), 2, values, reporter)?;
            }
        }
    }
    Ok(status)
}

struct Hit {
    ray: u32,
    object: u32,
    t: f32,
}

/// Sorted by ray, then object; with `along`, by t before the object.
fn all_hits(result: &StepResult, ids: &Ids<'_>, along: bool) -> Vec<Hit> {
    let mut rows = Vec::with_capacity(result.ray_hits.len());
    for (range, ray) in result.ray_offsets.windows(2).zip(0_u32..) {
        let hits = &result.ray_hits[range[0] as usize..range[1] as usize];
        let first = rows.len();
        rows.extend(hits.iter().map(|hit| Hit {
            ray,
            object: ids.of(hit.object),
            t: hit.t,
        }));
        rows[first..].sort_unstable_by(|a, b| {
            let by_t = if along {
                a.t.total_cmp(&b.t)
            } else {
                std::cmp::Ordering::Equal
            };
            by_t.then(a.object.cmp(&b.object))
        });
    }
    rows
}
