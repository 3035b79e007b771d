use anyhow::{Result, bail};
use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, NONE, NearestObject, Query, QueryInput, QueryMode, Scene, Source};

use crate::Status;
use crate::args::QueryArgs;
use crate::distance::between_boxes;
use crate::engine::{cell, dimensions, scheme};
use crate::input;
use crate::output::Target;
use crate::report::{self, Reporter, results};
use crate::step::{EdgeList, Ids, Step};

pub fn run(args: &QueryArgs, reporter: Reporter) -> Result<Status> {
    if args.nearest.is_some() && args.margin.margin > 0.0 {
        bail!("--margin conflicts with --nearest: distances ignore margins");
    }
    let mut target = Target::unless(args.step.count_only, &args.output)?;
    let mut edge_list = EdgeList::open(&args.ids)?;
    let mut step = Step::new(&args.engine, &args.step, reporter)?;
    let wide = input::wide_scene(&args.scene.scene, &args.scene.reading, reporter)?;
    let wide_boxes = input::boxes(&args.boxes, &args.columns.query_columns, wide.dimensions, reporter)?;
    let origin = wide.origin(wide_boxes.is_exact(), cell(&args.scheme), reporter);
    let scene = wide.at(origin, reporter)?;
    let boxes = wide_boxes.at(origin);
    let ids = Ids::new(&args.ids.local, &scene, &[])?;
    // Written after all inputs are read, to overwrite none.
    edge_list.write(&scene, reporter)?;
    let descriptor = BroadPhaseDescriptor {
        dimensions: dimensions(&scene),
        scheme: scheme(&args.scheme, &scene, reporter)?,
        margin: args.margin.margin,
        pairs: false,
        ..Default::default()
    };
    let radius = match (args.radius, args.nearest) {
        (Some(radius), _) => Some(radius),
        (None, Some(_)) => Some(f32::MAX),
        (None, None) => None,
    };
    let rounded: Vec<_> = radius.map_or(Vec::new(), |radius| {
        let query = |&bounds: &Aabb| Query {
            radius,
            ..Query::overlaps(bounds)
        };
        boxes.iter().map(query).collect()
    });
    let asked = Scene {
        objects: Source::Host(&scene.boxes),
        query: QueryInput {
            queries: match radius {
                Some(_) => rounded.as_slice().into(),
                None => boxes.as_slice().into(),
            },
            query_mode: mode(args.nearest),
            ..QueryInput::default()
        },
        ..Scene::default()
    };
    let answer = step.run_or_count(&descriptor, &asked)?;
    let result = answer.result;
    report::queries(reporter, &result, boxes.len(), answer.duration);
    let status = step.status(&result);

    let Some(target) = &mut target else {
        step.write_count(results(&result))?;
        return Ok(status);
    };
    match args.nearest {
        Some(count) => {
            let rows = nearest(&result.query_nearest, count);
            let values = rows.iter().flat_map(|&[query, object]| {
                let distance = between_boxes(&boxes[query as usize], &scene.boxes[object as usize]);
                [f64::from(query), f64::from(ids.of(object)), distance]
            });
            target.write(rows.len(), 3, values, reporter)?;
        }
        None => {
            let rows = rows(&result.query_offsets, &result.query_objects, |object| ids.of(object));
            target.write(rows.len(), 2, rows.into_iter().flatten(), reporter)?;
        }
    }
    Ok(status)
}

pub fn mode(nearest: Option<u32>) -> QueryMode {
    nearest.map_or(QueryMode::All, QueryMode::Nearest)
}

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

pub fn nearest(found: &[NearestObject], count: u32) -> Vec<[u32; 2]> {
    let queries = found.chunks_exact(count as usize).zip(0..);
    queries
        .flat_map(|(found, query)| {
            let near = found.iter().filter(|neighbor| neighbor.object != NONE);
            near.map(move |neighbor| [query, neighbor.object])
        })
        .collect()
}
