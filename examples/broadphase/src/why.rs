//! Explains pairs, hits and results by the rule that decides them.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use gpu_broad_phase::reference::{PairRule, pair_rule};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, OutputOptions, Queries, Query, QueryInput, RayHit, RayMode, Rays, Scene as Step,
    Source, SweptRay, cpu,
};

use crate::Status;
use crate::args::{Mode, WhyArgs};
use crate::distance::between_boxes;
use crate::engine::dimensions;
use crate::input::{self, Scene, WideBoxes, WideRays, invalid};
use crate::mesh::{Between, Elements, Kind};
use crate::output::print;
use crate::report::Reporter;
use crate::step::Ids;

pub fn run(args: &WhyArgs, reporter: Reporter) -> Result<Status> {
    let is_pair = args.b.is_some();
    match [is_pair, args.ray.is_some(), args.query.is_some()] {
        [true, false, false] | [false, true, false] | [false, false, true] => {}
        [false, false, false] => {
            bail!("why needs two objects, or one and --rays FILE --ray R, or one and --boxes FILE --query Q")
        }
        _ => bail!("why needs only one of: a second object, --ray, --query"),
    }
    for (given, option) in [
        (!args.which.between.is_empty(), "--between"),
        (args.which.groups.is_some(), "--groups"),
        (args.which.exclude.is_some(), "--exclude"),
        (args.which.free, "--free"),
    ] {
        if given && !is_pair {
            bail!("{option} applies to pairs: pass a second object");
        }
    }
    let between = args.which.checked()?;
    let wide = input::wide_scene_of_pairs(&args.scene, &args.which, reporter)?;
    let axes = wide.dimensions;
    let rays = args
        .rays
        .as_ref()
        .map(|file| input::rays(file, &args.ray_columns.ray_columns, axes, reporter));
    let rays = rays.transpose()?;
    let queries = args
        .boxes
        .as_ref()
        .map(|file| input::boxes(file, &args.query_columns.query_columns, axes, reporter));
    let queries = queries.transpose()?;
    let others_are_exact =
        rays.as_ref().is_none_or(WideRays::is_exact) && queries.as_ref().is_none_or(WideBoxes::is_exact);
    let origin = wide.origin(others_are_exact, None, reporter);
    let scene = input::with_groups(wide.at(origin, reporter)?, &args.which, reporter)?;
    let names = Names::new(args, &scene, &between)?;
    let explainer = Explainer {
        args,
        scene: &scene,
        names: &names,
        reporter,
        descriptor: BroadPhaseDescriptor {
            dimensions: dimensions(&scene),
            margin: args.margin.margin,
            outputs: OutputOptions {
                ray_mode: RayMode::All,
                ..Default::default()
            },
            ..Default::default()
        },
    };
    let a = names.index_of(args.a, 0)?;
    let text = match (args.b, rays, queries) {
        (Some(b), ..) => explainer.pair(a, names.index_of(b, 1)?)?,
        (None, Some(rays), _) => explainer.ray(&rays, args.ray.unwrap_or_default(), a)?,
        (None, None, Some(queries)) => explainer.query(&queries, args.query.unwrap_or_default(), a)?,
        (None, None, None) => unreachable!("arguments were checked"),
    };
    print(|out| writeln!(out, "{text}"))?;
    Ok(Status::Done)
}

struct Explainer<'a> {
    args: &'a WhyArgs,
    scene: &'a Scene,
    names: &'a Names<'a>,
    descriptor: BroadPhaseDescriptor<'static>,
    reporter: Reporter,
}

impl Explainer<'_> {
    fn pair(&self, a: u32, b: u32) -> Result<String> {
        let excluded = input::excluded(self.args.which.exclude.as_deref(), self.scene, self.reporter)?;
        let step = Step {
            objects: Source::Host(&self.scene.boxes),
            excluded_pairs: Source::Host(&excluded),
            ..Step::default()
        };
        let rule = pair_rule(&self.descriptor, &step, a, b)?;
        let mesh = self.scene.elements.as_ref().filter(|_| self.args.which.free);
        let is_incident = mesh.is_some_and(|elements| elements.are_incident(a, b));
        let reason = match rule {
            PairRule::Excluded { object } | PairRule::Invalid { object } => self.left_out(object).unwrap_or_default(),
            // Groups count from 1, bodies from 0.
            PairRule::SameGroup { group } if self.args.which.groups.is_some() => {
                format!("both belong to body {}", group - 1)
            }
            PairRule::Overlap if is_incident => {
                "the boxes overlap, and --free drops elements that share a vertex".to_owned()
            }
            rule => rule.to_string(),
        };
        let verdict = match rule {
            PairRule::Overlap if !is_incident => "are",
            _ => "are not",
        };
        let [first, second] = [a, b].map(|object| self.names.of(object));
        Ok(sentence(&format!("{first} and {second} {verdict} a pair: {reason}")))
    }

    fn ray(&self, rays: &WideRays, row: u32, object: u32) -> Result<String> {
        check_row(rays.path(), "ray", row, rays.count())?;
        let ray = rays.at(self.scene.origin).get(row as usize);
        let bounds = self.scene.boxes[object as usize];
        let name = self.names.of(object);
        let mut endless = ray;
        endless.ray.t_max = f32::INFINITY;
        let hits = |t: f32| Ok(sentence(&format!("ray {row} hits {name} at t = {t}")));
        let reason = if let Some(t) = self.hit(bounds, ray)? {
            if self.args.mode != Mode::Closest {
                return hits(t);
            }
            let closest = self.closest(ray)?;
            if closest.object == object {
                return hits(t);
            }
            let other = self.names.of(closest.object);
            if closest.t == t {
                format!("it hits {other} at the same t = {t}, and the smaller id is reported")
            } else {
                format!("it hits {other} at t = {}, and this one at t = {t}", closest.t)
            }
        } else if let Some(reason) = self.left_out(object) {
            reason
        } else if let Some(fault) = invalid::of_ray(&ray.ray) {
            format!("the ray is invalid: {fault}")
        } else if self.hit(in_all_layers(bounds), ray)?.is_some() {
            "the object's layers exclude rays".to_owned()
        } else if let Some(t) = self.hit(in_all_layers(bounds), endless)? {
            format!("it enters the box at t = {t}, and its t_max is {}", ray.ray.t_max)
        } else {
            "it misses the box".to_owned()
        };
        Ok(sentence(&format!("ray {row} does not hit {name}: {reason}")))
    }

    fn query(&self, queries: &WideBoxes, row: u32, object: u32) -> Result<String> {
        let boxes = queries.at(self.scene.origin);
        check_row(queries.path(), "query", row, boxes.len())?;
        let asked = boxes[row as usize];
        let bounds = self.scene.boxes[object as usize];
        let name = self.names.of(object);
        if self.finds(asked, bounds)? {
            return Ok(sentence(&format!("query {row} finds {name}")));
        }
        let [open_query, open_object] = [asked, bounds].map(in_all_layers);
        let reason = if let Some(reason) = self.left_out(object) {
            reason
        } else if let Some(fault) = invalid::of_box(&input::bounds(&asked, self.scene.origin)) {
            format!("the query is invalid: {fault}")
        } else if self.finds(open_query, open_object)? {
            "the layers of one are not in the mask of the other".to_owned()
        } else if self.finds(open_query.with_group(0), open_object.with_group(0))? {
            "both have the same group, or both are static".to_owned()
        } else {
            let gap = between_boxes(&self.compared(bounds)?, &flat(asked, self.scene.dimensions));
            match self.args.radius {
                0.0 => format!("the boxes are {gap} apart"),
                radius => format!("the boxes are {gap} apart, and the radius is {radius}"),
            }
        };
        Ok(sentence(&format!("query {row} does not find {name}: {reason}")))
    }

    fn hit(&self, bounds: Aabb, ray: SweptRay) -> Result<Option<f32>> {
        let result = cpu::step_scene(&self.descriptor, &with_ray(&[bounds], &[ray]))?;
        Ok(result.ray_hits.first().map(|hit| hit.t))
    }

    fn closest(&self, ray: SweptRay) -> Result<RayHit> {
        let descriptor = BroadPhaseDescriptor {
            pairs: false,
            outputs: OutputOptions {
                ray_mode: RayMode::Closest,
                ..self.descriptor.outputs
            },
            ..self.descriptor
        };
        Ok(cpu::step_scene(&descriptor, &with_ray(&self.scene.boxes, &[ray]))?.ray_hits[0])
    }

    fn finds(&self, asked: Aabb, bounds: Aabb) -> Result<bool> {
        let query = Query {
            radius: self.args.radius,
            ..Query::overlaps(asked)
        };
        let step = Step {
            objects: Source::Host(&[bounds]),
            query: QueryInput {
                queries: Queries::General(Source::Host(&[query])),
                ..QueryInput::default()
            },
            ..Step::default()
        };
        Ok(!cpu::step_scene(&self.descriptor, &step)?.query_objects.is_empty())
    }

    fn compared(&self, bounds: Aabb) -> Result<Aabb> {
        let step = Step {
            objects: Source::Host(&[bounds]),
            ..Step::default()
        };
        Ok(cpu::compared_objects(&self.descriptor, &step)?[0])
    }

    fn left_out(&self, object: u32) -> Option<String> {
        let bounds = self.scene.boxes[object as usize];
        let name = self.names.of(object);
        if bounds.group & Aabb::EXCLUDED != 0 {
            return Some(format!("{name} has the flag EXCLUDED"));
        }
        invalid::of_box(&input::bounds(&bounds, self.scene.origin)).map(|fault| format!("{name} is invalid: {fault}"))
    }
}

fn with_ray<'a>(boxes: &'a [Aabb], ray: &'a [SweptRay; 1]) -> Step<'a> {
    Step {
        objects: Source::Host(boxes),
        query: QueryInput {
            rays: Rays::Swept(Source::Host(ray)),
            ..QueryInput::default()
        },
        ..Step::default()
    }
}

fn in_all_layers(bounds: Aabb) -> Aabb {
    bounds.with_layers(u16::MAX, u16::MAX)
}

fn flat(bounds: Aabb, dimensions: u8) -> Aabb {
    let mut flat = bounds;
    flat.min[usize::from(dimensions)..].fill(0.0);
    flat.max[usize::from(dimensions)..].fill(0.0);
    flat
}

fn sentence(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    format!("{}{rest}.", first.to_uppercase())
}

fn check_row(path: &Path, what: &str, row: u32, rows: usize) -> Result<()> {
    let check = || match rows {
        _ if (row as usize) < rows => Ok(()),
        0 => bail!("unknown {what} {row}: the file has none"),
        1 => bail!("unknown {what} {row}: the file has only {what} 0"),
        rows => bail!("unknown {what} {row}: the file has 0 to {}", rows - 1),
    };
    check().with_context(|| input::name(path))
}

struct Names<'a> {
    scene: &'a Scene,
    path: &'a Path,
    /// Kinds of the two ids, if ids count within a kind.
    kinds: Option<[Kind; 2]>,
}

impl<'a> Names<'a> {
    fn new(args: &'a WhyArgs, scene: &'a Scene, between: &[Between]) -> Result<Self> {
        Ids::new(&args.local, scene, between)?;
        let elements = scene.elements.as_ref().filter(|_| args.local.local_ids);
        let kinds = match (elements.map(Elements::ids), between) {
            (None, _) => None,
            (Some(_), &[(a, b)]) => Some([a, b]),
            (Some(mut of_one_kind), []) => of_one_kind.next().map(|(kind, ..)| [kind; 2]),
            (Some(_), _) => bail!("--local-ids needs a single --between"),
        };
        Ok(Self {
            scene,
            path: &args.scene.scene,
            kinds,
        })
    }

    /// `place` is 0 for the first id of the command, 1 for the second.
    fn index_of(&self, id: u32, place: usize) -> Result<u32> {
        let Some(elements) = &self.scene.elements else {
            check_row(self.path, "object", id, self.scene.boxes.len())?;
            return Ok(id);
        };
        let path = input::name(self.path);
        if let Some(kind) = self.kinds.map(|kinds| kinds[place]) {
            let count = elements.ids().find(|of| of.0 == kind).map_or(0, |(.., count)| count);
            return elements.index_of_local(kind, id).with_context(|| {
                let name = kind.name();
                format!("{path}: unknown local id {id}: there are {count} {name}, from 0")
            });
        }
        elements.index_of(id).with_context(|| {
            let ranges: Vec<_> = elements
                .ids()
                .filter(|&(.., count)| count > 0)
                .map(|(_, first, count)| format!("{first} to {}", first as usize + count - 1))
                .collect();
            let ranges = ranges.join(" and ");
            format!("{path}: no box has id {id}: valid ids are {ranges}; --elements selects the elements with boxes")
        })
    }

    fn of(&self, index: u32) -> String {
        let Some(elements) = &self.scene.elements else {
            return format!("object {index}");
        };
        let kind = match elements.kind(index) {
            Kind::Vertices => "vertex",
            Kind::Edges => "edge",
            Kind::Faces => "face",
        };
        if self.kinds.is_some() {
            return format!("{kind} {}", elements.local_id(index));
        }
        let article = if kind == "edge" { "an" } else { "a" };
        format!("element {} ({article} {kind})", elements.id(index))
    }
}
