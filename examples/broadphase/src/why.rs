//! The command `why`.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use gpu_broad_phase::reference::why::{Party, Question, Reason, why};
use gpu_broad_phase::{
    BroadPhaseDescriptor, Query, RayMode, Scene as Step, SceneQueries, SceneRays, Scheme, reference,
};

use crate::Status;
use crate::args::{Mode, WhyArgs};
use crate::engine::{dimensions, scheme};
use crate::input::{self, Scene};
use crate::mesh::{Elements, Kind};
use crate::output::print;
use crate::pairs::sort;
use crate::report::Reporter;

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
        (args.which.free, "--free"),
        (args.which.max_pairs.is_some(), "--max-pairs"),
    ] {
        if given && !is_pair {
            bail!("{option} is for pairs: it needs a second object");
        }
    }
    args.which.check()?;
    let scene = input::scene_of_pairs(&args.scene, &args.which, reporter)?;
    let path = &args.scene.scene;
    let a = index_of(&scene, path, args.a)?;
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
        Question::Pair(a, index_of(&scene, path, b)?)
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
    let step = Step {
        objects: &scene.boxes,
        rays: SceneRays::Plain(&rays),
        queries: SceneQueries::Rounded(&queries),
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

    let mut text = answer.told(&|party| name(&scene, party));
    if let (Question::Pair(a, b), true) = (question, answer.is_found) {
        text.extend(dropped(args, &scene, &descriptor, [a.min(b), a.max(b)])?);
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

/// What `pairs` leaves out after the step: incident pairs, and rows past the first ones.
fn dropped(
    args: &WhyArgs,
    scene: &Scene,
    descriptor: &BroadPhaseDescriptor<'_>,
    [a, b]: [u32; 2],
) -> Result<Option<String>> {
    let is_incident = |a: u32, b: u32| {
        scene
            .elements
            .as_ref()
            .is_some_and(|elements| elements.are_incident(a, b))
    };
    if args.which.free && is_incident(a, b) {
        return Ok(Some(
            " But they share a vertex of the mesh, and --free drops such pairs.".to_owned(),
        ));
    }
    let Some(most) = args.which.max_pairs else {
        return Ok(None);
    };
    let step = Step {
        objects: &scene.boxes,
        ..Step::default()
    };
    let mut pairs = reference::step_scene(descriptor, &step)?.pairs;
    pairs.retain(|pair| !args.which.free || !is_incident(pair.a, pair.b));
    sort(&mut pairs);
    let row = pairs.partition_point(|pair| (pair.a, pair.b) < (a, b));
    let verdict = if row < most as usize { "is kept" } else { "is cut off" };
    Ok(Some(format!(
        " It is row {row} of {} sorted rows, which begin with row 0. With --max-pairs {most} it {verdict}.",
        pairs.len()
    )))
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

/// The box of an id, as the other commands write ids.
fn index_of(scene: &Scene, path: &Path, id: u32) -> Result<u32> {
    let count = scene.boxes.len() as u32;
    let find = || {
        let Some(elements) = &scene.elements else {
            check_row(path, "object", id, count as usize)?;
            return Ok(id);
        };
        // Ids ascend with the boxes.
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            match elements.id(middle) < id {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        if low < count && elements.id(low) == id {
            return Ok(low);
        }
        let path = input::name(path);
        bail!(
            "{path}: no box has the id {id}: boxes have {}; --elements says which elements have one",
            ranges(elements, count)
        )
    };
    find()
}

/// The ids that have a box, as ranges.
fn ranges(elements: &Elements, count: u32) -> String {
    let mut ranges: Vec<[u32; 2]> = Vec::new();
    for id in (0..count).map(|index| elements.id(index)) {
        match ranges.last_mut() {
            Some([_, last]) if *last + 1 == id => *last = id,
            _ => ranges.push([id, id]),
        }
    }
    let texts: Vec<_> = ranges
        .iter()
        .map(|[first, last]| format!("{first} to {last}"))
        .collect();
    texts.join(" and ")
}

/// How a party is called: by its id in the files.
fn name(scene: &Scene, party: Party) -> String {
    let (Party::Object(index), Some(elements)) = (party, &scene.elements) else {
        return party.to_string();
    };
    let id = elements.id(index);
    let kind = match elements.kind(index) {
        Kind::Vertices => "a vertex",
        Kind::Edges => "an edge",
        Kind::Faces => "a face",
    };
    format!("element {id} ({kind})")
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
