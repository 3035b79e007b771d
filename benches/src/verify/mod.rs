pub mod answer;
mod compared;
mod features;
pub mod found;
mod scenes;
mod strided;
mod views;

pub use scenes::LARGEST;

use std::io::{self, Write};
use std::mem::Discriminant;

use anyhow::{Context, Result};
use gpu_broad_phase::wgpu::{Adapter, AdapterInfo, Backends};
use gpu_broad_phase::{
    Backend, BroadPhase, BroadPhaseDescriptor, OutputOptions, QueryInput, RayMode, Scene, Scheme, Source, adapters, cpu,
};
use pollster::block_on;

use crate::title;
use answer::{Answer, brute_force};
use compared::{Compared, Engines};
use features::PARTS;

/// Most objects for brute force, which is quadratic. Larger scenes are compared with the CPU engine alone.
pub const BRUTE_FORCE_OBJECTS: usize = 20_000;

pub struct Case<'a> {
    pub scene: Scene<'a>,
    pub descriptor: BroadPhaseDescriptor<'static>,
    pub schemes: [Scheme; SCHEMES.len()],
}

pub const SCHEMES: [&str; 3] = ["hierarchical", "uniform", "adaptive"];

pub struct Verified {
    title: String,
    backends: Backends,
    index: String,
    devices: Vec<(Kind, BroadPhase)>,
    engines: Option<Engines>,
    /// One per scheme, in the order of [`SCHEMES`].
    pub tallies: [Tally; SCHEMES.len()],
    parts: [Compared; PARTS.len()],
}

/// Properties that select pipelines: the scheme, and several worlds.
type Kind = (Discriminant<Scheme>, bool);

#[derive(Default)]
pub struct Tally {
    pub scenes: u64,
    pub objects: u64,
    pub rays: u64,
    pub pairs: u64,
    pub hits: u64,
    pub differences: u64,
}

pub fn verified(backends: Backends) -> Vec<Verified> {
    let each = backends.iter().flat_map(|backend| {
        let found = block_on(adapters(backend));
        let verified = |(index, adapter): (usize, &Adapter)| Verified::new(&adapter.get_info(), backend, index);
        found.iter().enumerate().map(verified).collect::<Vec<_>>()
    });
    each.collect()
}

pub fn compare_random(adapters: &mut [Verified], seed: u64, largest: u32) -> Result<Vec<String>> {
    let random = scenes::random(seed, largest);
    let case = Case {
        scene: Scene {
            objects: Source::Host(&random.boxes),
            worlds: Source::Host(&random.worlds),
            query: QueryInput {
                rays: random.rays.as_slice().into(),
                ..QueryInput::default()
            },
            ..Scene::default()
        },
        descriptor: random.descriptor,
        schemes: [
            Scheme::Hierarchical,
            Scheme::Uniform {
                cell_size: random.cell_size,
            },
            Scheme::Adaptive {
                min_scale: random.min_scale,
            },
        ],
    };
    let with_seed = || format!("seed {seed}");
    let mut differences = compare(adapters, &case).with_context(with_seed)?;
    // Features can be compared only with brute force.
    if random.boxes.len() <= BRUTE_FORCE_OBJECTS {
        let features = features::random(seed, &random);
        differences.extend(compared::compare(adapters, &features, case.schemes).with_context(with_seed)?);
    }
    let with_seed = |difference| format!("seed {seed}: {difference}");
    Ok(differences.into_iter().map(with_seed).collect())
}

pub fn compare(adapters: &mut [Verified], case: &Case<'_>) -> Result<Vec<String>> {
    let scene = &case.scene;
    let brute_force = (scene.objects.len() <= BRUTE_FORCE_OBJECTS).then(|| brute_force(&case.descriptor, scene));
    let mut differences = Vec::new();
    for (number, scheme) in case.schemes.into_iter().enumerate() {
        let base = BroadPhaseDescriptor {
            scheme,
            ..case.descriptor
        };
        let of_reference = answer(base, |descriptor| Ok(cpu::step_scene(descriptor, scene)?))?;
        if let Some(expected) = &brute_force
            && let Some(difference) = of_reference.difference(expected)
        {
            differences.push(format!(
                "CPU engine, {}: {difference}, against brute force",
                name(&base)
            ));
            for adapter in &mut *adapters {
                adapter.tallies[number].differences += 1;
            }
        }
        let expected = brute_force.as_ref().unwrap_or(&of_reference);
        for adapter in &mut *adapters {
            let of_gpu = answer(base, |descriptor| {
                let device = adapter.device(descriptor)?;
                Ok(block_on(device.step_scene(scene))?)
            })
            .with_context(|| format!("{}, {}", adapter.title, name(&base)))?;
            let tally = &mut adapter.tallies[number];
            tally.scenes += 1;
            tally.objects += scene.objects.len() as u64;
            tally.rays += scene.query.rays.len() as u64;
            tally.pairs += expected.pairs.len() as u64;
            tally.hits += expected.hits();
            if let Some(difference) = of_gpu.difference(expected) {
                differences.push(format!("{}, {}: {difference}", adapter.title, name(&base)));
                tally.differences += 1;
            }
        }
    }
    Ok(differences)
}

fn name(descriptor: &BroadPhaseDescriptor<'_>) -> String {
    let BroadPhaseDescriptor {
        scheme,
        dimensions,
        margin,
        worlds,
        ..
    } = descriptor;
    format!("{scheme:?}, {}D, margin {margin}, worlds {worlds}", dimensions.count())
}

/// Combines two steps: pairs with the closest hits, then all hits.
fn answer(
    descriptor: BroadPhaseDescriptor<'static>,
    mut step: impl FnMut(&BroadPhaseDescriptor<'static>) -> Result<gpu_broad_phase::StepResult>,
) -> Result<Answer> {
    let closest = step(&descriptor)?;
    let all = step(&BroadPhaseDescriptor {
        pairs: false,
        outputs: OutputOptions {
            ray_mode: RayMode::All,
            ..descriptor.outputs
        },
        ..descriptor
    })?;
    Ok(Answer::new(closest, &all))
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
            devices: Vec::new(),
            engines: None,
            tallies: Default::default(),
            parts: Default::default(),
        }
    }

    pub fn title(&self) -> &str {
        &self.title
    }

    pub fn check(&mut self) -> Result<()> {
        self.device(&BroadPhaseDescriptor::default()).map(|_| ())
    }

    /// Devices are cached, because making one takes longer than a small scene.
    fn device(&mut self, descriptor: &BroadPhaseDescriptor<'static>) -> Result<&mut BroadPhase> {
        let kind = (std::mem::discriminant(&descriptor.scheme), descriptor.worlds > 1);
        let index = match self.devices.iter().position(|(of, _)| *of == kind) {
            Some(index) => {
                self.devices[index].1.set_descriptor(descriptor)?;
                index
            }
            None => {
                let backend = Backend::Adapter {
                    backends: self.backends,
                    name: &self.index,
                };
                let device = block_on(BroadPhase::with_backend(descriptor, backend))?;
                self.devices.push((kind, device));
                self.devices.len() - 1
            }
        };
        Ok(&mut self.devices[index].1)
    }
}

pub fn table(out: &mut impl Write, adapters: &[Verified]) -> io::Result<()> {
    let width = adapters
        .iter()
        .map(|adapter| adapter.title.len())
        .max()
        .unwrap_or_default();
    writeln!(
        out,
        "{:<width$}  {:<12}  {:>7}  {:>10}  {:>10}  {:>11}  {:>11}  {:>11}",
        "adapter", "scheme", "scenes", "objects", "rays", "pairs", "hits", "differences"
    )?;
    for adapter in adapters {
        for (tally, scheme) in adapter.tallies.iter().zip(SCHEMES) {
            writeln!(
                out,
                "{:<width$}  {scheme:<12}  {:>7}  {:>10}  {:>10}  {:>11}  {:>11}  {:>11}",
                adapter.title, tally.scenes, tally.objects, tally.rays, tally.pairs, tally.hits, tally.differences
            )?;
        }
    }
    compared::table(out, adapters, width)
}
