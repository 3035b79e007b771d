use std::collections::BTreeMap;

use bytemuck::{Pod, Zeroable};
use gpu_broad_phase::{Aabb, Dimensions, NONE, Queries, Query, QueryInput, QueryMode, Scene, SelfQuery, Source};

use crate::agreement::{RankError, agree};
use crate::asking::{Routes, Rows, farther};
use crate::communicator::Communicator;
use crate::local::{Ghosts, Side, bounds_of};
use crate::owned::Owned;
use crate::partition::ordered;
use crate::ranks::Ranks;

/// A box near a query.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Near {
    /// Id of the box.
    pub id: u64,
    /// Squared distance, as in [`NearestObject`](gpu_broad_phase::NearestObject).
    pub squared_distance: f32,
    /// 1 for a moving box, 0 for a static box. Static boxes come first at equal distances.
    pub is_moving: u32,
}

impl<C: Communicator> Ranks<C> {
    /// Finds the boxes of the last step that match each query, on all ranks. Lists ascend by id. Collective.
    ///
    /// # Errors
    /// Before the first step, if ranks make different calls, or if a device fails.
    pub fn query(&mut self, queries: &[Query]) -> Result<Rows<u64>, RankError> {
        self.clock.start(&self.ranks);
        self.agree_to_ask("query", 0, Ok(()))?;
        let routes = self.all_bounds(&self.bounds).of_queries(queries);
        self.clock.end(&self.ranks, "route");
        let found = self.ask(queries, routes, |ranks, queries| {
            let found = ranks.ask_here(queries, QueryMode::All)?;
            let list = |query: usize| {
                let [first, end] = [query, query + 1].map(|at| found.query_offsets[at] as usize);
                let held = found.query_objects[first..end]
                    .iter()
                    .filter(|&&object| ranks.local.is_held(object));
                held.map(|&object| ranks.local.id(object)).collect()
            };
            Ok((0..queries.len()).map(list).collect())
        })?;
        Ok(Rows::from_lists(found.into_iter().map(|mut ids| {
            ids.sort_unstable();
            ids
        })))
    }

    /// Finds the `count` nearest boxes of the last step within each query's radius, on all ranks, nearest first. Only
    /// ranks that may have a nearer box are searched. Collective.
    ///
    /// Distances of 2^64 or more count as equal, because their squares are infinite. So do distances below 2^-63, whose
    /// squares are 0.
    ///
    /// # Errors
    /// Before the first step, if `count` is 0, above 1,024 or differs between ranks, or if a device fails.
    pub fn nearest(&mut self, queries: &[Query], count: u32) -> Result<Rows<Near>, RankError> {
        self.clock.start(&self.ranks);
        let wanted = match count {
            1..=1024 => Ok(()),
            _ => Err(format!("{count} nearest boxes: 1 to 1,024 can be asked for")),
        };
        self.agree_to_ask("nearest", count.into(), wanted)?;
        let all = self.all_bounds(&self.bounds);
        let owner = |query: &Query| self.partition.owner(query.bounds.min.map(ordered)) as u32;
        let mut first: Routes = Vec::new();
        let mut homes: Vec<_> = (0..)
            .zip(queries)
            .map(|(question, query)| (owner(query), question))
            .collect();
        homes.sort_unstable();
        for &(rank, question) in &homes {
            match first.last_mut() {
                Some((last, questions)) if *last == rank as usize => questions.push(question),
                _ => first.push((rank as usize, vec![question])),
            }
        }
        self.clock.end(&self.ranks, "route");
        let near = |ranks: &mut Self, queries: &[Query]| {
            let found = ranks.ask_here(queries, QueryMode::Nearest(count))?;
            let lists = found.query_nearest.chunks(count as usize).map(|list| {
                let there = list.iter().filter(|neighbor| neighbor.object != NONE);
                let near = |neighbor: &gpu_broad_phase::NearestObject| Near {
                    id: ranks.local.id(neighbor.object),
                    squared_distance: neighbor.squared_distance,
                    is_moving: ranks.local.is_moving(neighbor.object).into(),
                };
                there.map(near).collect()
            });
            Ok(lists.collect())
        };
        let mut found: Vec<Vec<Near>> = self.ask(queries, Ok(first), near)?;
        // The farthest of `count` boxes limits the distance on other ranks.
        let within = |(query, found): (&Query, &Vec<Near>)| {
            let last = found.get(count as usize - 1);
            // The radius stays above 2^-63: squares of smaller distances are 0.
            let reach = last.map_or(f32::INFINITY, |near| farther(near.squared_distance.sqrt()).max(2e-19));
            Query {
                radius: query.radius.min(reach),
                ..*query
            }
        };
        let narrowed: Vec<_> = queries.iter().zip(&found).map(within).collect();
        let routes = all.of_queries(&narrowed).map(|mut routes| {
            for (rank, questions) in &mut routes {
                questions.retain(|&question| homes.binary_search(&(*rank as u32, question)).is_err());
            }
            routes.retain(|(_, questions)| !questions.is_empty());
            routes
        });
        self.clock.end(&self.ranks, "route");
        let more = self.ask(queries, routes, near)?;
        for (found, more) in found.iter_mut().zip(more) {
            found.extend(more);
            // A ghost is found on several ranks, and devices may differ. Distances are not negative, so their bits sort
            // like the values.
            found.sort_unstable_by_key(|near| (near.is_moving, near.id, near.squared_distance.to_bits()));
            found.dedup_by_key(|near| (near.is_moving, near.id));
            found.sort_unstable_by_key(|near| (near.squared_distance.to_bits(), near.is_moving, near.id));
            found.truncate(count as usize);
        }
        Ok(Rows::from_lists(found))
    }

    fn ask_here(&mut self, queries: &[Query], mode: QueryMode) -> Result<gpu_broad_phase::StepResult, String> {
        if queries.is_empty() {
            return Ok(gpu_broad_phase::StepResult {
                query_offsets: vec![0],
                ..Default::default()
            });
        }
        self.engine.ask(&QueryInput {
            queries: Queries::General(Source::Host(queries)),
            query_mode: mode,
            ..QueryInput::default()
        })
    }

    /// Finds the boxes within `radius` of each box of this rank, on all ranks. Lists ascend by id. Those of static
    /// boxes come first, in the order of `owned`. Collective.
    ///
    /// On axes with a period, the distance is that to the nearest image, for any radius.
    ///
    /// No step is needed: boxes near another rank's boxes are sent there first. With `half`, each pair is listed once,
    /// by its static box, else by the smaller id.
    ///
    /// # Errors
    /// If `owned` is inconsistent, if settings differ between ranks, or if a device fails.
    pub fn neighbors(&mut self, owned: &Owned, radius: f32, half: bool) -> Result<Rows<u64>, RankError> {
        self.clock.start(&self.ranks);
        let asked = u64::from(radius.to_bits()) << 1 | u64::from(half);
        let checked = self.check(owned);
        let [moving, statics] = self.agree_on("neighbors", asked, checked)?;
        self.has_stepped = false;
        let parts = [&statics, &moving];
        self.bounds = bounds_of(parts.into_iter().flatten());
        let points = parts.map(|compared| compared.iter().map(point).collect::<Vec<_>>());
        let corners = bounds_of(points.iter().flatten().flatten());
        let all = self.all_bounds(&corners);
        let sent = points.map(|points| {
            let mut asked = Vec::new();
            let mut of = Vec::new();
            for (place, point) in (0..).zip(points) {
                for image in point.iter().flat_map(|point| self.images(point.min, radius)) {
                    asked.push(image);
                    of.push(place);
                }
            }
            let routes = all.of_queries(&asked)?.into_iter().map(|(rank, images)| {
                let mut places: Vec<u32> = images.iter().map(|&image| of[image as usize]).collect();
                places.dedup();
                (rank, places)
            });
            Ok(routes.collect::<Routes>())
        });
        let sent = agree(
            &self.ranks,
            sent.into_iter().collect::<Result<Vec<_>, String>>(),
            &mut [],
        )?;
        let mut members = BTreeMap::<_, [Vec<u32>; 2]>::new();
        for (side, routes) in sent.into_iter().enumerate() {
            for (rank, places) in routes.into_iter().filter(|(rank, _)| *rank != self.ranks.rank()) {
                members.entry(rank).or_default()[side] = places;
            }
        }
        let message = |(rank, [statics, moving]): (usize, [Vec<u32>; 2])| {
            let mut message = Vec::new();
            owned.statics.put(&statics, 0, &mut message);
            owned.moving.put(&moving, 0, &mut message);
            (rank, message)
        };
        self.clock.end(&self.ranks, "route");
        let came = self.ranks.exchange(members.into_iter().map(message).collect());
        self.clock.end(&self.ranks, "ghosts");
        let found = self.neighbors_here(owned, &came, SelfQuery::Within { radius, half });
        self.clock.end(&self.ranks, "step");
        let found = agree(&self.ranks, found, &mut [])?;
        self.has_stepped = true;
        self.clock.end(&self.ranks, "agree");
        Ok(found)
    }

    fn images(&self, point: [f32; 3], radius: f32) -> Vec<Query> {
        let periods = self.descriptor.broad_phase.periods;
        let mut images = vec![point];
        let mut reach = radius;
        for (axis, period) in periods.into_iter().enumerate().filter(|&(_, period)| period > 0.0) {
            // Images have rounded coordinates, so spheres grow.
            reach = farther(reach + period * 1e-6);
            let at = point[axis];
            let shifts = [(at - reach < 0.0, period), (at + reach >= period, -period)];
            let moved = |shift: f32| {
                let image = move |image: &[f32; 3]| {
                    let mut image = *image;
                    image[axis] += shift;
                    image
                };
                images.iter().map(image).collect::<Vec<_>>()
            };
            let more: Vec<_> = shifts
                .into_iter()
                .filter(|(is_near, _)| *is_near)
                .map(|(_, shift)| moved(shift))
                .collect();
            images.extend(more.concat());
        }
        images.into_iter().map(|image| Query::sphere(image, reach)).collect()
    }

    fn neighbors_here(
        &mut self,
        owned: &Owned,
        came: &[(usize, Vec<u8>)],
        neighbors: SelfQuery,
    ) -> Result<Rows<u64>, String> {
        let [mut statics, mut moving] = [const { Ghosts::EMPTY }; 2];
        for (rank, message) in came {
            let mut message = &message[..];
            statics.take(*rank, self.has_worlds(), &mut message);
            moving.take(*rank, self.has_worlds(), &mut message);
        }
        // The next step must send its own static ghosts.
        self.forget_statics();
        self.local.statics = Side::join(&owned.statics, &statics)?;
        self.local.moving = Side::join(&owned.moving, &moving)?;
        let local = &self.local;
        let scene = Scene {
            query: QueryInput {
                queries: Queries::Objects(neighbors),
                ..QueryInput::default()
            },
            ..local.scene()
        };
        let found = self.engine.step(false, &scene)?;
        let mut lists = vec![Vec::new(); owned.statics.len() + owned.moving.len()];
        let firsts = [
            (&local.statics, 0, 0),
            (&local.moving, local.statics.place.len(), owned.statics.len()),
        ];
        for (side, first_object, first_list) in firsts {
            for (at, &place) in side.place.iter().enumerate().filter(|&(_, &place)| place != NONE) {
                let object = first_object + at;
                let [first, end] = [object, object + 1].map(|at| found.query_offsets[at] as usize);
                let list = &mut lists[first_list + place as usize];
                list.extend(found.query_objects[first..end].iter().map(|&object| local.id(object)));
                list.sort_unstable();
            }
        }
        Ok(Rows::from_lists(lists))
    }
}

/// Lower corner, from which neighbours are measured. `None` for infinite and ignored boxes.
fn point(object: &Aabb) -> Option<Aabb> {
    let is_finite = object
        .min
        .iter()
        .chain(&object.max)
        .all(|coordinate| coordinate.is_finite());
    (!object.is_ignored(Dimensions::Three) && is_finite).then(|| Aabb::point(object.min))
}
