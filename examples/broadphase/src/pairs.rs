use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use gpu_broad_phase::{BroadPhaseDescriptor, Pair, Scene, Source};
use rayon::prelude::*;

use crate::Status;
use crate::args::{PairsArgs, between_name};
use crate::engine::{cell, dimensions, has_too_many_pairs, scheme};
use crate::input;
use crate::mesh::{Between, Elements};
use crate::output::{Target, is_device, print};
use crate::report::{self, Reporter, counted};
use crate::step::{EdgeList, Ids, Step};

pub fn run(args: &PairsArgs, reporter: Reporter) -> Result<Status> {
    let between = args.which.checked()?;
    let is_excluded = between.len() > 1;
    if is_excluded && args.max_pairs.is_some() {
        bail!("--max-pairs needs a single --between");
    }
    if args.step.count_only && args.max_pairs.is_some() {
        bail!("--count-only conflicts with --max-pairs: remove one");
    }
    let mut targets = targets(args, &between)?;
    let mut edge_list = EdgeList::open(&args.ids)?;
    let mut step = Step::new(&args.engine, &args.step, reporter)?;
    let scene = input::scene_of_pairs(&args.scene, &args.which, cell(&args.scheme), reporter)?;
    let ids = Ids::new(&args.ids.local, &scene, &between)?;
    let descriptor = BroadPhaseDescriptor {
        dimensions: dimensions(&scene),
        scheme: scheme(&args.scheme, &scene, reporter)?,
        margin: args.margin.margin,
        ..Default::default()
    };
    let excluded = input::excluded(args.which.exclude.as_deref(), &scene, reporter)?;
    // Written after all inputs are read, to overwrite none.
    edge_list.write(&scene, reporter)?;
    let asked = Scene {
        objects: Source::Host(&scene.boxes),
        excluded_pairs: Source::Host(&excluded),
        ..Scene::default()
    };
    // The device's count would include pairs that are filtered below.
    let counts_on_device = args.step.count_only && !args.which.free && !is_excluded;
    let answer = if counts_on_device {
        step.run_within(&descriptor, &asked, 1)
    } else {
        step.run(&descriptor, &asked)
    };
    let answer = match (answer, args.max_pairs) {
        // Too many pairs for one buffer: repeats the step to count all and get `most`.
        (Err(error), Some(most)) if has_too_many_pairs(&error) => step.run_within(&descriptor, &asked, most)?,
        (answer, _) => answer?,
    };
    let result = answer.result;
    report::pairs(reporter, &result, answer.duration);
    let mut status = step.status(&result);
    let needed = result.counters.pairs_needed;
    if counts_on_device {
        step.write_count(needed)?;
        return Ok(status);
    }

    let mut pairs = result.pairs;
    let cut = needed.saturating_sub(pairs.len() as u64);
    let elements = scene.elements.as_ref();
    if let Some(elements) = elements.filter(|_| args.which.free) {
        pairs.retain(|pair| !elements.are_incident(pair.a, pair.b));
        reporter.say(counted(pairs.len() as u64, "free pair"));
    }
    let parts = match elements {
        Some(elements) if is_excluded => parts(&pairs, &between, elements),
        _ => vec![pairs],
    };
    if is_excluded {
        for (&kinds, part) in between.iter().zip(&parts) {
            reporter.say(format!(
                "  {}: {}",
                between_name(kinds),
                counted(part.len() as u64, "pair")
            ));
        }
    }
    if args.step.count_only {
        print(|out| match &parts[..] {
            [pairs] => writeln!(out, "{}", pairs.len()),
            _ => {
                let mut named = between.iter().zip(&parts);
                named.try_for_each(|(&kinds, part)| writeln!(out, "{},{}", between_name(kinds), part.len()))
            }
        })?;
        return Ok(status);
    }
    for (target, mut part) in targets.iter_mut().zip(parts) {
        let spinner = reporter.spinner("sorting");
        // A 64-bit key sorts several times faster than two fields.
        part.par_sort_unstable_by_key(|pair| u64::from(pair.a) << 32 | u64::from(pair.b));
        spinner.finish_and_clear();
        // Truncates after sorting, so that every scheme and device writes the same rows.
        let needed = part.len() as u64 + cut;
        let most = args.max_pairs.map_or(usize::MAX, |most| most as usize);
        part.truncate(most);
        if needed > most as u64 {
            reporter.warn(format!(
                "incomplete: {needed} pairs, `--max-pairs` allows {most}: raise it"
            ));
            status = Status::NotWhole;
        }
        let rows = part.len();
        let values = part.into_iter().flat_map(|pair| [ids.of(pair.a), ids.of(pair.b)]);
        target.write(rows, 2, values, reporter)?;
    }
    Ok(status)
}

fn targets(args: &PairsArgs, between: &[Between]) -> Result<Vec<Target>> {
    if args.step.count_only {
        return Ok(Vec::new());
    }
    if between.len() < 2 {
        return Ok(vec![Target::new(&args.output)?]);
    }
    if args.output == Path::new("-") {
        bail!("several --between write several files: pass -o FILE");
    }
    between
        .iter()
        .map(|&kinds| Target::new(&part_path(&args.output, kinds)))
        .collect()
}

/// Adds the kinds, unless `path` is a device such as /dev/null.
fn part_path(path: &Path, kinds: Between) -> PathBuf {
    if is_device(path) {
        return path.to_owned();
    }
    let mut file = path.file_stem().unwrap_or_default().to_owned();
    file.push(format!(".{}", between_name(kinds)));
    if let Some(extension) = path.extension() {
        file.push(".");
        file.push(extension);
    }
    path.with_file_name(file)
}

fn parts(pairs: &[Pair], between: &[Between], elements: &Elements) -> Vec<Vec<Pair>> {
    let mut parts = vec![Vec::new(); between.len()];
    for &pair in pairs {
        // Box indices ascend by kind, and so do `kinds`.
        let kinds = (elements.kind(pair.a), elements.kind(pair.b));
        if let Some(part) = between.iter().position(|&asked| asked == kinds) {
            parts[part].push(pair);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Kind;

    #[test]
    fn parts_of_an_answer_are_named_by_their_kinds() {
        let kinds = (Kind::Vertices, Kind::Faces);
        let path = part_path(Path::new("folder.d/pairs.npy"), kinds);
        assert_eq!(path, Path::new("folder.d/pairs.vertices-faces.npy"));
    }
}
