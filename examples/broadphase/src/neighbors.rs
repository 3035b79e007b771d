//! Finds candidates in f32, with a radius enlarged for the rounding, and computes their distances in f64 from the
//! original numbers.

use anyhow::{Result, bail};
use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, LocalOrigin, NONE, NearestObject, Scene, SelfQuery, Source};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::Status;
use crate::args::NeighborsArgs;
use crate::distance::to_nearest_image;
use crate::engine::{dimensions, scheme};
use crate::input::{self, Points};
use crate::mesh::round_up;
use crate::output::Target;
use crate::query;
use crate::report::{self, Reporter};
use crate::step::Step;

pub fn run(args: &NeighborsArgs, reporter: Reporter) -> Result<Status> {
    if args.radius.is_none() && args.nearest.is_none() {
        bail!("neighbors needs --radius R, or --nearest K");
    }
    let mut target = Target::unless(args.step.count_only, &args.output)?;
    let mut step = Step::new(&args.engine, &args.step, reporter)?;
    let points = input::points(&args.points, &args.columns, args.dimensions, reporter)?;
    let axes = usize::from(points.dimensions);
    let periods = periods(args, &points)?;
    if args.shifts && periods.is_none() {
        bail!("--shifts needs --period, or an XYZ file with a Lattice");
    }
    let space = Space {
        points: &points.positions,
        periods: periods.unwrap_or_default(),
    };
    let Candidates { boxes, off } = space.candidates()?;
    let candidates = input::Scene {
        boxes,
        dimensions: points.dimensions,
        elements: None,
        origin: LocalOrigin::default(),
    };
    let descriptor = BroadPhaseDescriptor {
        dimensions: dimensions(&candidates),
        scheme: scheme(&args.scheme, &candidates, reporter)?,
        periods: space.periods.map(|period| period as f32),
        pairs: false,
        ..Default::default()
    };
    let radius = args.radius.unwrap_or(f64::INFINITY);
    let spare = if off > 0.0 { SPARE } else { 0 };
    let looked_at = args.nearest.map(|count| (count + spare).min(MOST_NEAREST));
    let asked = Scene {
        objects: Source::Host(&candidates.boxes),
        queries: SelfQuery::Within {
            // Enlarged, since device distances are off by a few ulps.
            radius: round_up((radius + off + SMALLEST) * (1.0 + 16.0 * f64::from(f32::EPSILON))).min(f32::MAX),
            half: !args.full && args.nearest.is_none(),
        }
        .into(),
        query_mode: query::mode(looked_at),
        ..Scene::default()
    };
    let answer = step.run(&descriptor, &asked)?;
    let result = answer.result;
    let distance = |a: u32, b: u32| space.to_nearest_image(a, b).0;
    let rows = match (args.nearest, looked_at) {
        (Some(count), Some(looked_at)) => {
            let queries = result.query_nearest.chunks_exact(looked_at as usize).zip(0..);
            let rows = queries.flat_map(|(found, query)| nearest(found, query, count, radius, distance));
            rows.collect()
        }
        _ => {
            let rows = query::rows(&result.query_offsets, &result.query_objects, |point| point);
            let is_near = |&[a, b]: &[u32; 2]| distance(a, b) <= radius;
            rows.into_par_iter().filter(is_near).collect::<Vec<_>>()
        }
    };
    report::neighbors(reporter, &result, rows.len() as u64, answer.duration);
    let status = step.status(&result);

    let Some(target) = &mut target else {
        step.write_count(rows.len() as u64)?;
        return Ok(status);
    };
    if !args.distances && !args.shifts {
        target.write(rows.len(), 2, rows.into_iter().flatten(), reporter)?;
        return Ok(status);
    }
    let columns = 2 + usize::from(args.distances) + if args.shifts { axes } else { 0 };
    let values = rows.iter().flat_map(|&[a, b]| {
        let (distance, shifts) = space.to_nearest_image(a, b);
        let distance = args.distances.then_some(distance);
        let shifts = shifts.into_iter().take(if args.shifts { axes } else { 0 });
        [f64::from(a), f64::from(b)].into_iter().chain(distance).chain(shifts)
    });
    target.write(rows.len(), columns, values, reporter)?;
    Ok(status)
}

/// Extra candidates per point, since rounding may change their order.
const SPARE: u32 = 8;
const MOST_NEAREST: u32 = 1024;

/// Length that devices may flush to zero: denormals of both points, on three axes.
const SMALLEST: f64 = 4.0 * f32::MIN_POSITIVE as f64;

fn nearest(
    found: &[NearestObject],
    query: u32,
    count: u32,
    radius: f64,
    distance: impl Fn(u32, u32) -> f64,
) -> impl Iterator<Item = [u32; 2]> {
    let found = found
        .iter()
        .map(|neighbor| neighbor.object)
        .filter(|&object| object != NONE);
    let mut found: Vec<_> = found.map(|object| (distance(query, object), object)).collect();
    found.retain(|&(distance, _)| distance <= radius);
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let found = found.into_iter().take(count as usize);
    found.map(move |(_, object)| [query, object])
}

/// Periods from --period, else from the file; 0 for an axis without one.
fn periods(args: &NeighborsArgs, points: &Points) -> Result<Option<[f64; 3]>> {
    let axes = usize::from(points.dimensions);
    let Some(given) = &args.period else {
        return Ok(points.period);
    };
    let mut periods = [0.0; 3];
    match given.0[..] {
        [of_all] => periods[..axes].fill(of_all),
        _ if given.0.len() == axes => periods[..axes].copy_from_slice(&given.0),
        _ => bail!("--period has {} numbers; use 1 or {axes}", given.0.len()),
    }
    Ok(Some(periods))
}

struct Space<'a> {
    points: &'a [[f64; 3]],
    periods: [f64; 3],
}

struct Candidates {
    boxes: Vec<Aabb>,
    /// Largest error of a distance due to positions rounded to f32.
    off: f64,
}

impl Space<'_> {
    fn to_nearest_image(&self, a: u32, b: u32) -> (f64, [f64; 3]) {
        to_nearest_image(&self.points[a as usize], &self.points[b as usize], self.periods)
    }

    /// Rounds points to f32, once moved into the period or near the origin.
    fn candidates(&self) -> Result<Candidates> {
        let is_finite = |point: &&[f64; 3]| point.iter().all(|value| value.is_finite());
        let (mut origin, mut off) = ([0.0; 3], [0.0; 3]);
        for axis in 0..3 {
            let values = self.points.iter().filter(is_finite).map(|point| point[axis]);
            let period = self.periods[axis];
            if period > 0.0 {
                // Rounding of two coordinates and the period: half an ulp each.
                off[axis] = 3.0 * period;
            } else if values.clone().any(|value| f64::from(value as f32) != value) {
                let low = values.clone().fold(f64::INFINITY, f64::min);
                let high = values.fold(f64::NEG_INFINITY, f64::max);
                if high / 2.0 - low / 2.0 > f32::MAX.into() {
                    bail!("points from {low:e} to {high:e} are too far apart: the limit is 6.8e38");
                }
                origin[axis] = low / 2.0 + high / 2.0;
                off[axis] = high - low;
            }
        }
        let candidate = |point: &[f64; 3]| {
            if !is_finite(&point) {
                return Aabb::point([f32::NAN; 3]);
            }
            Aabb::point(std::array::from_fn(|axis| {
                let period = self.periods[axis];
                let value = match period > 0.0 {
                    true => point[axis].rem_euclid(period),
                    false => point[axis] - origin[axis],
                };
                value as f32
            }))
        };
        Ok(Candidates {
            boxes: self.points.iter().map(candidate).collect(),
            off: off.into_iter().fold(0.0, f64::hypot) * f64::from(f32::EPSILON) / 2.0,
        })
    }
}
