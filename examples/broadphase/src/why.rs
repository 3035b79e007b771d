//! The command `why`.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use gpu_broad_phase::reference::why::{Party, Question, Reason, why};
use gpu_broad_phase::{BroadPhaseDescriptor, Queries, Query, RayMode, Rays, Scene as Step, Scheme, Source, cpu};

use crate::Status;
use crate::args::{Mode, WhyArgs};
use crate::engine::{dimensions, scheme};
use crate::input::{self, Scene};
use crate::mesh::{Between, Elements, Kind};
use crate::output::print;
use crate::pairs::sort;
use crate::report::Reporter;
use crate::step::Ids;

/// Columns of the paragraph.
const WIDTH: usize = 100;

pub fn run(args: &WhyArgs, reporter: Reporter) -> Result<Status> {
    let asked = (
        args.b,
        args.rays.as_deref().zip(args.ray),
        args.boxes.as_deref().zip(args.query),
    );
    let (b, ray, query) = match asked {
        (Some(b), None, None) => (Some(b), None, None),
        (None, ray @ Some(_), None) => (None, ray, None),
        (None, None, query @ Some(_)) => (None, None, query),
        (None, None, None) => {
            bail!("why needs two objects, or one and --rays FILE --ray R, or one and --boxes FILE --query Q")
        }
        _ => bail!("why takes one of these beside the first object: a second one, --ray, --query"),
    };
    let is_pair = b.is_some();
    for (given, option) in [
        (!args.which.between.is_empty(), "--between"),
        (args.which.groups.is_some(), "--groups"),
        (args.which.exclude.is_some(), "--exclude"),
        (args.which.free, "--free"),
        (args.which.max_pairs.is_some(), "--max-pairs"),
    ] {
        if given && !is_pair {
            bail!("{option} is for pairs: it needs a second object");
        }
    }
    let between = args.which.checked()?;
    let scene = input::scene_of_pairs(&args.scene, &args.which, reporter)?;
    let names = Names::new(args, &scene, &between)?;
    let a = names.index_of(args.a, 0)?;
    let scheme: Scheme = scheme(&args.scheme, &scene, reporter)?;
    let descriptor = BroadPhaseDescriptor {
        dimensions: dimensions(&scene),
        scheme,
        margin: args.margin.margin,
        ray_mode: match args.mode {
            Mode::Closest => RayMode::Closest,
            Mode::Any => RayMode::Any,
            Mode::All => RayMode::All,
        },
        ..Default::default()
    };
    let mut rays = Vec::new();
    let mut queries = Vec::new();
    let question = if let Some(b) = b {
        Question::Pair(a, names.index_of(b, 1)?)
    } else if let Some((file, ray)) = ray {
        rays = input::rays(file, scene.dimensions, reporter)?;
        check_row(file, "ray", ray, rays.len())?;
        Question::Ray { ray, object: a }
    } else if let Some((file, query)) = query {
        let radius = args.radius;
        let boxes = input::boxes(file, scene.dimensions, reporter)?;
        check_row(file, "query", query, boxes.len())?;
        let rounded = |bounds| Query {
            radius,
            ..Query::overlaps(bounds)
        };
        queries = boxes.into_iter().map(rounded).collect();
        Question::Query { query, object: a }
    } else {
        return Ok(Status::Done);
    };
    let excluded = input::excluded(args.which.exclude.as_deref(), &scene, reporter)?;
    let step = Step {
        objects: Source::Host(&scene.boxes),
        excluded_pairs: Source::Host(&excluded),
        rays: Rays::Plain(Source::Host(&rays)),
        queries: Queries::Spheres(Source::Host(&queries)),
        ..Step::default()
    };
    let spinner = reporter.spinner("looking");
    let answer = why(&descriptor, &step, question);
    spinner.finish_and_clear();
    let mut answer = answer?;
    if args.which.groups.is_some() {
        for reason in &mut answer.reasons {
            // Owners count from 1, bodies from 0.
            if let Reason::SameOwner { owner } = reason {
                *owner -= 1;
            }
        }
    }

    let mut text = answer.told(&|party| names.of(party));
    if let (Question::Pair(a, b), true) = (question, answer.is_found) {
        text = with_dropped(text, args, &scene, &step, &descriptor, [a.min(b), a.max(b)])?;
    }
    print(|out| {
        for line in wrapped(&text) {
            writeln!(out, "{line}")?;
        }
        Ok(())
    })?;
    if answer.is_fault {
        return Ok(Status::NotWhole);
    }
    Ok(Status::Done)
}

/// The text with what `pairs` leaves out after the step: incident pairs, and rows past the first ones.
fn with_dropped(
    text: String,
    args: &WhyArgs,
    scene: &Scene,
    step: &Step<'_>,
    descriptor: &BroadPhaseDescriptor<'_>,
    [a, b]: [u32; 2],
) -> Result<String> {
    let is_incident = |a: u32, b: u32| {
        scene
            .elements
            .as_ref()
            .is_some_and(|elements| elements.are_incident(a, b))
    };
    if args.which.free && is_incident(a, b) {
        return Ok(format!(
            "--free drops this pair: the two share a vertex of the mesh. Without --free: {text}"
        ));
    }
    let Some(most) = args.which.max_pairs else {
        return Ok(text);
    };
    let mut pairs = cpu::step_scene(descriptor, step)?.pairs;
    pairs.retain(|pair| !args.which.free || !is_incident(pair.a, pair.b));
    sort(&mut pairs);
    let row = pairs.partition_point(|pair| (pair.a, pair.b) < (a, b));
    let verdict = if row < most as usize { "is kept" } else { "is cut off" };
    Ok(format!(
        "{text} It is row {row} of {} sorted rows, which begin with row 0. With --max-pairs {most} it {verdict}.",
        pairs.len()
    ))
}

fn check_row(path: &Path, what: &str, row: u32, rows: usize) -> Result<()> {
    let check = || match rows {
        _ if (row as usize) < rows => Ok(()),
        0 => bail!("there is no {what} {row}: the file has none"),
        1 => bail!("there is no {what} {row}: the file has {what} 0 alone"),
        rows => bail!("there is no {what} {row}: the file has 0 to {}", rows - 1),
    };
    check().with_context(|| input::name(path))
}

/// How objects are called: by their ids in the files.
struct Names<'a> {
    scene: &'a Scene,
    path: &'a Path,
    /// Of the two objects, where ids are counted within a kind.
    kinds: Option<[Kind; 2]>,
}

impl<'a> Names<'a> {
    fn new(args: &'a WhyArgs, scene: &'a Scene, between: &[Between]) -> Result<Self> {
        // Refuses what the other commands refuse.
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

    /// The box of an id, which is the first or the second one that was given.
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
                format!("{path}: of the {name} none has the local id {id}: there are {count}, from 0")
            });
        }
        elements.index_of(id).with_context(|| {
            let ranges: Vec<_> = elements
                .ids()
                .filter(|&(.., count)| count > 0)
                .map(|(_, first, count)| format!("{first} to {}", first as usize + count - 1))
                .collect();
            let ranges = ranges.join(" and ");
            format!("{path}: no box has the id {id}: boxes have {ranges}; --elements says which elements have one")
        })
    }

    fn of(&self, party: Party) -> String {
        let (Party::Object(index), Some(elements)) = (party, &self.scene.elements) else {
            return party.to_string();
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

/// Lines of a paragraph.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("one line at least");
        if line.is_empty() {
            line.push_str(word);
        } else if line.len() + 1 + word.len() <= WIDTH {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}
