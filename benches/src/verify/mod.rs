//! Compares adapters with brute force and the CPU engine. Random scenes are those of the tests, by number.

mod truth;

pub use truth::{Truth, query_count};

use std::io::{self, Write};

use anyhow::{Context, Result};
use gpu_broad_phase::wgpu::{AdapterInfo, Backends};
use gpu_broad_phase::{
    Backend, BroadPhase, BroadPhaseDescriptor, NONE, QueryInput, Scene, Scheme, StepResult, adapters,
};
use pollster::block_on;
use wild::check_later;

use crate::title;
use truth::{failure, object_count};

pub const SCHEMES: [&str; 3] = ["hierarchical", "uniform", "adaptive"];

pub struct Verified {
    title: String,
    backends: Backends,
    index: String,
    broad_phase: Option<BroadPhase>,
    /// One per scheme, in the order of [`SCHEMES`].
    pub tallies: [Tally; SCHEMES.len()],
}

pub const COLUMNS: [&str; 8] = [
    "steps",
    "boxes",
    "rays",
    "queries",
    "pairs",
    "hits",
    "results",
    "differences",
];

/// Sums in the order of [`COLUMNS`].
pub type Tally = [u64; COLUMNS.len()];

/// A step, and optionally queries of its table.
struct Case<'a> {
    descriptor: &'a BroadPhaseDescriptor<'static>,
    scene: &'a Scene<'a>,
    later: Option<QueryInput<'a>>,
}

type Answers = (StepResult, Option<StepResult>);

pub fn verified(backends: Backends) -> Vec<Verified> {
    let of_backend = |backend| {
        let found = block_on(adapters(backend)).into_iter().enumerate();
        found.map(move |(index, adapter)| Verified::new(&adapter.get_info(), backend, index))
    };
    backends.iter().flat_map(of_backend).collect()
}

/// Returns differences of each adapter and the CPU engine in the random scene `number`.
pub fn compare_random(adapters: &mut [Verified], number: u64) -> Result<Vec<String>> {
    compare_random_with(adapters, number, |_| {})
}

fn compare_random_with(
    adapters: &mut [Verified],
    number: u64,
    change: impl FnMut(&mut Answers),
) -> Result<Vec<String>> {
    let descriptor = wild::descriptor(number);
    let wild = wild::scene(number, &descriptor);
    let case = Case {
        descriptor: &descriptor,
        scene: &wild.scene(number),
        later: wild.later_input(),
    };
    let differences = compare_with(adapters, &case, change).with_context(|| format!("scene {number}"))?;
    let named = |difference| {
        let again = format!("broadphase verify --random 1 --seed {number}");
        format!("scene {number} ({}): {difference}; run again: {again}", wild.kind)
    };
    Ok(differences.into_iter().map(named).collect())
}

/// Returns differences of each adapter and the CPU engine in a scene on the host.
pub fn compare(
    adapters: &mut [Verified],
    descriptor: &BroadPhaseDescriptor<'static>,
    scene: &Scene<'_>,
) -> Result<Vec<String>> {
    let case = Case {
        descriptor,
        scene,
        later: None,
    };
    compare_with(adapters, &case, |_| {})
}

/// Compares what `change` makes of the answers.
fn compare_with(
    adapters: &mut [Verified],
    case: &Case<'_>,
    mut change: impl FnMut(&mut Answers),
) -> Result<Vec<String>> {
    let (descriptor, scene, name) = (case.descriptor, case.scene, name(case.descriptor));
    let scheme = match descriptor.scheme {
        Scheme::Uniform { .. } => 1,
        Scheme::Adaptive { .. } => 2,
        _ => 0,
    };
    let truth = Truth::of(descriptor, scene)?;
    let of_cpu = truth.of_cpu().unwrap_or_default();
    let named =
        |who: &str, what: &Vec<String>| -> Vec<_> { what.iter().map(|what| format!("{who}: {what}")).collect() };
    let mut differences = named(&format!("CPU engine, {name}"), &of_cpu);
    for adapter in adapters {
        let who = format!("{}, {name}", adapter.title);
        let mut answers = adapter.answer(case).with_context(|| who.clone())?;
        change(&mut answers);
        let (result, later_result) = answers;
        let mut of_gpu = truth.of_adapter(&result);
        if let (Some(later), Some(result)) = (&case.later, &later_result) {
            of_gpu.extend(failure(|| check_later(descriptor, scene, later, result)));
        }
        let more = tally(scene, &result, of_cpu.len() + of_gpu.len());
        let sums = &mut adapter.tallies[scheme];
        sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        differences.extend(named(&who, &of_gpu));
    }
    Ok(differences)
}

fn name(descriptor: &BroadPhaseDescriptor<'_>) -> String {
    let (scheme, axes) = (descriptor.scheme, descriptor.dimensions.count());
    let BroadPhaseDescriptor { margin, worlds, .. } = descriptor;
    format!("{scheme:?}, {axes}D, margin {margin}, worlds {worlds}")
}

impl Verified {
    /// The adapter may be in use.
    pub fn of(info: &AdapterInfo) -> Result<Self> {
        let backends = Backends::from(info.backend);
        let found = block_on(adapters(backends));
        let index = found.iter().position(|adapter| adapter.get_info() == *info);
        Ok(Self::new(
            info,
            backends,
            index.context("adapter lost: it is no longer listed by its backend")?,
        ))
    }

    fn new(info: &AdapterInfo, backends: Backends, index: usize) -> Self {
        Self {
            title: title(info),
            backends,
            index: index.to_string(),
            broad_phase: None,
            tallies: Default::default(),
        }
    }

    pub fn title(&self) -> &str {
        &self.title
    }

    /// Fails if the adapter is unusable.
    pub fn check(&mut self) -> Result<()> {
        self.broad_phase(&BroadPhaseDescriptor::default()).map(|_| ())
    }

    /// A single one for all descriptors, since it keeps its pipelines.
    fn broad_phase(&mut self, descriptor: &BroadPhaseDescriptor<'static>) -> Result<&mut BroadPhase> {
        let backend = Backend::Adapter {
            backends: self.backends,
            name: &self.index,
        };
        let mut broad_phase = match self.broad_phase.take() {
            Some(broad_phase) => broad_phase,
            None => block_on(BroadPhase::with_backend(descriptor, backend))?,
        };
        broad_phase.set_descriptor(descriptor)?;
        Ok(self.broad_phase.insert(broad_phase))
    }

    fn answer(&mut self, case: &Case<'_>) -> Result<Answers> {
        let broad_phase = self.broad_phase(case.descriptor)?;
        let result = block_on(broad_phase.step_scene(case.scene))?;
        let later = case.later.map(|input| block_on(broad_phase.query(&input)));
        Ok((result, later.transpose()?))
    }
}

fn tally(scene: &Scene<'_>, result: &StepResult, differences: usize) -> Tally {
    let closest = result.ray_hits.iter().filter(|hit| hit.object != NONE).count();
    let any = result.ray_any.iter().filter(|&&any| any != 0).count();
    [
        1,
        object_count(scene),
        scene.query.rays.len(),
        query_count(scene),
        result.pairs.len(),
        closest + any,
        result.query_objects.len() + result.query_nearest.len(),
        differences,
    ]
    .map(|count| count as u64)
}

pub fn table(out: &mut impl Write, adapters: &[Verified]) -> io::Result<()> {
    let widths = adapters.iter().map(|adapter| adapter.title.len());
    let width = widths.max().unwrap_or_default();
    let cells = |cells: [String; COLUMNS.len()]| cells.map(|cell| format!("  {cell:>11}")).concat();
    let header = cells(COLUMNS.map(str::to_owned));
    writeln!(out, "{:<width$}  {:<12}{header}", "adapter", "scheme")?;
    for adapter in adapters {
        for (tally, scheme) in adapter.tallies.iter().zip(SCHEMES) {
            let counts = cells(tally.map(|count| count.to_string()));
            writeln!(out, "{:<width$}  {scheme:<12}{counts}", adapter.title)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu_broad_phase::Growth;

    /// Changes answers that have the part in question.
    type Fault = fn(&mut Answers);

    fn spoil<T>(rows: &mut [T], change: fn(&mut T)) {
        rows.iter_mut().take(1).for_each(change);
    }

    const FAULTS: [(&str, Fault); 8] = [
        ("pairs", |(result, _)| result.pairs.clear()),
        ("hits", |(result, _)| spoil(&mut result.ray_hits, |hit| hit.object ^= 1)),
        ("any hit", |(result, _)| spoil(&mut result.ray_any, |any| *any ^= 1)),
        ("query", |(result, _)| {
            spoil(&mut result.query_objects, |row| *row = NONE)
        }),
        ("nearest", |(result, _)| {
            spoil(&mut result.query_nearest, |row| row.object = NONE)
        }),
        ("pairs of worlds", |(result, _)| {
            spoil(&mut result.world_pairs, |pairs| *pairs += 1)
        }),
        ("counters", |(result, _)| result.counters.invalid += 1),
        ("later queries", |(_, later)| {
            let rows = later.as_mut().map(|later| &mut later.query_objects[..]);
            spoil(rows.unwrap_or_default(), |row| *row = NONE);
        }),
    ];

    #[test]
    fn a_planted_fault_is_reported_with_its_scene_and_how_to_run_it_again() {
        let descriptor = BroadPhaseDescriptor::default();
        let mut adapters = [Verified {
            title: "adapter".to_owned(),
            backends: Backends::empty(),
            index: String::new(),
            broad_phase: Some(block_on(BroadPhase::with_backend(&descriptor, Backend::Cpu)).unwrap()),
            tallies: Default::default(),
        }];
        // With fixed capacities, results may be any part of the whole.
        let grows = |&number: &u64| wild::descriptor(number).outputs.growth == Growth::Grow;
        let faults = [("nothing", (|_| {}) as Fault)].into_iter().chain(FAULTS);
        for (what, fault) in faults {
            let mut found = 0;
            for number in (0..150).filter(grows) {
                let mut is_changed = false;
                let change = |answers: &mut Answers| {
                    let right = answers.clone();
                    fault(answers);
                    is_changed = *answers != right;
                };
                let differences = compare_random_with(&mut adapters, number, change).unwrap();
                assert_eq!(is_changed, !differences.is_empty(), "{what} of scene {number}");
                found += usize::from(differences.iter().any(|difference| difference.contains(what)));
                let name = format!("scene {number} (");
                let again = format!("run again: broadphase verify --random 1 --seed {number}");
                let is_named = |text: &String| text.starts_with(&name) && text.ends_with(&again);
                assert!(differences.iter().all(is_named), "{differences:?}");
            }
            assert!(what == "nothing" || found > 2, "{what}: {found}");
        }
        let counts = adapters[0].tallies.each_ref().map(|tally| [tally[0], tally[7]]);
        assert!(counts.iter().all(|count| count[0] > 100 && count[1] > 10), "{counts:?}");
    }
}
