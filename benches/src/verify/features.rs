//! Random features of a step: everything besides boxes and plain rays.

use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::wgpu::{Buffer, Device};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Frustum, OutputOptions, Pair, Queries, Query, QueryInput, QueryMode, Ray, RayMode,
    Rays, Scene, SelfQuery, Source, Statics, SweptRay,
};

use super::scenes;
use super::strided::StridedBuffer;
use super::views;
use crate::generate::Random;

/// Most rays of a step. More rays are compared without features.
const RAYS: usize = 400;
const SET_RAYS: usize = 60;
/// Few, since each query may find all objects.
const QUERIES: u32 = 150;
/// Most objects for self-queries: with a giant radius, results grow quadratically.
const ASKING: usize = 1_000;
const EXCLUDED: usize = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Statics,
    Excluded,
    Function,
    Strided,
    Swept,
    Boxes,
    Spheres,
    Nearest,
    Neighbors,
    Partners,
    Sets,
    Views,
}

pub const PARTS: [&str; 12] = [
    "static boxes",
    "excluded pairs",
    "pair function",
    "strided sources",
    "swept rays",
    "box queries",
    "sphere queries",
    "nearest objects",
    "neighbours",
    "partners",
    "query sets",
    "views",
];

impl Part {
    pub const fn name(self) -> &'static str {
        PARTS[self as usize]
    }
}

/// Equal to [`Features::admits`].
const FUNCTION: &str = "
fn admits_pair(a: u32, b: u32) -> bool {
    let place = (7u * a + b + pair_group(a) % 8u + pair_layers(b) % 4u) % (32u * pair_data_count());
    return ((pair_data(place / 32u) >> (place % 32u)) & 1u) == 1u;
}
";

pub struct QueryWork {
    pub rays: Vec<SweptRay>,
    pub plain: Vec<Ray>,
    pub is_swept: bool,
    pub ray_mode: RayMode,
    pub queries: QueryKind,
    pub query_mode: QueryMode,
    strided: Option<[StridedBuffer; 2]>,
}

pub enum QueryKind {
    Nothing,
    Boxes(Vec<Aabb>),
    Spheres(Vec<Query>),
    Objects(SelfQuery),
}

pub struct Features {
    /// Everything but the scheme.
    pub descriptor: BroadPhaseDescriptor<'static>,
    /// All boxes, static ones first.
    pub boxes: Vec<Aabb>,
    pub worlds: Vec<u32>,
    pub statics: usize,
    pub excluded: Vec<Pair>,
    /// Words that [`FUNCTION`] reads; empty without it.
    pub filter_data: Vec<u32>,
    pub work: QueryWork,
    pub set: Option<QueryWork>,
    pub views: Vec<Frustum>,
    /// Static boxes, other boxes, and the worlds of both, in strided buffers.
    pub strided: Option<[StridedBuffer; 4]>,
    seed: u64,
}

pub struct Buffers {
    boxes: Option<[Buffer; 4]>,
    work: Option<[Buffer; 2]>,
    set: Option<[Buffer; 2]>,
}

/// Few features at a time, since most faults need few. Query kinds, pair filter and strided buffers alternate by seed;
/// the rest is random.
pub fn random(seed: u64, scene: &scenes::Scene) -> Features {
    // A separate generator, so that features do not change the scene of a seed.
    let random = &mut Random::new(seed ^ 0xfea7_0000_0000_0000);
    let mut boxes = scene.boxes.clone();
    let statics = match random.below(2) {
        0 => 0,
        _ => random.below(boxes.len() as u32 + 1) as usize,
    };
    let are_strided = seed % 5 == 1;
    let strided = are_strided.then(|| {
        let (static_boxes, moving) = boxes.split_at_mut(statics);
        let (static_worlds, worlds) = scene.worlds.split_at(statics.min(scene.worlds.len()));
        [
            StridedBuffer::of_boxes(static_boxes, random),
            StridedBuffer::of_boxes(moving, random),
            StridedBuffer::of(static_worlds, random),
            StridedBuffer::of(worlds, random),
        ]
    });
    let work = {
        let count = scene.rays.len().min(RAYS);
        let rays = if random.once_in(2) { &scene.rays[..count] } else { &[] };
        questions(seed, rays, &boxes, scene, are_strided, random)
    };
    let set = random.once_in(2).then(|| {
        let last = scene.rays.len().saturating_sub(SET_RAYS);
        let are_strided = random.once_in(3);
        let turn = u64::from(random.below(12));
        questions(turn, &scene.rays[last..], &boxes, scene, are_strided, random)
    });
    let views = match random.below(2) {
        0 => Vec::new(),
        _ => views::random(&boxes, scene.descriptor.worlds, random),
    };
    let filter_words = if seed.is_multiple_of(3) { 1 + random.below(4) } else { 0 };
    let filter_data: Vec<_> = (0..filter_words).map(|_| random.below(u32::MAX)).collect();
    let has_list = random.once_in(3);
    let mut features = Features {
        descriptor: BroadPhaseDescriptor {
            pair_filter: (!filter_data.is_empty()).then_some(FUNCTION),
            outputs: OutputOptions {
                ray_mode: work.ray_mode,
                ..scene.descriptor.outputs
            },
            ..scene.descriptor
        },
        boxes,
        worlds: scene.worlds.clone(),
        statics,
        excluded: Vec::new(),
        filter_data,
        work,
        set,
        views,
        strided,
        seed,
    };
    if has_list {
        let pairs = brute_force::scene_pairs(&features.descriptor, &features.scene());
        features.excluded = list(&pairs.expect("the scene is on the host"), features.boxes.len(), random);
    }
    features
}

/// About a third of `pairs`, in either order, and rows that exclude nothing.
fn list(pairs: &[Pair], objects: usize, random: &mut Random) -> Vec<Pair> {
    let objects = objects as u32;
    let mut list = Vec::new();
    for &Pair { a, b } in pairs.iter().step_by(1 + pairs.len() / (2 * EXCLUDED)) {
        match random.below(6) {
            0 => list.push(Pair { a, b }),
            1 => list.extend([Pair { a: b, b: a }, Pair { a, b }]),
            _ => {}
        }
    }
    list.push(Pair { a: 0, b: objects });
    list.push(Pair { a: u32::MAX, b: 0 });
    list.push(Pair {
        a: objects / 2,
        b: objects / 2,
    });
    for place in 1..list.len() {
        list.swap(place, random.below(place as u32 + 1) as usize);
    }
    list
}

/// The kind of queries depends on `turn`.
fn questions(
    turn: u64,
    rays: &[Ray],
    boxes: &[Aabb],
    scene: &scenes::Scene,
    are_strided: bool,
    random: &mut Random,
) -> QueryWork {
    let worlds = scene.descriptor.worlds;
    let is_swept = random.once_in(2);
    let rays: Vec<_> = rays.iter().map(|&ray| swept(ray, boxes, worlds, random)).collect();
    let plain: Vec<_> = rays.iter().map(|swept| swept.ray).collect();
    let half = random.once_in(2);
    let count = random.below(QUERIES);
    let mut queries = match turn % 4 {
        _ if random.once_in(8) => QueryKind::Nothing,
        0 => QueryKind::Boxes((0..count).map(|_| query(boxes, worlds, random).bounds).collect()),
        1 => QueryKind::Spheres((0..count).map(|_| query(boxes, worlds, random)).collect()),
        2 if boxes.len() <= ASKING => QueryKind::Objects(SelfQuery::Within {
            radius: radius(boxes, random),
            half,
        }),
        _ => QueryKind::Objects(SelfQuery::Overlaps { half }),
    };
    let query_mode = match queries {
        QueryKind::Boxes(_) | QueryKind::Spheres(_) | QueryKind::Objects(SelfQuery::Within { .. })
            if (turn / 4).is_multiple_of(3) =>
        {
            QueryMode::Nearest([1, 3, 8, 70][random.below(4) as usize])
        }
        _ => QueryMode::All,
    };
    let strided = are_strided.then(|| {
        [
            if is_swept {
                StridedBuffer::of(&rays, random)
            } else {
                StridedBuffer::of(&plain, random)
            },
            match &mut queries {
                QueryKind::Boxes(boxes) => StridedBuffer::of_boxes(boxes, random),
                QueryKind::Spheres(queries) => StridedBuffer::of(queries, random),
                _ => StridedBuffer::of::<u32>(&[], random),
            },
        ]
    });
    QueryWork {
        rays,
        plain,
        is_swept,
        ray_mode: [RayMode::Closest, RayMode::Any, RayMode::All][random.below(3) as usize],
        queries,
        query_mode,
        strided,
    }
}

fn one_of<'a>(boxes: &'a [Aabb], random: &mut Random) -> Option<&'a Aabb> {
    boxes.get(random.below(boxes.len() as u32) as usize)
}

/// An edge of some box, or 0.75 if it is missing, zero or huge.
fn edge(boxes: &[Aabb], random: &mut Random) -> f32 {
    let axis = random.below(3) as usize;
    let edge = one_of(boxes, random).map(|boxed| boxed.max[axis] - boxed.min[axis]);
    edge.filter(|edge| *edge > 0.0 && *edge < 1e30).unwrap_or(0.75)
}

fn radius(boxes: &[Aabb], random: &mut Random) -> f32 {
    edge(boxes, random) * [0.0, 0.5, 1.0, 2.5][random.below(4) as usize]
}

fn swept(ray: Ray, boxes: &[Aabb], worlds: u32, random: &mut Random) -> SweptRay {
    let mut swept = SweptRay::new(ray);
    if random.once_in(2) {
        let extent = edge(boxes, random);
        swept.half_extents = [(); 3].map(|()| extent * [0.0, 0.25, 0.5][random.below(3) as usize]);
    }
    if random.once_in(4) {
        swept.t_min = [0.5, 1.0, -1.0, f32::NAN][random.below(4) as usize];
    }
    if random.once_in(8) {
        swept.half_extents[0] = [-1.0, f32::INFINITY][random.below(2) as usize];
    }
    // Includes an invalid world, one past the last.
    swept.world = random.below(worlds) + u32::from(random.once_in(16));
    swept
}

fn query(boxes: &[Aabb], worlds: u32, random: &mut Random) -> Query {
    let mut bounds = one_of(boxes, random).copied().unwrap_or(Aabb::point([0.0; 3]));
    match random.below(5) {
        0 => bounds = Aabb::point(bounds.max),
        1 => {
            let corner = one_of(boxes, random).map_or([1.0; 3], |boxed| boxed.min);
            let [a, b] = [bounds.min, corner];
            let of = |choose: fn(f32, f32) -> f32| [0, 1, 2].map(|axis| choose(a[axis], b[axis]));
            (bounds.min, bounds.max) = (of(f32::min), of(f32::max));
        }
        2 => {
            let by = edge(boxes, random);
            bounds.min = bounds.min.map(|bound| bound - by);
            bounds.max = bounds.max.map(|bound| bound + by);
        }
        _ => {}
    }
    if random.once_in(2) {
        (bounds.layers, bounds.group) = (Aabb::ALL_LAYERS, 0);
    }
    Query {
        bounds,
        radius: if random.once_in(2) { 0.0 } else { radius(boxes, random) },
        world: random.below(worlds) + u32::from(random.once_in(16)),
        reserved: [0; 2],
    }
}

impl QueryWork {
    pub fn input(&self) -> QueryInput<'_> {
        QueryInput {
            rays: match self.is_swept {
                true => Rays::Swept(Source::Host(&self.rays)),
                false => Rays::Plain(Source::Host(&self.plain)),
            },
            queries: match &self.queries {
                QueryKind::Nothing => Queries::None,
                QueryKind::Boxes(boxes) => Queries::Boxes(Source::Host(boxes)),
                QueryKind::Spheres(queries) => Queries::General(Source::Host(queries)),
                QueryKind::Objects(query) => (*query).into(),
            },
            query_mode: self.query_mode,
            ..QueryInput::default()
        }
    }

    fn input_in<'a>(&'a self, buffers: Option<&'a [Buffer; 2]>) -> QueryInput<'a> {
        let input = self.input();
        let (Some([rays, queries]), Some([in_rays, in_queries])) = (&self.strided, buffers) else {
            return input;
        };
        QueryInput {
            rays: match self.is_swept {
                true => Rays::Swept(rays.source(in_rays)),
                false => Rays::Plain(rays.source(in_rays)),
            },
            queries: match input.queries {
                Queries::Boxes(_) => Queries::Boxes(queries.boxes(in_queries)),
                Queries::General(_) => Queries::General(queries.source(in_queries)),
                asking => asking,
            },
            ..input
        }
    }

    fn buffers(&self, device: &Device) -> Option<[Buffer; 2]> {
        let strided = self.strided.as_ref();
        strided.map(|strided| strided.each_ref().map(|strided| strided.buffer(device)))
    }

    fn query_count(&self, objects: usize) -> usize {
        match &self.queries {
            QueryKind::Nothing => 0,
            QueryKind::Boxes(boxes) => boxes.len(),
            QueryKind::Spheres(queries) => queries.len(),
            QueryKind::Objects(_) => objects,
        }
    }
}

impl Features {
    pub fn scene(&self) -> Scene<'_> {
        self.scene_of(self.work.input(), None)
    }

    pub fn scene_of_set<'a>(&'a self, set: &'a QueryWork) -> Scene<'a> {
        self.scene_of(set.input(), None)
    }

    pub fn input_in<'a>(&'a self, buffers: &'a Buffers) -> (Scene<'a>, Option<QueryInput<'a>>) {
        let work = self.work.input_in(buffers.work.as_ref());
        let of_set = self.set.as_ref().map(|set| set.input_in(buffers.set.as_ref()));
        (self.scene_of(work, buffers.boxes.as_ref()), of_set)
    }

    pub fn buffers(&self, device: &Device) -> Buffers {
        let strided = self.strided.as_ref();
        Buffers {
            boxes: strided.map(|strided| strided.each_ref().map(|strided| strided.buffer(device))),
            work: self.work.buffers(device),
            set: self.set.as_ref().and_then(|set| set.buffers(device)),
        }
    }

    fn scene_of<'a>(&'a self, work: QueryInput<'a>, buffers: Option<&'a [Buffer; 4]>) -> Scene<'a> {
        let (static_boxes, boxes) = self.boxes.split_at(self.statics);
        let (static_worlds, worlds) = self.worlds.split_at(self.statics.min(self.worlds.len()));
        let mut scene = Scene {
            objects: Source::Host(boxes),
            worlds: Source::Host(worlds),
            statics: Statics {
                objects: Source::Host(static_boxes),
                worlds: Source::Host(static_worlds),
                generation: self.seed,
            },
            excluded_pairs: Source::Host(&self.excluded),
            pair_filter_data: Source::Host(&self.filter_data),
            query: QueryInput {
                rays: work.rays,
                queries: work.queries,
                query_mode: work.query_mode,
                ..QueryInput::default()
            },
            ..Scene::default()
        };
        if let (Some(strided), Some(buffers)) = (&self.strided, buffers) {
            scene.statics.objects = strided[0].boxes(&buffers[0]);
            scene.objects = strided[1].boxes(&buffers[1]);
            scene.statics.worlds = strided[2].source(&buffers[2]);
            scene.worlds = strided[3].source(&buffers[3]);
        }
        scene
    }

    /// [`FUNCTION`] in Rust.
    pub fn admits(&self, a: u32, b: u32) -> bool {
        let Some(bits) = (32 * self.filter_data.len() as u32).checked_sub(1) else {
            return true;
        };
        let of_words = self.boxes[a as usize].group % 8 + self.boxes[b as usize].layers % 4;
        let place = (7 * a + b + of_words) % (bits + 1);
        self.filter_data[place as usize / 32] >> (place % 32) & 1 == 1
    }

    pub fn parts(&self) -> Vec<(Part, u64)> {
        let count = |strided: &[StridedBuffer]| strided.iter().map(|strided| u64::from(strided.count)).sum::<u64>();
        let strided = self.strided.as_ref().map_or(0, |strided| count(strided));
        let strided_queries = self.work.strided.as_ref().map_or(0, |strided| count(strided));
        let queries = self.work.query_count(self.boxes.len()) as u64;
        let mut parts = vec![
            (Part::Statics, self.statics as u64),
            (Part::Excluded, self.excluded.len() as u64),
            (Part::Function, self.filter_data.len() as u64),
            (Part::Strided, strided + strided_queries),
        ];
        if self.work.is_swept {
            parts.push((Part::Swept, self.work.rays.len() as u64));
        }
        match self.work.queries {
            QueryKind::Nothing => {}
            QueryKind::Boxes(_) => parts.push((Part::Boxes, queries)),
            QueryKind::Spheres(_) => parts.push((Part::Spheres, queries)),
            QueryKind::Objects(SelfQuery::Within { .. }) => parts.push((Part::Neighbors, queries)),
            QueryKind::Objects(SelfQuery::Overlaps { .. }) => parts.push((Part::Partners, queries)),
        }
        if matches!(self.work.query_mode, QueryMode::Nearest(_)) {
            parts.push((Part::Nearest, queries));
        }
        parts.retain(|(_, count)| *count > 0);
        parts
    }

    pub fn set_count(&self) -> u64 {
        let of = |set: &QueryWork| set.rays.len() + set.query_count(self.boxes.len());
        self.set.as_ref().map_or(0, of) as u64
    }
}
