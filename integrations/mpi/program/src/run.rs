use std::path::Path;

use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Dimensions, Query, Ray};
use gpu_broad_phase_mpi::{Communicator, Hit, Objects, Owned, RankError, Ranks, RanksDescriptor, Rows, agreed};

use crate::args::{Cli, Command, Mode, NeighborsArgs, PairsArgs, QueryArgs, RaysArgs};
use crate::read::{Check, Slice, box_fault, down, point_fault, ray_fault, rows_of, slice, up, vector};
use crate::report::Report;
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

    fn boxes(&self, path: &Path) -> Result<Input, RankError> {
        let slice = self.slice(path, &[4, 6], box_fault)?;
        let axes = slice.axes(2, 0);
        let boxes = slice
            .rows()
            .map(|row| Aabb::new(vector(&row[..axes], down), vector(&row[axes..], up)));
        Ok(input(&slice, axes, boxes.collect()))
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
        let mut input = self.boxes(&args.boxes)?;
        let mut ranks = self.begin(
            &mut input,
            BroadPhaseDescriptor {
                margin: args.margin,
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
        let mut input = self.boxes(&args.boxes)?;
        let axes = if input.dimensions == Dimensions::Two { 2 } else { 3 };
        let slice = self.slice(&args.rays, &[2 * axes + 1], ray_fault)?;
        let near = |value: f64| value as f32;
        let rays: Vec<_> = slice
            .rows()
            .map(|row| {
                Ray::new(
                    vector(&row[..axes], near),
                    vector(&row[axes..2 * axes], near),
                    near(row[2 * axes]),
                )
            })
            .collect();
        let mut ranks = self.begin(&mut input, no_pairs())?;
        self.step(&mut ranks, &input)?;
        let ray = |at: usize| slice.first + at as u64;
        let rows = match args.mode {
            Mode::Closest => {
                let hits = ranks.closest_hits(&rays)?;
                let row = |(at, hit): (usize, &Option<Hit>)| {
                    let [object, t] = hit.map_or([-1.0, f64::INFINITY], |hit| [hit.id as f64, hit.t.into()]);
                    [ray(at) as f64, object, t]
                };
                let rows: Vec<_> = hits.iter().enumerate().flat_map(row).collect();
                output.write(ranks.communicator(), "<f8", 3, &rows)?
            }
            Mode::Any => {
                let hits = ranks.any_hits(&rays)?;
                let rows: Vec<_> = hits
                    .iter()
                    .enumerate()
                    .flat_map(|(at, &hit)| [ray(at), hit.into()])
                    .collect();
                output.write(ranks.communicator(), "<u8", 2, &rows)?
            }
            Mode::All => {
                let hits = ranks.all_hits(&rays)?;
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
        let mut input = self.boxes(&args.boxes)?;
        let axes = if input.dimensions == Dimensions::Two { 2 } else { 3 };
        let slice = self.slice(&args.queries, &[2 * axes], box_fault)?;
        // Without `--radius`, `--nearest` has no distance limit.
        let radius = args
            .radius
            .unwrap_or(if args.nearest.is_some() { f32::MAX } else { 0.0 });
        let checked = if radius >= 0.0 {
            Ok(())
        } else {
            Err(format!("--radius is {radius}"))
        };
        agreed(self.communicator(), checked)?;
        let queries: Vec<_> = slice
            .rows()
            .map(|row| Query {
                radius,
                ..Query::overlaps(Aabb::new(vector(&row[..axes], down), vector(&row[axes..], up)))
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
        let slice = self.slice(&args.points, &[2, 3], point_fault)?;
        let axes = slice.columns;
        let near = |value: f64| value as f32;
        let points = slice.rows().map(|row| Aabb::point(vector(row, near)));
        let mut input = input(&slice, axes, points.collect());
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
        let mut ranks = self.begin(&mut input, BroadPhaseDescriptor { periods, ..no_pairs() })?;
        let found = ranks.neighbors(&input.owned, args.radius, !args.full)?;
        self.report.add("neighbors", &ranks.stages());
        let ids = &input.owned.moving.ids;
        let rows = each_row(&found).map(|(at, &id)| [ids[at], id]).collect();
        let rows = in_order(ranks.communicator(), rows, input.rows);
        let rows = output.write(ranks.communicator(), "<u8", 2, rows.as_flattened())?;
        self.end(&ranks, "rows", rows);
        Ok(())
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

/// Iterates over all rows, each with the index of its list.
fn each_row<T: Copy>(lists: &Rows<T>) -> impl Iterator<Item = (usize, &T)> {
    let count = lists.offsets.len() - 1;
    (0..count).flat_map(|list| lists.of(list).iter().map(move |row| (list, row)))
}

/// Sorts rows across ranks. A rank gets the rows whose first number is in its share of `0..count`.
fn in_order<C: Communicator>(ranks: &C, rows: Vec<[u64; 2]>, count: u64) -> Vec<[u64; 2]> {
    let ends: Vec<_> = (0..ranks.size())
        .map(|rank| rows_of(count, rank, ranks.size()).end)
        .collect();
    let mut shares = vec![Vec::new(); ranks.size()];
    for row in rows {
        shares[ends.partition_point(|&end| end <= row[0])].push(row);
    }
    let given = shares.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty());
    let messages = given
        .map(|(to, rows)| (to, bytemuck::cast_slice(&rows).to_vec()))
        .collect();
    let mut rows: Vec<[u64; 2]> = Vec::new();
    for (_, message) in ranks.exchange(messages) {
        rows.extend(bytemuck::pod_collect_to_vec::<u8, [u64; 2]>(&message));
    }
    rows.sort_unstable();
    rows
}
