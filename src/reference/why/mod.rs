//! Why two objects are a pair or not, why a ray hits or not, why a query finds or not.

mod answer;
mod meet;
mod parted;
mod text;

pub use answer::{Fault, Meeting, Party, Placed, Question, Reason, Seat, Why};

pub use crate::reference::look::{Look, Spot};

use parted::Filters;

use crate::api::counters::{Status, word};
use crate::api::descriptor::{BroadPhaseDescriptor, Growth, RayMode};
use crate::api::error::ReferenceError;
use crate::api::input::{Queries, Rays};
use crate::api::queries::{Askers, Neighbors, Partners, Query, QueryMode};
use crate::api::scene::{QueryInput, Scene};
use crate::api::types::{Aabb, Pair, SweptRay};
use crate::layout::blocks::{Overrides, wide};
use crate::reference::brute_force;
use crate::reference::host::HostScene;
use crate::reference::rays::ray::load_ray;
use crate::reference::trace::{Trace, trace_host};
use meet::Walked;

/// Says why two objects are a pair or not, why a ray hits an object or not, or why a query finds it or not.
///
/// It compares the two by the definition. Then it runs the whole step on the CPU and looks where the passes put them,
/// and which walk finds them. So it takes a few times as long as [`step_scene`](crate::cpu::step_scene).
///
/// ```
/// use gpu_broad_phase::reference::why::{Question, Reason, why};
/// use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Scene};
///
/// let objects = [
///     Aabb::new([0.0; 3], [1.0; 3]),
///     Aabb::new([3.0, 0.0, 0.0], [4.0, 1.0, 1.0]),
/// ];
/// let scene = Scene { objects: objects[..].into(), ..Scene::default() };
/// let why = why(&BroadPhaseDescriptor::default(), &scene, Question::Pair(0, 1))?;
/// assert!(!why.meets);
/// assert!(matches!(why.reasons[..], [Reason::Apart { axis: 0, gap: 2.0, .. }]));
/// assert!(why.to_string().starts_with("Object 0 and object 1 are not a pair."));
/// # Ok::<(), gpu_broad_phase::ReferenceError>(())
/// ```
///
/// # Errors
///
/// As [`step_scene`](crate::cpu::step_scene), and [`ReferenceError::NoSuch`] where the scene has no such object, ray or
/// query.
pub fn why(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene<'_>,
    question: Question,
) -> Result<Why, ReferenceError> {
    let given = HostScene::of(scene)?;
    let count = given.object_count();
    let check = |what: &'static str, index: u32, count: usize| {
        let count = count as u64;
        match u64::from(index) < count {
            true => Ok(()),
            false => Err(ReferenceError::NoSuch { what, index, count }),
        }
    };
    let is_pair = matches!(question, Question::Pair(..));
    match question {
        Question::Pair(a, b) => {
            check("object", a, count)?;
            check("object", b, count)?;
        }
        Question::Ray { ray, object } => {
            check("ray", ray, given.rays.len())?;
            check("object", object, count)?;
        }
        Question::Query { query, object } => {
            match given.asked.askers() {
                Some(_) => check("object", query, count)?,
                None => check("query", query, given.queries.len())?,
            }
            check("object", object, count)?;
        }
    }
    // What the question is not about costs time and changes nothing.
    let asked = HostScene::of(&Scene {
        rays: match question {
            Question::Ray { .. } => scene.rays,
            _ => Rays::default(),
        },
        queries: match question {
            Question::Query { .. } => scene.queries,
            _ => Queries::None,
        },
        ..*scene
    })?;
    let descriptor = BroadPhaseDescriptor {
        pairs: descriptor.pairs && is_pair,
        ray_cells: false,
        ..*descriptor
    };
    let trace = trace_host(&descriptor, &asked)?;
    let (given, worlds) = given.all_objects();
    let asker = Asker {
        descriptor: &descriptor,
        scene: &asked,
        trace: &trace,
        given,
        worlds,
    };
    Ok(match question {
        Question::Pair(a, b) => asker.pair(question, a, b),
        Question::Ray { ray, object } => asker.ray(question, ray, object),
        Question::Query { query, object } => asker.query(question, query, object),
    })
}

/// A step that has run, and what it was given.
struct Asker<'a> {
    descriptor: &'a BroadPhaseDescriptor<'a>,
    scene: &'a HostScene<'a>,
    trace: &'a Trace,
    /// All objects as they were given, static ones first.
    given: Vec<Aabb>,
    worlds: Vec<u32>,
}

/// Some objects as the passes compare them: with the margin, moved into their periods, flattened in two dimensions.
struct Alone {
    objects: Vec<Aabb>,
    worlds: Vec<u32>,
    statics: usize,
}

impl Alone {
    fn scene(&self) -> HostScene<'_> {
        let (static_objects, objects) = self.objects.split_at(self.statics);
        let (static_worlds, worlds) = self.worlds.split_at(self.statics.min(self.worlds.len()));
        HostScene {
            objects,
            worlds,
            static_objects,
            static_worlds,
            ..HostScene::default()
        }
    }
}

impl<'a> Asker<'a> {
    fn axes(&self) -> usize {
        self.descriptor.dimensions.count() as usize
    }

    fn has_worlds(&self) -> bool {
        self.descriptor.worlds > 1
    }

    fn world(&self, object: u32) -> u32 {
        if self.has_worlds() {
            self.worlds[object as usize]
        } else {
            0
        }
    }

    /// The object as the passes compare it.
    fn object(&self, object: u32) -> &'a Aabb {
        &self.trace.objects[object as usize]
    }

    fn overrides(&self) -> Overrides {
        Overrides {
            filters: self.descriptor.filters,
            count_candidates: false,
        }
    }

    /// For the definition: what objects have behind them is seen to.
    fn plain(&self) -> BroadPhaseDescriptor<'a> {
        BroadPhaseDescriptor {
            margin: 0.0,
            ..*self.descriptor
        }
    }

    fn alone(&self, members: impl IntoIterator<Item = u32>) -> Alone {
        let members: Vec<_> = members.into_iter().collect();
        let of = |members: &[u32]| members.iter().map(|&member| *self.object(member)).collect();
        Alone {
            objects: of(&members),
            worlds: match self.has_worlds() {
                true => members.iter().map(|&member| self.world(member)).collect(),
                false => Vec::new(),
            },
            statics: members.iter().filter(|&&member| self.is_of_statics(member)).count(),
        }
    }

    /// Whether the object is one of the scene's static part, whatever its flags.
    fn is_of_statics(&self, object: u32) -> bool {
        object < self.trace.params.static_count
    }

    /// What keeps objects from taking part in anything.
    fn absent(&self, object: u32) -> Vec<Reason> {
        let worlds = self.descriptor.worlds;
        let (given, world) = (&self.given[object as usize], self.world(object));
        parted::object(Party::Object(object), given, world, worlds, self.axes())
    }

    fn filters_of(&self, object: u32) -> Filters {
        Filters::of(Party::Object(object), self.object(object), self.world(object))
    }

    /// Two objects that ask for or pair with each other: all but how far they are apart.
    fn objects_parted(&self, a: u32, b: u32) -> Vec<Reason> {
        let filters = self.descriptor.filters;
        let mut reasons = parted::filters(&self.filters_of(a), &self.filters_of(b), filters);
        let are_static = self.is_of_statics(a) && self.is_of_statics(b);
        if are_static && !reasons.contains(&Reason::BothStatic) {
            reasons.push(Reason::BothStatic);
        }
        reasons
    }

    /// Whether the scene's list names the two.
    fn is_listed(&self, a: u32, b: u32) -> bool {
        let mut listed = self.scene.excluded_pairs.iter();
        listed.any(|pair| Pair::new(pair.a, pair.b) == Pair::new(a, b))
    }

    fn why(&self, question: Question, first: Party, second: Party) -> Why {
        let parties = [first, second];
        let mut placed = Vec::new();
        for party in parties {
            if let Party::Object(object) = party {
                placed.push(meet::placed(self.trace, object));
            }
        }
        placed.dedup();
        Why {
            question,
            first,
            second,
            meets: false,
            is_found: false,
            reasons: Vec::new(),
            overlap: None,
            distance: None,
            is_on_border: false,
            t: None,
            starts_inside: false,
            rank: None,
            dimensions: self.descriptor.dimensions,
            margin: self.descriptor.margin,
            placed,
            meeting: None,
            place: None,
            is_fault: false,
        }
    }

    /// The capacity that a list has for good.
    fn capacity(&self, capacity: Option<u32>) -> Option<u32> {
        capacity.filter(|_| self.descriptor.growth == Growth::Fixed)
    }

    fn no_room(&self, what: &'static str, capacity: Option<u32>, place: Option<u64>) -> Option<Reason> {
        let (capacity, place) = (self.capacity(capacity)?, place?);
        (place >= u64::from(capacity)).then_some(Reason::NoRoom { what, place, capacity })
    }

    /// The entries of the uniform scheme that had no room, if some had none.
    fn no_entries(&self) -> Option<Reason> {
        let counters = &self.trace.counters;
        if counters[word::STATUS] & Status::ENTRIES.bits() == 0 {
            return None;
        }
        let statics = self.trace.statics.as_deref();
        let of_statics = statics.map(|statics| (word::STATIC_ENTRIES_NEEDED, statics.params.entry_capacity));
        [
            Some((word::ENTRIES_NEEDED, self.trace.params.entry_capacity)),
            of_statics,
        ]
        .into_iter()
        .flatten()
        .map(|(word, capacity)| (wide(counters, word), capacity))
        .find(|&(needed, capacity)| needed > u64::from(capacity))
        .map(|(needed, capacity)| Reason::NoEntries { needed, capacity })
    }

    /// Puts what the walks say beside what the definition says.
    fn conclude(&self, mut why: Why, walked: Walked) -> Why {
        why.meeting = walked.meeting;
        why.place = walked.place;
        let no_entries = self.no_entries();
        let is_short = no_entries.is_some();
        if why.meets && !why.is_found && (why.reasons.is_empty() || !walked.is_accepted) {
            why.reasons.extend(no_entries);
        }
        if is_short && why.is_found && why.meets {
            // Others that come before it are missing.
            why.reasons.clear();
        }
        let agrees = walked.is_accepted == why.meets || (is_short && why.meets);
        let is_told = why.is_found == why.reasons.is_empty();
        why.is_fault = !agrees || !is_told;
        why
    }

    fn pair(&self, question: Question, a: u32, b: u32) -> Why {
        let mut why = self.why(question, Party::Object(a), Party::Object(b));
        if a == b {
            why.reasons.push(Reason::Same);
            return why;
        }
        let [low, high] = [a.min(b), a.max(b)];
        let is_listed = self.is_listed(a, b);
        why.reasons = [self.absent(a), self.absent(b)].concat();
        if why.reasons.is_empty() {
            let [first, second] = [a, b].map(|object| (Party::Object(object), self.object(object)));
            why.reasons = self.objects_parted(a, b);
            why.reasons.extend(is_listed.then_some(Reason::Listed));
            why.reasons.extend(parted::boxes(first, second));
            why.overlap = Some(parted::overlap(first.1, second.1));
        }
        let alone = self.alone([low, high]);
        why.meets = !is_listed && !brute_force::pairs_of(&self.plain(), &alone.scene()).is_empty();
        why.is_found = self.trace.pairs.contains(&Pair { a: low, b: high });
        let mut walked = meet::pair(self.trace, self.overrides(), low, high);
        if why.meets && !self.descriptor.pairs {
            why.reasons.push(Reason::NotAsked);
            walked.place = None;
        } else if why.meets {
            let capacity = self.descriptor.capacities.pairs;
            why.reasons.extend(self.no_room("pairs", capacity, walked.place));
        }
        self.conclude(why, walked)
    }

    fn ray(&self, question: Question, ray: u32, object: u32) -> Why {
        let (trace, worlds) = (self.trace, self.descriptor.worlds);
        let who = Party::Ray(ray);
        let mut why = self.why(question, who, Party::Object(object));
        let Some(given) = self.scene.rays.get(ray as usize).copied() else {
            return why;
        };
        let loaded = load_ray(&trace.params, &given);
        why.reasons = parted::ray(who, &given, worlds, self.axes());
        why.reasons.extend(self.absent(object));
        if why.reasons.is_empty() {
            let filters = Filters {
                who,
                layers: given.ray.layers,
                owner: 0,
                world: if self.has_worlds() { given.world } else { 0 },
            };
            why.reasons = parted::filters(&filters, &self.filters_of(object), self.descriptor.filters);
            why.reasons.extend(parted::missed(&loaded, &given, self.object(object)));
        }
        let hits = |members: Alone| {
            let rays = [given];
            let scene = HostScene {
                rays: rays[..].into(),
                ..members.scene()
            };
            brute_force::rays_of(&self.plain(), &scene).swap_remove(0)
        };
        why.meets = !hits(self.alone([object])).is_empty();
        let walked = meet::ray(trace, self.overrides(), &self.scene.rays, [ray, object], &given);
        why.t = walked.t;
        why.starts_inside = why.meets && self.starts_inside(&given, object);
        match self.descriptor.ray_mode {
            RayMode::Closest => {
                why.is_found = trace.ray_hits[ray as usize].object == object;
                if why.meets {
                    let all = 0..trace.params.all_objects();
                    let closest = brute_force::closest(&hits(self.alone(all)));
                    why.reasons
                        .extend((closest.object != object).then_some(Reason::NotClosest { closest }));
                }
            }
            RayMode::Any => {
                if why.meets {
                    why.reasons.push(Reason::OnlyWhether);
                }
            }
            RayMode::All => {
                let [from, to] = [0, 1].map(|next| trace.ray_offsets[ray as usize + next] as usize);
                let written = trace.ray_hits.len();
                let hits = &trace.ray_hits[from.min(written)..to.min(written)];
                why.is_found = hits.iter().any(|hit| hit.object == object);
                if why.meets {
                    let capacity = self.descriptor.capacities.hits;
                    why.reasons.extend(self.no_room("hits", capacity, walked.place));
                }
            }
        }
        let has_list = self.descriptor.ray_mode == RayMode::All;
        let mut why = self.conclude(why, walked);
        why.place = why.place.filter(|_| has_list);
        let is_any = self.descriptor.ray_mode == RayMode::Any;
        why.is_fault |= is_any && why.meets && self.no_entries().is_none() && trace.ray_any[ray as usize] == 0;
        why
    }

    /// Whether a ray's start, `t_min` aside, lies in a box.
    fn starts_inside(&self, given: &SweptRay, object: u32) -> bool {
        let mut at_start = *given;
        at_start.ray.direction = [0.0; 3];
        let loaded = load_ray(&self.trace.params, &at_start);
        parted::missed(&loaded, &at_start, self.object(object)).is_empty()
    }

    fn query(&self, question: Question, query: u32, object: u32) -> Why {
        let (trace, scene) = (self.trace, self.scene);
        let objects_ask = scene.asked.askers().is_some();
        let queries = &scene.queries;
        let who = if objects_ask {
            Party::Object(query)
        } else {
            Party::Query(query)
        };
        let mut why = self.why(question, who, Party::Object(object));
        if who == Party::Object(object) {
            why.reasons.push(Reason::Same);
            return why;
        }
        let walks = trace.reads().queries(queries, objects_ask);
        let walked = meet::query(trace, self.overrides(), &walks, [query, object], who);
        match scene.asked.askers() {
            Some(Askers::Neighbors(neighbors)) => self.neighbors(&mut why, neighbors, query, object),
            Some(Askers::Partners(partners)) => self.partners(&mut why, partners, query, object),
            None => self.boxes(&mut why, &queries[query as usize], object),
        }
        if why.is_on_border {
            why.meets = walked.is_accepted;
            if why.meets {
                why.reasons.retain(|reason| !matches!(reason, Reason::TooFar { .. }));
            }
        }
        match scene.asked.query_mode {
            QueryMode::Nearest(wanted) => {
                why.rank = walked.is_accepted.then_some(walked.rank);
                let rows = trace.query_nearest.chunks(wanted.max(1) as usize).nth(query as usize);
                why.is_found = rows.is_some_and(|rows| rows.iter().any(|row| row.object == object));
                if why.meets && walked.is_accepted && walked.rank >= wanted {
                    let rank = walked.rank;
                    why.reasons.push(Reason::Ranked { rank, wanted });
                }
            }
            QueryMode::All => {
                let [from, to] = [0, 1].map(|next| trace.query_offsets[query as usize + next] as usize);
                let written = trace.query_objects.len();
                let found = &trace.query_objects[from.min(written)..to.min(written)];
                why.is_found = found.contains(&object);
                if why.meets {
                    let capacity = self.descriptor.capacities.results;
                    why.reasons.extend(self.no_room("results", capacity, walked.place));
                }
            }
        }
        let has_list = scene.asked.query_mode == QueryMode::All;
        let mut why = self.conclude(why, walked);
        why.place = why.place.filter(|_| has_list);
        why
    }

    /// What the definition says of a scene with one object to find, and of one of its queries.
    fn defined(&self, descriptor: &BroadPhaseDescriptor<'_>, scene: &HostScene<'_>, query: usize) -> Defined {
        let found = brute_force::queries_of(descriptor, scene).swap_remove(query);
        let mut distance = found.surely.iter().chain(&found.perhaps).map(|&(_, distance)| distance);
        Defined {
            meets: !found.surely.is_empty(),
            is_on_border: !found.perhaps.is_empty(),
            distance: distance.next_back(),
        }
    }

    /// A query with a box, and with a radius or without.
    fn boxes(&self, why: &mut Why, query: &Query, object: u32) {
        let who = why.first;
        why.reasons = parted::query(who, query, self.descriptor.worlds, self.axes());
        why.reasons.extend(self.absent(object));
        let is_valid = why.reasons.is_empty();
        let mut bounds = query.bounds;
        bounds.min[self.axes()..].fill(0.0);
        bounds.max[self.axes()..].fill(0.0);
        let alone = self.alone([object]);
        let ask = |query: Query, descriptor: &BroadPhaseDescriptor<'_>| {
            let queries = [query];
            let scene = HostScene {
                queries: queries[..].into(),
                ..alone.scene()
            };
            self.defined(descriptor, &scene, 0)
        };
        let defined = ask(*query, &self.plain());
        (why.meets, why.is_on_border) = (defined.meets, defined.is_on_border);
        if !is_valid {
            return;
        }
        let filters = Filters::of(who, &bounds, if self.has_worlds() { query.world } else { 0 });
        why.reasons = parted::filters(&filters, &self.filters_of(object), self.descriptor.filters);
        let compared = self.object(object);
        why.overlap = Some(parted::overlap(&bounds, compared));
        if query.radius > 0.0 {
            let endless = Query {
                radius: f32::INFINITY,
                world: self.world(object),
                ..*query
            };
            let unfiltered = BroadPhaseDescriptor {
                filters: false,
                ..self.plain()
            };
            why.distance = ask(endless, &unfiltered).distance;
            let is_near = ask(
                Query {
                    world: self.world(object),
                    ..*query
                },
                &unfiltered,
            );
            if !is_near.meets {
                let (distance, radius) = (why.distance.unwrap_or(f64::INFINITY), query.radius);
                why.reasons.push(Reason::TooFar { distance, radius });
            }
        } else {
            why.reasons
                .extend(parted::boxes((who, &bounds), (Party::Object(object), compared)));
        }
    }

    fn partners(&self, why: &mut Why, partners: Partners, asker: u32, object: u32) {
        let is_listed = self.is_listed(asker, object);
        why.reasons = [self.absent(asker), self.absent(object)].concat();
        if why.reasons.is_empty() {
            let [first, second] = [asker, object].map(|object| (Party::Object(object), self.object(object)));
            why.reasons = self.objects_parted(asker, object);
            why.reasons.extend(is_listed.then_some(Reason::Listed));
            why.reasons.extend(parted::boxes(first, second));
            why.overlap = Some(parted::overlap(first.1, second.1));
        }
        if partners.half && object < asker {
            why.reasons.push(Reason::Once);
        }
        let alone = self.alone([asker.min(object), asker.max(object)]);
        let scene = HostScene {
            asked: QueryInput {
                queries: Queries::Partners(partners),
                ..QueryInput::default()
            },
            ..alone.scene()
        };
        let defined = self.defined(&self.plain(), &scene, usize::from(asker > object));
        (why.meets, why.is_on_border) = (defined.meets && !is_listed, defined.is_on_border);
    }

    fn neighbors(&self, why: &mut Why, neighbors: Neighbors, asker: u32, object: u32) {
        let alone = self.alone([asker.min(object), asker.max(object)]);
        let ask = |neighbors: Neighbors, alone: &Alone, descriptor: &BroadPhaseDescriptor<'_>| {
            let scene = HostScene {
                asked: QueryInput {
                    queries: Queries::Neighbors(neighbors),
                    ..QueryInput::default()
                },
                ..alone.scene()
            };
            self.defined(descriptor, &scene, usize::from(asker > object))
        };
        let defined = ask(neighbors, &alone, &self.plain());
        (why.meets, why.is_on_border) = (defined.meets, defined.is_on_border);
        why.reasons = [self.absent(asker), self.absent(object)].concat();
        if why.reasons.is_empty() {
            let is_endless = |object: &&u32| {
                let bounds = self.object(**object);
                bounds.min.iter().chain(&bounds.max).any(|bound| bound.is_infinite())
            };
            let endless = [asker, object];
            let endless = endless.iter().filter(is_endless);
            why.reasons = endless
                .map(|&object| Reason::NoPosition {
                    who: Party::Object(object),
                })
                .collect();
            why.reasons.extend(self.objects_parted(asker, object));
            if !why
                .reasons
                .iter()
                .any(|reason| matches!(reason, Reason::NoPosition { .. }))
            {
                // Without a look at what else may part them.
                let bare = Alone {
                    objects: alone.objects.iter().map(|of| of.with_owner(0)).collect(),
                    worlds: vec![0; alone.worlds.len()],
                    statics: 0,
                };
                let unfiltered = BroadPhaseDescriptor {
                    filters: false,
                    ..self.plain()
                };
                let whole = Neighbors {
                    half: false,
                    ..neighbors
                };
                why.distance = ask(Neighbors::within(f32::MAX), &bare, &unfiltered).distance;
                if !ask(whole, &bare, &unfiltered).meets {
                    let (distance, radius) = (why.distance.unwrap_or(f64::INFINITY), neighbors.radius);
                    why.reasons.push(Reason::TooFar { distance, radius });
                }
            }
        }
        if neighbors.half && object < asker {
            why.reasons.push(Reason::Once);
        }
    }
}

/// What the definition says.
struct Defined {
    meets: bool,
    is_on_border: bool,
    distance: Option<f64>,
}
