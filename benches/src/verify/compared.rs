//! Compares steps with features: every scheme on the GPU and on the CPU engine against brute force.

use std::mem::Discriminant;

use anyhow::{Context, Result, bail};
use gpu_broad_phase::reference::brute_force::{self, Found};
use gpu_broad_phase::wgpu::{Device, Queue};
use gpu_broad_phase::{
    BroadPhaseDescriptor, CullOptions, Culling, GpuBroadPhase, OutputOptions, Queries, Scene, Scheme, SelfQuery,
    Source, StepResult, Visible, cpu, reference,
};
use pollster::block_on;

use super::answer::{self, Answer, first_difference};
use super::features::{Features, PARTS, Part};
use super::found;
use super::views;
use super::{SCHEMES, Verified, name};
use crate::Gpu;

const ATTEMPTS: u32 = 8;

#[derive(Default)]
pub struct Compared {
    /// Number of scenes in two and in three dimensions.
    pub scenes: [u64; 2],
    /// Number of elements, words, rays, queries or views.
    pub inputs: u64,
    /// Result rows of steps with this feature, for each of [`SCHEMES`].
    pub rows: [u64; SCHEMES.len()],
    pub differences: u64,
}

#[derive(Clone)]
pub struct Answers {
    step: StepResult,
    set: Option<StepResult>,
    visible: Visible,
}

struct Defined {
    answer: Answer,
    found: Vec<Found>,
}

struct Truth {
    step: Defined,
    set: Option<Defined>,
    views: views::Defined,
}

/// Engines of an adapter, cached for the next scene.
pub struct Engines {
    device: Device,
    queue: Queue,
    made: Vec<(Kind, GpuBroadPhase)>,
    culling: Culling,
}

/// Properties that select pipelines: the scheme, several worlds, and a pair filter.
type Kind = (Discriminant<Scheme>, [bool; 2]);

/// Differences of all engines, in every scheme, as text.
pub fn compare(
    adapters: &mut [Verified],
    features: &Features,
    schemes: [Scheme; SCHEMES.len()],
) -> Result<Vec<String>> {
    let truth = Truth::of(features);
    let mut messages = Vec::new();
    for (number, scheme) in schemes.into_iter().enumerate() {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            ..features.descriptor
        };
        let on_cpu = Answers::of_reference(&descriptor, features)?;
        let faults = on_cpu.differences(features, &truth, None);
        for (parts, fault) in &faults {
            messages.push(format!("{}: CPU engine, {}: {fault}", names(parts), name(&descriptor)));
        }
        for adapter in &mut *adapters {
            let what = format!("{}, {}", adapter.title, name(&descriptor));
            let engines = adapter.engines()?;
            let answers = engines.answers(&descriptor, features).with_context(|| what.clone())?;
            let of_gpu = answers.differences(features, &truth, Some(&on_cpu));
            for (parts, fault) in &of_gpu {
                messages.push(format!("{}: {what}: {fault}", names(parts)));
            }
            adapter.count(number, features, &answers);
            for (parts, _) in faults.iter().chain(&of_gpu) {
                adapter.tallies[number].differences += 1;
                for &part in parts {
                    adapter.parts[part as usize].differences += 1;
                }
            }
        }
    }
    Ok(messages)
}

fn names(parts: &[Part]) -> String {
    let names: Vec<_> = parts.iter().map(|part| part.name()).collect();
    names.join(", ")
}

impl Verified {
    fn engines(&mut self) -> Result<&mut Engines> {
        if self.engines.is_none() {
            let broad_phase = self.device(&BroadPhaseDescriptor::default())?;
            let gpu = Gpu::of(broad_phase).context("no device")?;
            let engines = Engines {
                device: gpu.device.clone(),
                queue: gpu.queue.clone(),
                made: Vec::new(),
                culling: Culling::new(Some("verify")),
            };
            self.engines = Some(engines);
        }
        self.engines.as_mut().context("no device")
    }

    fn count(&mut self, scheme: usize, features: &Features, answers: &Answers) {
        let mut parts = features.parts();
        parts.push((Part::Sets, features.set_count()));
        parts.push((Part::Views, features.views.len() as u64));
        for (part, given) in parts {
            if given == 0 {
                continue;
            }
            let compared = &mut self.parts[part as usize];
            compared.rows[scheme] += match part {
                Part::Sets => answers.set.as_ref().map_or(0, rows),
                Part::Views => answers.visible.objects.iter().map(Vec::len).sum::<usize>() as u64,
                _ => rows(&answers.step),
            };
            if scheme == 0 {
                compared.scenes[features.descriptor.dimensions.count() as usize - 2] += 1;
                compared.inputs += given;
            }
        }
    }
}

fn rows(result: &StepResult) -> u64 {
    let hits = result.ray_hits.len() + result.ray_any.len();
    (result.pairs.len() + hits + result.query_objects.len() + result.query_nearest.len()) as u64
}

fn of_set<'a>(descriptor: &BroadPhaseDescriptor<'a>, features: &Features) -> BroadPhaseDescriptor<'a> {
    let ray_mode = features.set.as_ref().map(|set| set.ray_mode);
    BroadPhaseDescriptor {
        pairs: false,
        outputs: OutputOptions {
            ray_mode: ray_mode.unwrap_or_default(),
            ..descriptor.outputs
        },
        ..*descriptor
    }
}

impl Defined {
    fn of(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>, features: &Features) -> Self {
        let mut answer = answer::brute_force(descriptor, scene).self_query_of(descriptor);
        answer.pairs.retain(|pair| features.admits(pair.a, pair.b));
        let found = brute_force::scene_queries(descriptor, scene);
        let mut found = found.expect("the scene is on the host");
        if let Queries::Objects(SelfQuery::Overlaps { .. }) = scene.query.queries {
            for (object, found) in (0..).zip(&mut found) {
                found
                    .surely
                    .retain(|&(other, _)| features.admits(other.min(object), other.max(object)));
            }
        }
        Self { answer, found }
    }

    fn difference(
        &self,
        descriptor: &BroadPhaseDescriptor<'_>,
        scene: &Scene<'_>,
        result: &StepResult,
    ) -> Option<String> {
        let answer = Answer::of_step(descriptor, result.clone());
        let faults = [
            answer.difference(&self.answer),
            found::difference(descriptor, scene, result, &self.found),
        ];
        let faults: Vec<_> = faults.into_iter().flatten().collect();
        (!faults.is_empty()).then(|| faults.join("; "))
    }
}

impl Truth {
    fn of(features: &Features) -> Self {
        let descriptor = &features.descriptor;
        let set = features
            .set
            .as_ref()
            .map(|set| Defined::of(&of_set(descriptor, features), &features.scene_of_set(set), features));
        Self {
            step: Defined::of(descriptor, &features.scene(), features),
            set,
            views: views::Defined::of(descriptor, &features.boxes, &features.worlds, &features.views),
        }
    }
}

impl Answers {
    fn of_reference(descriptor: &BroadPhaseDescriptor<'_>, features: &Features) -> Result<Self> {
        let admits = |a: u32, b: u32| features.admits(a, b);
        let step = |descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>| {
            cpu::step_scene_where(descriptor, scene, &admits)
        };
        let scene = features.scene();
        let set = features.set.as_ref().map(|set| {
            let scene = features.scene_of_set(set);
            step(&of_set(descriptor, features), &scene)
        });
        Ok(Self {
            step: step(descriptor, &scene)?,
            set: set.transpose()?,
            visible: reference::cull(descriptor, &scene, &features.views)?,
        })
    }

    /// Returns differences from brute force and from the CPU engine, each with the features that may have caused it.
    fn differences(&self, features: &Features, truth: &Truth, on_cpu: Option<&Self>) -> Vec<(Vec<Part>, String)> {
        let descriptor = &features.descriptor;
        let of_step = || features.parts().into_iter().map(|(part, _)| part).collect();
        let mut faults = Vec::new();
        let worlds = on_cpu
            .and_then(|on_cpu| first_difference("pairs of worlds", &self.step.world_pairs, &on_cpu.step.world_pairs));
        let by_definition = truth.step.difference(descriptor, &features.scene(), &self.step);
        faults.extend(by_definition.into_iter().chain(worlds).map(|fault| (of_step(), fault)));

        if let (Some(set), Some(truth), Some(result)) = (&features.set, &truth.set, &self.set) {
            let fault = truth.difference(&of_set(descriptor, features), &features.scene_of_set(set), result);
            faults.extend(fault.map(|fault| (vec![Part::Sets], fault)));
        }

        let by_cpu = on_cpu.filter(|on_cpu| on_cpu.visible != self.visible);
        let by_cpu = by_cpu.map(|_| "visible objects differ from the CPU engine's".to_owned());
        let fault = truth.views.difference(&self.visible).or(by_cpu);
        faults.extend(fault.map(|fault| (vec![Part::Views], fault)));
        faults
    }
}

impl Engines {
    fn answers(&mut self, descriptor: &BroadPhaseDescriptor<'static>, features: &Features) -> Result<Answers> {
        let Self {
            device,
            queue,
            made,
            culling,
        } = self;
        let kind = (
            std::mem::discriminant(&descriptor.scheme),
            [descriptor.worlds > 1, descriptor.pair_filter.is_some()],
        );
        let place = match made.iter().position(|(of, _)| *of == kind) {
            Some(place) => {
                made[place].1.set_descriptor(descriptor)?;
                place
            }
            None => {
                made.push((kind, GpuBroadPhase::new(device, queue, descriptor)?));
                made.len() - 1
            }
        };
        let broad_phase = &mut made[place].1;
        let buffers = features.buffers(device);
        let (scene, work) = features.input_in(&buffers);
        let outputs = of_set(descriptor, features).outputs;
        let mut set = match work {
            Some(work) => Some((broad_phase.query_set("verify", &outputs)?, work)),
            None => None,
        };
        for _ in 0..ATTEMPTS {
            let mut encoder = device.create_command_encoder(&Default::default());
            let step = broad_phase.step(&mut encoder, scene)?;
            if let Some((set, work)) = &mut set {
                set.record(&mut encoder, &step, *work)?;
            }
            let views = Source::Host(&features.views);
            culling.record(&mut encoder, &step, views, CullOptions::default())?;
            queue.submit([encoder.finish()]);
            let answers = Answers {
                step: block_on(broad_phase.read_back())?,
                set: match &mut set {
                    Some((set, _)) => Some(block_on(set.read_back())?),
                    None => None,
                },
                visible: block_on(culling.read_back())?,
            };
            let is_complete = |result: &StepResult| result.counters.is_complete();
            if is_complete(&answers.step) && answers.set.as_ref().is_none_or(is_complete) {
                return Ok(answers);
            }
        }
        bail!("incomplete results after {ATTEMPTS} steps");
    }
}

pub fn table(out: &mut impl std::io::Write, adapters: &[Verified], width: usize) -> std::io::Result<()> {
    let is_compared = |compared: &Compared| compared.scenes != [0; 2];
    if !adapters.iter().flat_map(|adapter| &adapter.parts).any(is_compared) {
        return Ok(());
    }
    writeln!(
        out,
        "\n{:<width$}  {:<15}  {:>6}  {:>6}  {:>9}  {:>12}  {:>11}  {:>11}  {:>11}",
        "adapter", "with", "2D", "3D", "inputs", "hierarchical", "uniform", "adaptive", "differences"
    )?;
    for adapter in adapters {
        for (compared, part) in adapter.parts.iter().zip(PARTS) {
            let ([flat, solid], [first, second, third]) = (compared.scenes, compared.rows);
            writeln!(
                out,
                "{:<width$}  {part:<15}  {flat:>6}  {solid:>6}  {:>9}  {first:>12}  {second:>11}  {third:>11}  {:>11}",
                adapter.title, compared.inputs, compared.differences
            )?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gpu_broad_phase::{Dimensions, NONE, QueryMode};

    use super::super::features::{self, QueryKind};
    use super::super::scenes;
    use gpu_broad_phase::SelfQuery;

    use super::*;

    fn features(seed: u64) -> Features {
        features::random(seed, &scenes::random(seed, 60))
    }

    /// Returns the number of seeds with `part`, and the faults of an engine that ignores it.
    fn overlooked(part: Part, overlook: impl Fn(&mut Features)) -> (usize, Vec<String>) {
        let (mut count, mut messages) = (0, Vec::new());
        for seed in 0..240 {
            let right = features(seed);
            let is_there = match part {
                Part::Sets => right.set_count() > 0,
                Part::Views => !right.views.is_empty(),
                part => right.parts().iter().any(|(of_step, _)| *of_step == part),
            };
            if !is_there {
                continue;
            }
            count += 1;
            let truth = Truth::of(&right);
            let on_cpu = Answers::of_reference(&right.descriptor, &right).unwrap();
            assert_eq!(on_cpu.differences(&right, &truth, Some(&on_cpu)), [], "seed {seed}");
            let mut wrong = features(seed);
            overlook(&mut wrong);
            let descriptor = BroadPhaseDescriptor {
                outputs: OutputOptions {
                    ray_mode: right.descriptor.outputs.ray_mode,
                    ..wrong.descriptor.outputs
                },
                ..wrong.descriptor
            };
            let answers = Answers::of_reference(&descriptor, &wrong).unwrap();
            let faults = answers.differences(&right, &truth, None);
            // Drops faults that do not name `part`: sets and views use the same boxes.
            let about = faults.into_iter().filter(|(parts, _)| parts.contains(&part));
            messages.extend(about.map(|(_, fault)| fault));
        }
        (count, messages)
    }

    #[test]
    fn engines_that_miss_a_part_are_reported() {
        type Overlook = fn(&mut Features);
        let overlooks: [(Part, &str, Overlook); 12] = [
            (Part::Statics, "pairs", |wrong| wrong.statics = 0),
            (Part::Excluded, "pairs", |wrong| wrong.excluded.clear()),
            (Part::Function, "pairs", |wrong| wrong.filter_data.clear()),
            (Part::Strided, "pairs", |wrong| {
                // Reads boxes of any layout as min and max.
                let strided = wrong.strided.iter().flat_map(|strided| &strided[..2]);
                let vectors: Vec<_> = strided.flat_map(|strided| strided.vectors()).collect();
                for (boxed, [first, second]) in wrong.boxes.iter_mut().zip(vectors) {
                    (boxed.min, boxed.max) = (first, second);
                }
            }),
            (Part::Swept, "hit", |wrong| wrong.work.is_swept = false),
            (Part::Boxes, "query", |wrong| {
                if let QueryKind::Boxes(boxes) = &mut wrong.work.queries {
                    boxes.reverse();
                }
            }),
            (Part::Spheres, "query", |wrong| {
                if let QueryKind::Spheres(queries) = &mut wrong.work.queries {
                    queries.iter_mut().for_each(|query| query.radius = 0.0);
                }
            }),
            (Part::Nearest, "query results", |wrong| {
                wrong.work.query_mode = QueryMode::All;
            }),
            (Part::Neighbors, "query", |wrong| {
                if let QueryKind::Objects(SelfQuery::Within { half, .. }) = &mut wrong.work.queries {
                    *half = !*half;
                }
            }),
            (Part::Partners, "query", |wrong| {
                if let QueryKind::Objects(SelfQuery::Overlaps { half }) = &mut wrong.work.queries {
                    *half = !*half;
                }
            }),
            (Part::Sets, "hit", |wrong| {
                if let Some(set) = &mut wrong.set {
                    set.rays.reverse();
                    set.plain.reverse();
                }
            }),
            (Part::Views, "view", |wrong| {
                for view in &mut wrong.views {
                    view.plane_count = view.plane_count.min(1);
                }
            }),
        ];
        for (part, text, overlook) in overlooks {
            let (count, messages) = overlooked(part, overlook);
            let fitting = messages.iter().filter(|fault| fault.contains(text)).count();
            assert!(
                count >= 8 && fitting >= 3,
                "{part:?}: {fitting} of {count}, the first: {:?}",
                messages.first()
            );
        }
    }

    #[test]
    fn lost_rows_of_sets_and_views_and_wrong_counts_of_worlds_are_reported() {
        let mut counts = BTreeMap::new();
        for seed in 0..240 {
            let features = features(seed);
            let truth = Truth::of(&features);
            let on_cpu = Answers::of_reference(&features.descriptor, &features).unwrap();
            let mut hold = |what: &'static str, part: Option<Part>, wrong: Answers| {
                let faults = wrong.differences(&features, &truth, Some(&on_cpu));
                let is_about = |parts: &[Part]| part.is_none_or(|part| parts == [part]);
                assert!(
                    faults.len() == 1 && is_about(&faults[0].0),
                    "seed {seed}, {what}: {faults:?}"
                );
                *counts.entry(what).or_insert(0) += 1;
            };
            if let Some(set) = on_cpu.set.as_ref().filter(|set| !set.query_objects.is_empty()) {
                let mut set = set.clone();
                let object = &mut set.query_objects[0];
                *object = NONE - *object;
                let set = Some(set);
                hold("set", Some(Part::Sets), Answers { set, ..on_cpu.clone() });
            }
            if on_cpu.visible.objects.iter().any(|seen| !seen.is_empty()) {
                let mut wrong = on_cpu.clone();
                for seen in &mut wrong.visible.objects {
                    seen.truncate(seen.len().saturating_sub(1));
                }
                hold("lost", Some(Part::Views), wrong);
            }
            if let Some(first) = on_cpu.visible.objects.first()
                && first.len() < features.boxes.len()
            {
                let mut wrong = on_cpu.clone();
                wrong.visible.objects[0] = (0..features.boxes.len() as u32).collect();
                hold("extra", Some(Part::Views), wrong);
            }
            if !on_cpu.step.world_pairs.is_empty() && !features.parts().is_empty() {
                let mut wrong = on_cpu.clone();
                wrong.step.world_pairs[0] += 1;
                hold("worlds", None, wrong);
            }
        }
        assert!(
            counts.len() == 4 && counts.values().all(|&count| count > 10),
            "{counts:?}"
        );
    }

    #[test]
    fn every_part_comes_up_in_a_few_seeds_in_two_and_in_three_dimensions() {
        let mut scenes = [[0; 2]; PARTS.len()];
        for seed in 0..60 {
            let features = features(seed);
            let mut parts = features.parts();
            parts.push((Part::Sets, features.set_count()));
            parts.push((Part::Views, features.views.len() as u64));
            for (part, _) in parts.into_iter().filter(|(_, given)| *given > 0) {
                let is_flat = features.descriptor.dimensions == Dimensions::Two;
                scenes[part as usize][usize::from(is_flat)] += 1;
            }
        }
        for (counts, part) in scenes.iter().zip(PARTS) {
            assert!(counts.iter().all(|&count| count > 0), "{part}: {counts:?}");
        }
    }
}
