//! Finds neighbours by a step in f32, and keeps those that are near in f64 by the original numbers.

use std::borrow::Cow;
use std::time::Instant;

use anyhow::{Result, bail};
use exact_neighbors::{Lattice, Links, Refused, Spaces, distance, round_up};
use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, LocalOrigin, QueryInput, Scene, SelfQuery, Source};
use rayon::iter::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};

use crate::Status;
use crate::args::NeighborsArgs;
use crate::distance::to_nearest_image;
use crate::engine::{dimensions, scheme};
use crate::input::{self, Points};
use crate::nearest;
use crate::output::Target;
use crate::query;
use crate::report::{self, Reporter, counted};
use crate::step::{Answer, Step};

pub fn run(args: &NeighborsArgs, reporter: Reporter) -> Result<Status> {
    if args.radius.is_none() && args.nearest.is_none() {
        bail!("neighbors needs --radius R, or --nearest K");
    }
    let mut output = Output {
        args,
        target: Target::unless(args.step.count_only, &args.output)?,
        axes: 0,
        reporter,
    };
    let mut step = Step::new(&args.engine, &args.step, reporter)?;
    let points = input::points(&args.points, &args.columns, args.dimensions, reporter)?;
    output.axes = usize::from(points.dimensions);
    let cell = cell(args, &points)?;
    if args.shifts && cell.is_none() {
        bail!("--shifts needs --period, or an XYZ file with a Lattice");
    }
    let cell = cell.unwrap_or_default();
    let Some(lattice) = Lattice::new(cell) else {
        bail!("--period: too short or long");
    };
    let space = Space {
        points: &points.positions,
        dimensions: points.dimensions,
        periods: periods(&cell),
        is_valid: valid(args, &points, &lattice),
        lattice,
    };
    match (args.nearest, args.radius) {
        (Some(count), _) => nearest::run(count, space, &mut step, &mut output),
        (None, radius) => {
            let radius = radius.unwrap_or_default();
            match space.candidates().filter(|candidates| space.suits(candidates, radius)) {
                Some(candidates) => query_step(&space, candidates, radius, &mut step, &mut output),
                None => pair_step(&space, radius, &mut step, &mut output),
            }
        }
    }
}

pub struct Output<'a> {
    pub args: &'a NeighborsArgs,
    target: Option<Target>,
    axes: usize,
    pub reporter: Reporter,
}

pub struct Row {
    pub points: [u32; 2],
    pub distance: f64,
    /// In cells, for the second point.
    pub shift: [f64; 3],
}

impl Output<'_> {
    pub fn write(&mut self, step: &Step<'_>, count: usize, rows: impl Iterator<Item = Row>) -> Result<()> {
        let Some(target) = &mut self.target else {
            return step.write_count(count as u64);
        };
        let (has_distances, has_shifts) = (self.args.distances, self.args.shifts);
        if !has_distances && !has_shifts {
            return target.write(count, 2, rows.flat_map(|row| row.points), self.reporter);
        }
        let shifts = if has_shifts { self.axes } else { 0 };
        let columns = 2 + usize::from(has_distances) + shifts;
        let values = rows.flat_map(|row| {
            let distance = has_distances.then_some(row.distance);
            let points = row.points.into_iter().map(f64::from);
            points.chain(distance).chain(row.shift.into_iter().take(shifts))
        });
        target.write(count, columns, values, self.reporter)
    }
}

fn cell(args: &NeighborsArgs, points: &Points) -> Result<Option<[[f64; 3]; 3]>> {
    let axes = usize::from(points.dimensions);
    let Some(given) = &args.period else {
        return Ok(points.cell);
    };
    let mut periods = [0.0; 3];
    match given.0[..] {
        [of_all] => periods[..axes].fill(of_all),
        _ if given.0.len() == axes => periods[..axes].copy_from_slice(&given.0),
        _ => bail!("--period has {} numbers; use 1 or {axes}", given.0.len()),
    }
    Ok(Some(input::along_axes(periods)))
}

/// Period of each axis, 0 for none. `None` if the cell is not along the axes.
fn periods(cell: &[[f64; 3]; 3]) -> Option<[f64; 3]> {
    let periods = std::array::from_fn(|axis| cell[axis][axis]);
    (*cell == input::along_axes(periods)).then_some(periods)
}

/// Farther away, rounding is a large part of the cell.
const MOST_CELLS: u64 = 1 << 36;

/// Returns false for points to ignore. The reader has warned of those that are not finite.
fn valid(args: &NeighborsArgs, points: &Points, lattice: &Lattice) -> Vec<bool> {
    let is_finite = |point: &[f64; 3]| point.iter().all(|value| value.is_finite());
    let is_near = |point: &[f64; 3]| {
        lattice
            .scaled(*point)
            .iter()
            .all(|cells| cells.abs() < MOST_CELLS as f64)
    };
    let positions = &points.positions;
    let is_valid = |point| is_finite(point) && is_near(point);
    let valid: Vec<_> = positions.par_iter().map(is_valid).collect();
    let mut lost = (0..positions.len()).filter(|&row| !valid[row] && is_finite(&positions[row]));
    if let Some(row) = lost.next() {
        let (count, all) = (lost.count() + 1, positions.len());
        input::warn(
            &args.points,
            format!("ignored {count} of {all} points, the first in row {row}: it is 2^36 or more periods away"),
        );
    }
    valid
}

pub struct Space<'a> {
    pub points: &'a [[f64; 3]],
    pub dimensions: u8,
    pub is_valid: Vec<bool>,
    pub lattice: Lattice,
    /// `None` if the cell is not along the axes.
    pub periods: Option<[f64; 3]>,
}

pub struct Candidates {
    pub scene: input::Scene,
    pub periods: [f64; 3],
    /// Largest error of a distance, due to positions rounded to f32 and to denormals that devices flush to zero.
    pub off: f64,
}

/// Length that devices may flush to zero: denormals of both points, on three axes.
const SMALLEST: f64 = 4.0 * f32::MIN_POSITIVE as f64;

/// Periods of which a step takes an f32.
const PERIODS: std::ops::RangeInclusive<f64> = 1e-30..=1e27;

impl Candidates {
    pub fn descriptor(&self, output: &Output<'_>) -> Result<BroadPhaseDescriptor<'static>> {
        Ok(BroadPhaseDescriptor {
            dimensions: dimensions(&self.scene),
            scheme: scheme(&output.args.scheme, &self.scene, output.reporter)?,
            periods: self.periods.map(|period| period as f32),
            pairs: false,
            ..Default::default()
        })
    }

    pub fn query(&self, radius: f64, half: bool) -> SelfQuery {
        SelfQuery::Within {
            // Enlarged, since device distances are off by a few ulps.
            radius: round_up((radius + self.off) * (1.0 + 16.0 * f64::from(f32::EPSILON))).min(f32::MAX),
            half,
        }
    }
}

impl Space<'_> {
    /// Rounds points to f32, once moved into the period or near the origin. `None` if f32 has no place for them.
    pub fn candidates(&self) -> Option<Candidates> {
        let periods = self.periods?;
        let (mut origin, mut off) = ([0.0; 3], [0.0; 3]);
        for axis in 0..3 {
            let valid = self
                .points
                .iter()
                .zip(&self.is_valid)
                .filter(|(_, is_valid)| **is_valid);
            let values = valid.map(|(point, _)| point[axis]);
            let period = periods[axis];
            if period > 0.0 {
                if !PERIODS.contains(&period) {
                    return None;
                }
                // Rounding of two coordinates and the period: half an ulp each.
                off[axis] = 3.0 * period;
            } else if values.clone().any(|value| f64::from(value as f32) != value) {
                let low = values.clone().fold(f64::INFINITY, f64::min);
                let high = values.fold(f64::NEG_INFINITY, f64::max);
                if high / 2.0 - low / 2.0 > f32::MAX.into() {
                    return None;
                }
                origin[axis] = low / 2.0 + high / 2.0;
                off[axis] = high - low;
            }
        }
        let candidate = |(point, &is_valid): (&[f64; 3], &bool)| {
            if !is_valid {
                return Aabb::point([f32::NAN; 3]);
            }
            Aabb::point(std::array::from_fn(|axis| {
                let period = periods[axis];
                let value = match period > 0.0 {
                    true => point[axis].rem_euclid(period),
                    false => point[axis] - origin[axis],
                };
                value as f32
            }))
        };
        Some(Candidates {
            scene: input::Scene {
                boxes: self.points.iter().zip(&self.is_valid).map(candidate).collect(),
                dimensions: self.dimensions,
                elements: None,
                origin: LocalOrigin::default(),
            },
            periods,
            off: SMALLEST + off.into_iter().fold(0.0, f64::hypot) * f64::from(f32::EPSILON) / 2.0,
        })
    }

    /// True if f32 is fine, and only nearest images are within the radius.
    fn suits(&self, candidates: &Candidates, radius: f64) -> bool {
        let mut periods = candidates.periods.into_iter().filter(|&period| period > 0.0);
        candidates.off <= radius / 16.0 && periods.all(|period| 2.0 * radius < period * (1.0 - 1e-9))
    }

    fn invalid(&self) -> usize {
        self.is_valid.iter().filter(|is_valid| !**is_valid).count()
    }
}

fn query_step(
    space: &Space<'_>,
    candidates: Candidates,
    radius: f64,
    step: &mut Step<'_>,
    output: &mut Output<'_>,
) -> Result<Status> {
    let descriptor = candidates.descriptor(output)?;
    let asked = Scene {
        objects: Source::Host(&candidates.scene.boxes),
        query: QueryInput {
            queries: candidates.query(radius, !output.args.full).into(),
            ..QueryInput::default()
        },
        ..Scene::default()
    };
    let answer = step.run(&descriptor, &asked)?;
    let result = answer.result;
    let row = |points: [u32; 2]| {
        let [from, to] = points.map(|row| &space.points[row as usize]);
        let (distance, shift) = to_nearest_image(from, to, candidates.periods);
        Row {
            points,
            distance,
            shift,
        }
    };
    let rows = query::rows(&result.query_offsets, &result.query_objects, |point| point);
    let is_near = |&points: &[u32; 2]| row(points).distance <= radius;
    let rows: Vec<_> = rows.into_par_iter().filter(is_near).collect();
    report::neighbors(output.reporter, &result, rows.len() as u64, answer.duration);
    output.write(step, rows.len(), rows.iter().map(|&points| row(points)))?;
    Ok(step.status(&result))
}

/// Pairs of boxes, at any scale and in any cell.
fn pair_step(space: &Space<'_>, radius: f64, step: &mut Step<'_>, output: &mut Output<'_>) -> Result<Status> {
    let invalid = space.invalid();
    let valid = (0..space.points.len() as u32).filter(|&row| space.is_valid[row as usize]);
    let kept: Option<Vec<u32>> = (invalid > 0).then(|| valid.collect());
    let points: Cow<'_, [[f64; 3]]> = match &kept {
        None => space.points.into(),
        Some(kept) => kept.iter().map(|&row| space.points[row as usize]).collect(),
    };
    let lattices = [space.lattice];
    let spaces = Spaces::new(&points, None, &lattices, radius, MOST_CELLS);
    let spaces = match spaces {
        Ok(spaces) => spaces,
        Err(Refused::Far(row)) => bail!("point {row} is 2^36 or more periods away"),
        Err(Refused::Images(count)) => {
            bail!("--radius {radius}: {count:.0} images of points may be within it; the limit is 2^26")
        }
    };
    let began = Instant::now();
    let tested = (spaces.has_mostly_images() && !step.is_needed()).then(|| spaces.tested_pairs());
    let (pairs, answer) = match tested.flatten() {
        Some(pairs) => (pairs, None),
        None => {
            let mut answer = step_of_boxes(spaces.boxes().boxes, space.dimensions, step, output)?;
            (std::mem::take(&mut answer.result.pairs), Some(answer))
        }
    };
    let links = Links::new(&spaces, &pairs, !output.args.full, |offset| distance(offset) <= radius);
    drop(pairs);
    let status = match answer {
        Some(mut answer) => {
            // Without images.
            answer.result.counters.objects = space.points.len() as u32;
            answer.result.counters.invalid = invalid as u32;
            report::neighbors(output.reporter, &answer.result, links.count() as u64, answer.duration);
            step.status(&answer.result)
        }
        None => {
            let points = counted(space.points.len() as u64, "point");
            let pairs = counted(links.count() as u64, "pair");
            let time = began.elapsed().as_secs_f64() * 1e3;
            output.reporter.say(format!(
                "all images were tested, without a step: {points}; {pairs}; {time:.1} ms"
            ));
            Status::Done
        }
    };
    let original = |row: usize| kept.as_ref().map_or(row as u32, |kept| kept[row]);
    let rows = (0..spaces.rows()).flat_map(|row| links.of(row).iter().map(move |&link| (row, link)));
    let rows = rows.map(|(row, link)| {
        let (other, shift, offset) = spaces.follow(row, link);
        Row {
            points: [original(row), original(other as usize)],
            distance: distance(offset),
            shift,
        }
    });
    output.write(step, links.count(), rows)?;
    Ok(status)
}

fn step_of_boxes(boxes: Vec<Aabb>, axes: u8, step: &mut Step<'_>, output: &Output<'_>) -> Result<Answer> {
    let boxes = input::Scene {
        boxes,
        dimensions: axes,
        elements: None,
        origin: LocalOrigin::default(),
    };
    let descriptor = BroadPhaseDescriptor {
        dimensions: dimensions(&boxes),
        scheme: scheme(&output.args.scheme, &boxes, output.reporter)?,
        ..Default::default()
    };
    let scene = Scene {
        objects: Source::Host(&boxes.boxes),
        ..Scene::default()
    };
    step.run(&descriptor, &scene)
}
