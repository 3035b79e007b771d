use std::path::Path;

use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Dimensions, LocalOrigin, Query, Ray, SweptRay};
use gpu_broad_phase_mpi::{
    Cast, Communicator, Hit, Objects, Owned, RankError, Ranks, RanksDescriptor, Rows, agreed, common_sample,
};

use crate::args::{Cli, Command, Mode, NeighborsArgs, PairsArgs, QueryArgs, RaysArgs};
use crate::neighbors::{Space, near_in_order};
use crate::read::{Check, Slice, box_fault, corners, point_fault, ray_fault, slice, up, vector};
use crate::report::Report;
use crate::route::in_order;
use crate::write::Output;

struct Run<'a, C: Communicator> {
    cli: &'a Cli,
    ranks: Option<C>,
    report: Report,
}

struct Input {
    owned: Owned,
    rows: u64,
    dimensions: Dimensions,
}

pub fn run<C: Communicator>(cli: &Cli, ranks: C) -> Result<(), RankError> {
    let mut run = Run {
        cli,
        ranks: Some(ranks),
        report: Report::default(),
    };
    match &cli.command {
        Command::Pairs(args) => run.pairs(args),
        Command::Rays(args) => run.rays(args),
        Command::Query(args) => run.query(args),
        Command::Neighbors(args) => run.neighbors(args),
    }
}

impl<C: Communicator> Run<'_, C> {
    fn communicator(&self) -> &C {
        self.ranks
            .as_ref()
            .expect("they are taken once, after all that needs them")
    }

    fn slice(&self, path: &Path, columns: &[usize], check: Check) -> Result<Slice, RankError> {
        let ranks = self.communicator();
        let slice = agreed(ranks, slice(path, columns, ranks.rank(), ranks.size()))?;
        let shape = [slice.rows, slice.columns as u64];
        let mut of_first = shape;
        ranks.broadcast(0, bytemuck::cast_slice_mut(&mut of_first));
        let checked = match of_first == shape {
            true => slice.check(path, check).map(|()| slice),
            false => Err(format!(
                "{}: rank 0 reads another shape, {of_first:?} and not {shape:?}",
                path.display()
            )),
        };
        agreed(ranks, checked)
    }

    /// Collective.
    fn all(&self, own: bool) -> bool {
        let mut others = [u64::from(!own)];
        self.communicator().sum(&mut others);
        others == [0]
    }

    /// Collective.
    fn conversion(&self, is_exact: bool, boxes: &Slice) -> Conversion {
        if self.all(is_exact) {
            return Conversion {
                origin: LocalOrigin::default(),
                is_exact: true,
            };
        }
        let ranks = self.communicator();
        let sample = common_sample(ranks, boxes.rows().map(corners));
        let origin = LocalOrigin::for_boxes(sample.iter().copied(), self.cli.engine.cell());
        if ranks.rank() == 0
            && !self.cli.engine.quiet
            && let Some([step, side]) = origin.coarse_step(sample)
        {
            let [step, side] = [step, side].map(|length| length as f32);
            eprintln!(
                "broadphase-mpi: warning: coordinates are rounded outward by up to {step:?}, and the median box is \
                 {side:?} long; boxes, rays and queries that miss each other by less may be found"
            );
        }
        Conversion {
            origin,
            is_exact: false,
        }
    }

    fn begin(&mut self, input: &mut Input, descriptor: BroadPhaseDescriptor<'static>) -> Result<Ranks<C>, RankError> {
        let descriptor = RanksDescriptor {
            broad_phase: BroadPhaseDescriptor {
                dimensions: input.dimensions,
                scheme: self.cli.engine.scheme(),
                ..descriptor
            },
            device: self.cli.engine.device(),
            ..RanksDescriptor::default()
        };
        let ranks = self
            .ranks
            .take()
            .expect("they are taken once, after all that needs them");
        let mut ranks = Ranks::new(ranks, &descriptor)?;
        let balance = ranks.balance(&mut input.owned)?;
        self.report.add("balance", &ranks.stages());
        if ranks.communicator().rank() == 0 && !self.cli.engine.quiet {
            let engine = ranks.adapter().map_or("CPU", |info| &info.name);
            eprintln!(
                "{} ranks, rank 0 on {engine}; {} rows, {:.3} of the mean on the fullest rank",
                ranks.communicator().size(),
                input.rows,
                balance.boxes
            );
        }
        Ok(ranks)
    }

    fn step(&mut self, ranks: &mut Ranks<C>, input: &Input) -> Result<Vec<[u64; 2]>, RankError> {
        let found = ranks.step(&input.owned)?;
        self.report.add("step", &ranks.stages());
        Ok(found.pairs)
    }

    fn end(&self, ranks: &Ranks<C>, what: &str, rows: u64) {
        if !self.cli.engine.quiet {
            self.report.print(ranks.communicator());
            if ranks.communicator().rank() == 0 {
                eprintln!("{rows} {what}");
            }
        }
    }

    fn pairs(&mut self, args: &PairsArgs) -> Result<(), RankError> {
        let output = Output::open(self.communicator(), &args.output, &[&args.boxes])?;
        let slice = self.slice(&args.boxes, &[4, 6], box_fault)?;
        let conversion = self.conversion(slice.is_exact(slice.columns), &slice);
        let mut input = conversion.boxes(slice);
        let mut ranks = self.begin(
            &mut input,
            BroadPhaseDescriptor {
                margin: conversion.length(args.margin),
                ..Default::default()
            },
        )?;
        let pairs = self.step(&mut ranks, &input)?;
        let pairs = in_order(ranks.communicator(), pairs, input.rows);
        let rows = output.write(ranks.communicator(), "<u8", 2, pairs.as_flattened())?;
        self.end(&ranks, "pairs", rows);
        Ok(())
    }

    fn rays(&mut self, args: &RaysArgs) -> Result<(), RankError> {
        let output = Output::open(self.communicator(), &args.output, &[&args.boxes, &args.rays])?;
        let boxes = self.slice(&args.boxes, &[4, 6], box_fault)?;
        let axes = boxes.columns / 2;
        let slice = self.slice(&args.rays, &[2 * axes + 1], ray_fault)?;
        let is_exact = boxes.is_exact(boxes.columns) && slice.is_exact(2 * axes);
        let conversion = self.conversion(is_exact, &boxes);
        let input = conversion.boxes(boxes);
        let rays = slice.rows().map(|row| {
            let (origin, direction) = (vector(&row[..axes]), vector(&row[axes..2 * axes]));
            conversion.origin.swept_ray(origin, direction, row[2 * axes])
        });
        if conversion.is_exact {
            let rays: Vec<Ray> = rays.map(|swept| swept.ray).collect();
            self.cast(args.mode, output, input, slice.first, &rays)
        } else {
            let rays: Vec<SweptRay> = rays.collect();
            self.cast(args.mode, output, input, slice.first, &rays)
        }
    }

    fn cast<R: Cast>(
        &mut self,
        mode: Mode,
        output: Output,
        mut input: Input,
        first: u64,
        rays: &[R],
    ) -> Result<(), RankError> {
        let mut ranks = self.begin(&mut input, no_pairs())?;
        self.step(&mut ranks, &input)?;
        let ray = |at: usize| first + at as u64;
        let rows = match mode {
            Mode::Closest => {
                let hits = ranks.closest_hits(rays)?;
                let row = |(at, hit): (usize, &Option<Hit>)| {
                    let [object, t] = hit.map_or([-1.0, f64::INFINITY], |hit| [hit.id as f64, hit.t.into()]);
                    [ray(at) as f64, object, t]
                };
                let rows: Vec<_> = hits.iter().enumerate().flat_map(row).collect();
                output.write(ranks.communicator(), "<f8", 3, &rows)?
            }
            Mode::Any => {
                let hits = ranks.any_hits(rays)?;
                let rows: Vec<_> = hits
                    .iter()
                    .enumerate()
                    .flat_map(|(at, &hit)| [ray(at), hit.into()])
                    .collect();
                output.write(ranks.communicator(), "<u8", 2, &rows)?
            }
            Mode::All => {
                let hits = ranks.all_hits(rays)?;
                let rows: Vec<_> = each_row(&hits)
                    .flat_map(|(at, hit)| [ray(at) as f64, hit.id as f64, hit.t.into()])
                    .collect();
                output.write(ranks.communicator(), "<f8", 3, &rows)?
            }
        };
        self.report.add("rays", &ranks.stages());
        self.end(&ranks, "rows", rows);
        Ok(())
    }

    fn query(&mut self, args: &QueryArgs) -> Result<(), RankError> {
        let output = Output::open(self.communicator(), &args.output, &[&args.boxes, &args.queries])?;
        let boxes = self.slice(&args.boxes, &[4, 6], box_fault)?;
        let slice = self.slice(&args.queries, &[boxes.columns], box_fault)?;
        self.check_radius(args.radius.unwrap_or(0.0))?;
        let is_exact = boxes.is_exact(boxes.columns) && slice.is_exact(slice.columns);
        let conversion = self.conversion(is_exact, &boxes);
        let mut input = conversion.boxes(boxes);
        let unlimited = if args.nearest.is_some() { f32::MAX } else { 0.0 };
        let radius = args.radius.map_or(unlimited, |radius| conversion.distance(radius));
        let queries: Vec<_> = slice
            .rows()
            .map(|row| Query {
                radius,
                ..Query::overlaps(conversion.aabb(row))
            })
            .collect();
        let mut ranks = self.begin(&mut input, no_pairs())?;
        self.step(&mut ranks, &input)?;
        let query = |at: usize| slice.first + at as u64;
        let rows = if let Some(count) = args.nearest {
            let near = ranks.nearest(&queries, count)?;
            let row = |(at, near): (usize, &gpu_broad_phase_mpi::Near)| {
                [
                    query(at) as f64,
                    near.id as f64,
                    f64::from(near.squared_distance).sqrt(),
                ]
            };
            let rows: Vec<_> = each_row(&near).flat_map(row).collect();
            output.write(ranks.communicator(), "<f8", 3, &rows)?
        } else {
            let found = ranks.query(&queries)?;
            let rows: Vec<_> = each_row(&found).flat_map(|(at, &id)| [query(at), id]).collect();
            output.write(ranks.communicator(), "<u8", 2, &rows)?
        };
        self.report.add("query", &ranks.stages());
        self.end(&ranks, "rows", rows);
        Ok(())
    }

    fn neighbors(&mut self, args: &NeighborsArgs) -> Result<(), RankError> {
        let output = Output::open(self.communicator(), &args.output, &[&args.points])?;
        self.check_radius(args.radius)?;
        self.check_periods(args)?;
        let slice = self.slice(&args.points, &[2, 3], point_fault)?;
        let axes = slice.columns;
        let mut periods = [0.0; 3];
        let given = match *args.period {
            [] => Ok(()),
            [all] => {
                periods[..axes].fill(all);
                Ok(())
            }
            ref each if each.len() == axes => {
                periods[..axes].copy_from_slice(each);
                Ok(())
            }
            ref each => Err(format!("--period has {} numbers, the points are {axes}D", each.len())),
        };
        agreed(self.communicator(), given)?;
        let (ranks, rows) = if self.all(slice.is_exact(axes)) {
            let single = |row: &[f64]| Aabb::point(vector(row).map(|coordinate| coordinate as f32));
            let mut input = input(&slice, axes, slice.rows().map(single).collect());
            let mut ranks = self.begin(&mut input, within(periods))?;
            let rows = self.candidates(&mut ranks, &input, args.radius as f32, !args.full)?;
            let rows = in_order(ranks.communicator(), rows, input.rows);
            (ranks, rows)
        } else {
            let space = Space::choose(
                self.communicator(),
                &slice,
                periods,
                args.radius,
                self.cli.engine.cell(),
            );
            let mut input = input(&slice, axes, slice.rows().map(|row| space.aabb(row)).collect());
            let mut ranks = self.begin(&mut input, within(periods))?;
            let mut rows = self.candidates(&mut ranks, &input, space.candidate_radius(), !args.full)?;
            self.candidates_of_far_points(&mut ranks, &slice, &space, !args.full, &mut rows)?;
            let rows = near_in_order(ranks.communicator(), &rows, &slice, &space);
            (ranks, rows)
        };
        let rows = output.write(ranks.communicator(), "<u8", 2, rows.as_flattened())?;
        self.end(&ranks, "pairs", rows);
        Ok(())
    }

    fn check_radius(&self, radius: f64) -> Result<(), RankError> {
        let checked = if radius >= 0.0 {
            Ok(())
        } else {
            Err(format!("--radius is {radius}"))
        };
        agreed(self.communicator(), checked)
    }

    /// Rows have no shifts, so a pair must have one image within the radius at most.
    fn check_periods(&self, args: &NeighborsArgs) -> Result<(), RankError> {
        let radius = args.radius;
        // Periods that are 0 in `f32` are none.
        let is_short = |period: f64| period as f32 > 0.0 && 2.0 * radius > period;
        let checked = match args.period.iter().find(|&&period| is_short(period)) {
            None => Ok(()),
            Some(period) => Err(format!(
                "--radius {radius} is above half of --period {period}, and only nearest images would be listed; \
                 broadphase neighbors and Python's neighbors list all images"
            )),
        };
        agreed(self.communicator(), checked)
    }

    fn candidates(
        &mut self,
        ranks: &mut Ranks<C>,
        input: &Input,
        radius: f32,
        half: bool,
    ) -> Result<Vec<[u64; 2]>, RankError> {
        let found = ranks.neighbors(&input.owned, radius, half)?;
        self.report.add("neighbors", &ranks.stages());
        let ids = &input.owned.moving.ids;
        Ok(each_row(&found).map(|(at, &id)| [ids[at], id]).collect())
    }

    fn candidates_of_far_points(
        &mut self,
        ranks: &mut Ranks<C>,
        slice: &Slice,
        space: &Space,
        half: bool,
        rows: &mut Vec<[u64; 2]>,
    ) -> Result<(), RankError> {
        let far = (slice.first..).zip(slice.rows()).filter(|(_, row)| space.is_far(row));
        let (ids, queries): (Vec<u64>, Vec<Query>) = far.map(|(id, row)| (id, space.query(row))).unzip();
        let mut count = [ids.len() as u64];
        ranks.communicator().sum(&mut count);
        if count == [0] {
            return Ok(());
        }
        let found = ranks.query(&queries)?;
        self.report.add("far points", &ranks.stages());
        for (at, &other) in each_row(&found).filter(|&(at, &other)| ids[at] != other) {
            let id = ids[at];
            rows.push([id.min(other), id.max(other)]);
            if !half {
                rows.push([id.max(other), id.min(other)]);
            }
        }
        Ok(())
    }
}

struct Conversion {
    origin: LocalOrigin,
    /// True if `f32` holds all coordinates and directions. Lengths are then rounded to nearest.
    is_exact: bool,
}

impl Conversion {
    fn aabb(&self, row: &[f64]) -> Aabb {
        let [min, max] = corners(row);
        self.origin.aabb(min, max)
    }

    fn boxes(&self, slice: Slice) -> Input {
        let boxes = slice.rows().map(|row| self.aabb(row)).collect();
        input(&slice, slice.columns / 2, boxes)
    }

    fn length(&self, length: f64) -> f32 {
        if self.is_exact { length as f32 } else { up(length) }
    }

    /// Devices measure distances within 4 ulps.
    fn distance(&self, distance: f64) -> f32 {
        if self.is_exact {
            distance as f32
        } else {
            up(distance * (1.0 + 4.0 * f64::from(f32::EPSILON)))
        }
    }
}

fn within(periods: [f64; 3]) -> BroadPhaseDescriptor<'static> {
    BroadPhaseDescriptor {
        periods: periods.map(|period| period as f32),
        ..no_pairs()
    }
}

fn no_pairs() -> BroadPhaseDescriptor<'static> {
    BroadPhaseDescriptor {
        pairs: false,
        ..BroadPhaseDescriptor::default()
    }
}

/// The id of a box is its row number.
fn input(slice: &Slice, axes: usize, boxes: Vec<Aabb>) -> Input {
    let first = slice.first;
    let moving = Objects {
        ids: (first..first + boxes.len() as u64).collect(),
        boxes,
        ..Objects::default()
    };
    Input {
        owned: Owned {
            moving,
            ..Owned::default()
        },
        rows: slice.rows,
        dimensions: if axes == 2 { Dimensions::Two } else { Dimensions::Three },
    }
}

fn each_row<T: Copy>(lists: &Rows<T>) -> impl Iterator<Item = (usize, &T)> {
    let count = lists.offsets.len() - 1;
    (0..count).flat_map(|list| lists.of(list).iter().map(move |row| (list, row)))
}
