use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, Dimensions, Growth, OutputOptions, Pair, Queries, Query, QueryInput,
    QueryMode, Ray, RayMode, Rays, ResultOrder, Scene, Scheme, SelfQuery, SortStrategy, Source, Statics, SweptRay,
};

use crate::boxes::{KINDS, Space, around, between, boxes, filter, float, settle, spoil};
use crate::{Rng, sized};

const MODES: [RayMode; 3] = [RayMode::All, RayMode::Closest, RayMode::Any];

fn cell_length(rng: &mut Rng) -> f32 {
    match rng.below(8) {
        0..4 => rng.one_of(&[1.0, 0.5, 1.5, 0.1, 3.0, 64.0]),
        4 => 1e-5,
        5 => rng.one_of(&[2f32.powi(-100), 2f32.powi(90)]),
        _ => rng.magnitude(-28.0, 26.0) as f32,
    }
}

/// Allowed choices of (filters, several worlds, periods). Few, since each needs its own pipelines.
const PIPELINES: [(bool, bool, bool); 7] = [
    (true, false, false),
    (true, false, false),
    (true, false, false),
    (false, false, false),
    (true, true, false),
    (true, false, true),
    (false, true, true),
];

/// True if daily runs take the descriptor: three choices, and one more per scheme, so that all pairs of options occur.
/// Software drivers take half a second to compile each pipeline of another choice.
pub fn is_daily(descriptor: &BroadPhaseDescriptor<'_>) -> bool {
    let choice = (
        descriptor.filters,
        descriptor.worlds > 1,
        descriptor.periods != [0.0; 3],
    );
    match choice {
        (true, false, false) | (false, true, true) => true,
        (true, true, false) => matches!(descriptor.scheme, Scheme::Hierarchical),
        (true, false, true) => matches!(descriptor.scheme, Scheme::Adaptive { .. }),
        _ => false,
    }
}

/// True for scenes of hundreds or thousands of boxes.
pub fn is_large(number: u64) -> bool {
    number % 16 == 15
}

/// Scheme and ray mode alternate with `number`.
pub fn descriptor(number: u64) -> BroadPhaseDescriptor<'static> {
    let mut rng = Rng(number.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x51ed);
    let rng = &mut rng;
    let length = if is_large(number) { 1.5 } else { cell_length(rng) };
    let scheme = match number % 3 {
        0 => Scheme::Hierarchical,
        1 => Scheme::Uniform { cell_size: length },
        _ => Scheme::Adaptive { min_scale: length },
    };
    let (filters, has_worlds, is_periodic) = match rng.one_of(&PIPELINES) {
        (.., true) if is_large(number) => (true, false, false),
        choice => choice,
    };
    let period = |rng: &mut Rng| (f64::from(length) * rng.one_of(&[0.0, 4.0, 5.5, 0.3, 1e-3, 1e6])) as f32;
    let periods = [0; 3].map(|_| if is_periodic { period(rng) } else { 0.0 });
    let is_fixed = rng.once_in(10);
    BroadPhaseDescriptor {
        dimensions: rng.one_of(&[Dimensions::Three, Dimensions::Three, Dimensions::Two]),
        scheme,
        margin: match rng.below(8) {
            0 => 0.125 * length,
            1 => 0.1 * length,
            2 if !is_large(number) => rng.one_of(&[1e-20, 1e30]),
            _ => 0.0,
        },
        // Periods outside the allowed range are replaced by 0, which means no period.
        periods: periods.map(|period| if (1e-30..=1e27).contains(&period) { period } else { 0.0 }),
        worlds: if has_worlds { rng.one_of(&[3, 2, 70_000]) } else { 1 },
        pairs: !rng.once_in(8),
        outputs: OutputOptions {
            order: rng.one_of(&[
                ResultOrder::Deterministic,
                ResultOrder::Deterministic,
                ResultOrder::Sorted,
            ]),
            ray_mode: MODES[(number / 3 % 3) as usize],
            capacities: if is_fixed {
                Capacities {
                    pairs: Some(9),
                    hits: Some(7),
                    results: Some(5),
                    ray_cells: Some(7),
                    entries: (number % 4 == 2).then_some(40),
                    ..Capacities::default()
                }
            } else {
                Capacities::default()
            },
            growth: if is_fixed { Growth::Fixed } else { Growth::Grow },
            ray_cells: number % 10 == 4,
            ..Default::default()
        },
        sort: rng.one_of(&[
            SortStrategy::Auto,
            SortStrategy::Auto,
            SortStrategy::Auto,
            SortStrategy::Auto,
            SortStrategy::Portable,
            SortStrategy::Subgroups,
        ]),
        filters,
        count_candidates: rng.once_in(2),
        ..BroadPhaseDescriptor::default()
    }
}

#[derive(Clone, Debug)]
pub enum Asks {
    Nothing,
    Boxes(Vec<Aabb>),
    Rounded(Vec<Query>),
    Objects(Queries<'static>),
}

impl Asks {
    pub fn queries(&self) -> Queries<'_> {
        match self {
            Self::Nothing => Queries::None,
            Self::Boxes(boxes) => Queries::Boxes(Source::Host(boxes)),
            Self::Rounded(queries) => Queries::General(Source::Host(queries)),
            Self::Objects(asking) => *asking,
        }
    }

    pub fn count(&self, objects: usize) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Boxes(boxes) => boxes.len(),
            Self::Rounded(queries) => queries.len(),
            Self::Objects(_) => objects,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Wild {
    pub kind: &'static str,
    pub objects: Vec<Aabb>,
    pub worlds: Vec<u32>,
    pub statics: usize,
    pub is_swept: bool,
    pub rays: Vec<SweptRay>,
    pub plain: Vec<Ray>,
    pub asks: Asks,
    pub mode: QueryMode,
    pub excluded: Vec<Pair>,
    pub later: Option<(Asks, QueryMode)>,
    /// True for a known scene whose walks take more rounds than promised.
    pub exceeds_rounds: bool,
}

impl Wild {
    /// Static objects are the first `statics` objects. Each scene needs its own `generation`.
    pub fn scene(&self, generation: u64) -> Scene<'_> {
        let (statics, objects) = self.objects.split_at(self.statics);
        let (static_worlds, worlds) = self.worlds.split_at(self.statics.min(self.worlds.len()));
        Scene {
            objects: Source::Host(objects),
            worlds: Source::Host(worlds),
            statics: Statics {
                objects: Source::Host(statics),
                worlds: Source::Host(static_worlds),
                generation,
            },
            excluded_pairs: Source::Host(&self.excluded),
            query: QueryInput {
                rays: if self.is_swept {
                    Rays::Swept(Source::Host(&self.rays))
                } else {
                    Rays::Plain(Source::Host(&self.plain))
                },
                queries: self.asks.queries(),
                query_mode: self.mode,
                ..QueryInput::default()
            },
            ..Scene::default()
        }
    }
}

fn place(objects: &[Aabb], space: &Space, rng: &mut Rng) -> [f32; 3] {
    let near = 4.0 * space.unit;
    match (rng.below(6), objects.len()) {
        (0 | 1, 1..) => {
            let object = &objects[rng.below(objects.len())];
            [0, 1, 2].map(|axis| rng.one_of(&[object.min[axis], object.max[axis]]))
        }
        (2, 1..) => {
            let object = &objects[rng.below(objects.len())];
            [0, 1, 2].map(|axis| {
                let [low, high] = [object.min, object.max].map(|corner| f64::from(corner[axis]));
                float(low + (high - low) * rng.between(-0.2, 1.2))
            })
        }
        (3, _) if rng.once_in(4) => [0; 3].map(|_| float(rng.sign() * rng.magnitude(-45.0, 38.5))),
        _ => space.middle.map(|middle| float(middle + rng.between(-near, near))),
    }
}

fn ray(objects: &[Aabb], space: &Space, worlds: u32, rng: &mut Rng) -> SweptRay {
    let (mut origin, to) = (place(objects, space, rng), place(objects, space, rng));
    let mut direction = [0, 1, 2].map(|axis| to[axis] - origin[axis]);
    let axis = rng.below(3);
    match rng.below(16) {
        0 => direction = [0.0, -0.0, 1e-40],
        1 => direction[axis] = 0.0,
        2 | 3 => direction = [0, 1, 2].map(|other| if other == axis { direction[axis] } else { 0.0 }),
        4 => origin = [0, 1, 2].map(|axis| origin[axis] - 2.0 * direction[axis]),
        5 => direction = direction.map(|component| component * 1e-3),
        6 => direction = direction.map(|component| component * float(rng.magnitude(-30.0, 30.0))),
        7 => direction[axis] *= 1e-30,
        8 => direction[axis] *= 1e-7,
        9 => direction = direction.map(|component| component.signum()),
        10 if rng.once_in(4) => direction[axis] = rng.one_of(&[f32::NAN, 1e38, f32::INFINITY, 2f32.powi(126)]),
        11 if rng.once_in(4) => origin[axis] = rng.one_of(&[f32::NAN, f32::NEG_INFINITY, 1e-40, 1e30]),
        _ => {}
    }
    let t_max = match rng.below(12) {
        0 => rng.one_of(&[0.0, -0.0, -1.0, f32::NAN, 1e-40, f32::MAX]),
        1..4 => rng.one_of(&[1.0, 0.5, 2.0, 100.0]),
        4 => float(rng.magnitude(-10.0, 10.0)),
        _ => f32::INFINITY,
    };
    let mut swept = SweptRay::new(Ray::new(origin, direction, t_max)).with_world(rng.below(worlds as usize) as u32);
    if rng.once_in(3) {
        let extent = space.unit * rng.magnitude(-6.0, 2.0);
        swept.half_extents = [0; 3].map(|_| float(extent * rng.one_of(&[0.0, 0.5, 1.0])));
    }
    match rng.below(24) {
        0 => swept.half_extents[axis] = rng.one_of(&[-0.0, -1e-45, f32::NAN, f32::INFINITY, 1e-45, 1e30, f32::MAX]),
        1 => swept.t_min = rng.one_of(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 1e-40]),
        2..6 => swept.t_min = rng.one_of(&[0.25, 1.0, -2.0, 0.5]),
        6 => swept.world = rng.one_of(&[worlds, u32::MAX]),
        7 => swept.ray = swept.ray.with_layers(rng.below(16) as u16, rng.below(16) as u16),
        _ => {}
    }
    swept
}

fn query(objects: &[Aabb], space: &Space, worlds: u32, rng: &mut Rng) -> Query {
    let corner = place(objects, space, rng);
    let mut bounds = match rng.below(5) {
        0 => Aabb::point(corner),
        1 => between(corner, place(objects, space, rng)),
        2 if !objects.is_empty() => {
            let object = objects[rng.below(objects.len())];
            let grown = space.unit * rng.one_of(&[0.0, 1e-3, 1.0, 1e3]);
            let moved = |corner: [f32; 3], side: f64| corner.map(|bound| float(f64::from(bound) + side * grown));
            between(moved(object.min, -1.0), moved(object.max, 1.0))
        }
        _ => {
            let edges = [0; 3].map(|_| space.unit * rng.magnitude(-6.0, 4.0));
            let shift = rng.between(0.0, 1.0);
            let centre = [0, 1, 2].map(|axis| f64::from(corner[axis]) + shift * edges[axis]);
            around(centre, edges)
        }
    };
    if let Some(axis) = space.flat.filter(|_| !rng.once_in(4)) {
        bounds.min[axis] = float(space.middle[axis]);
        bounds.max[axis] = bounds.min[axis];
    }
    if rng.once_in(20) {
        spoil(&mut bounds, rng);
    }
    if rng.once_in(10) {
        filter(&mut bounds, rng);
    }
    let radius = match rng.below(12) {
        0..5 => 0.0,
        5 => rng.one_of(&[f32::INFINITY, f32::MAX, f32::NAN, -1.0, -0.0, 1e-40, 1e30]),
        6 => float(rng.magnitude(-44.0, 38.0)),
        _ => float(space.unit * rng.magnitude(-4.0, 4.0)),
    };
    Query {
        bounds,
        radius,
        world: if rng.once_in(30) {
            worlds
        } else {
            rng.below(worlds as usize) as u32
        },
        reserved: [0; 2],
    }
}

/// With periods there are no spheres, since brute force applies periods to neighbours only.
fn asks(descriptor: &BroadPhaseDescriptor<'_>, objects: &[Aabb], space: &Space, rng: &mut Rng) -> (Asks, QueryMode) {
    let is_periodic = descriptor.periods != [0.0; 3];
    let count = rng.below(9);
    let mut queries = || -> Vec<_> {
        (0..count)
            .map(|_| query(objects, space, descriptor.worlds, rng))
            .collect()
    };
    let queries = queries();
    let half = rng.once_in(3);
    let asks = match rng.below(if is_periodic { 6 } else { 9 }) {
        0 => Asks::Nothing,
        1 => Asks::Objects(SelfQuery::Overlaps { half }.into()),
        2 => Asks::Boxes(queries.iter().map(|query| query.bounds).collect()),
        3..6 => {
            let period = f64::from(descriptor.periods[rng.below(3)]);
            let radius = match rng.below(10) {
                0 => rng.one_of(&[0.0, 1e30, f32::MAX, 1e-40, -0.0]),
                1..5 if period > 0.0 => float(period * rng.one_of(&[0.1, 0.5, 1.0, 2.0, 5.0])),
                _ => float(space.unit * rng.magnitude(-3.0, 3.0)),
            };
            Asks::Objects(SelfQuery::Within { radius, half }.into())
        }
        _ => Asks::Rounded(queries),
    };
    let mode = match rng.below(3) {
        0 => QueryMode::Nearest(rng.one_of(&[1, 2, 3, 8, 70, 1_024])),
        _ => QueryMode::All,
    };
    (asks, mode)
}

fn large(number: u64, descriptor: &BroadPhaseDescriptor<'_>, rng: &mut Rng) -> Wild {
    let count = rng.one_of(&[257, 1_100, 1_921, 2_500]);
    // 4,096 rays are sorted by their start.
    let ray_count = rng.one_of(&[30, 70, 300, 4_100]);
    let kind = number as usize / 16 % 9;
    let (kind, mut objects) = match kind {
        0 => ("uniform", sized::uniform(count, rng)),
        1 => ("power law", sized::power_law(count, rng)),
        2 => ("rods", sized::rods(count / 4, 0, rng).0),
        3 | 4 => {
            let scale = rng.one_of(&[1.0, 0.3, 2f32.powi(-124), 2f32.powi(60)]);
            let (rarity, octaves) = (rng.one_of(&[40, 100, 300]), rng.one_of(&[3, 6, 12]));
            ("mixed sizes", sized::mixed_sizes(count, rarity, octaves, scale, rng))
        }
        // One cell, clusters, islands, a lattice.
        _ => ("sized", sized::scene(kind - 3, count, 0, rng).objects),
    };
    if !matches!(kind, "rods" | "sized") && rng.once_in(2) {
        sized::add_oddities(&mut objects, rng);
    }
    let plain: Vec<_> = (0..ray_count).map(|_| sized::random_ray(&objects, rng)).collect();
    let space = Space::of_size(1.0);
    let worlds = worlds(descriptor, objects.len(), rng);
    let (asks, mode) = asks(descriptor, &objects, &space, rng);
    Wild {
        kind,
        statics: if rng.once_in(3) { objects.len() / 4 } else { 0 },
        is_swept: rng.once_in(2),
        rays: sized::sweep(&plain, descriptor.worlds, rng),
        plain,
        worlds,
        objects,
        asks,
        mode,
        excluded: Vec::new(),
        later: None,
        exceeds_rounds: number == 111,
    }
}

/// Few worlds have most objects. Some worlds do not exist.
fn worlds(descriptor: &BroadPhaseDescriptor<'_>, objects: usize, rng: &mut Rng) -> Vec<u32> {
    let count = descriptor.worlds;
    let mut world = |_| match rng.below(30) {
        0 => rng.one_of(&[count, u32::MAX]),
        1 => rng.below(count as usize) as u32,
        _ => rng.below(2) as u32,
    };
    if count == 1 {
        return Vec::new();
    }
    (0..objects).map(&mut world).collect()
}

pub fn scene(number: u64, descriptor: &BroadPhaseDescriptor<'_>) -> Wild {
    let mut rng = Rng(number.wrapping_mul(0x9e6c_63d0_876a_3f6b) ^ 0x0dd5);
    let rng = &mut rng;
    if is_large(number) {
        return large(number, descriptor, rng);
    }
    let cell = f64::from(match descriptor.scheme {
        Scheme::Uniform { cell_size } => cell_size,
        Scheme::Adaptive { min_scale } => min_scale,
        _ => rng.one_of(&[1.0, 1.0, 0.1, 1e-5, 1e20]),
    });
    let unit = match rng.below(10) {
        0..4 => cell * rng.one_of(&[1.0, 0.5, 0.25, 1.5, 3.0]),
        4..6 => cell * rng.magnitude(-3.0, 3.0),
        6..8 => cell * rng.magnitude(-9.0, 9.0),
        8 => cell * rng.magnitude(0.0, 6.0),
        _ => rng.magnitude(-44.0, 38.0),
    };
    let far = |rng: &mut Rng| rng.sign() * unit * rng.magnitude(1.0, 12.0);
    let middle = match rng.below(6) {
        0 => [0; 3].map(|_| far(rng)),
        1 => {
            let (axis, far) = (rng.below(3), far(rng));
            [0, 1, 2].map(|other| if other == axis { far } else { 0.0 })
        }
        _ => [0.0; 3],
    };
    let flat = rng.once_in(6).then(|| rng.below(3));
    let space = Space {
        unit,
        cell,
        middle,
        flat,
    };
    let count = match rng.below(100) {
        0..8 => rng.below(3),
        8..90 => 2 + rng.below(40),
        90..97 => 2 + rng.below(100),
        97..99 => 200 + rng.below(120),
        _ => 400 + rng.below(200),
    };
    let kind = match rng.below(24) {
        place @ 0..18 => KINDS[place],
        18..20 => "lattice",
        20 => "borders of cells",
        21 => "map",
        _ => "octaves",
    };
    let mut objects = boxes(kind, count, &space, rng);
    if !matches!(kind, "bits" | "all floats") {
        settle(&mut objects, &space);
    }
    if rng.once_in(4) {
        for object in &mut objects {
            if rng.once_in(8) {
                spoil(object, rng);
            }
        }
    }
    if rng.once_in(3) {
        objects.iter_mut().for_each(|object| filter(object, rng));
    }
    // With a margin, denormal bounds count as 0 in the engine but not in brute force.
    if descriptor.margin > 0.0 {
        for bound in objects
            .iter_mut()
            .flat_map(|object| object.min.iter_mut().chain(&mut object.max))
        {
            if bound.is_subnormal() {
                *bound = 0.0;
            }
        }
    }
    let worlds = worlds(descriptor, objects.len(), rng);
    let statics = match rng.below(3) {
        0 => objects.len() * (1 + rng.below(4)) / 4,
        _ => 0,
    };
    let rays: Vec<_> = (0..rng.below(9))
        .map(|_| ray(&objects, &space, descriptor.worlds, rng))
        .collect();
    let (asks_first, mode) = asks(descriptor, &objects, &space, rng);
    let later = rng.once_in(5).then(|| asks(descriptor, &objects, &space, rng));
    let some_pairs = if rng.once_in(4) { 3 * objects.len() } else { 0 };
    let mut object = || rng.below(objects.len() + 1) as u32;
    let excluded = (0..some_pairs)
        .map(|_| Pair {
            a: object(),
            b: object(),
        })
        .collect();
    Wild {
        kind,
        worlds,
        statics,
        is_swept: !rng.once_in(3),
        plain: rays.iter().map(|swept| swept.ray).collect(),
        rays,
        objects,
        asks: asks_first,
        mode,
        excluded,
        later,
        exceeds_rounds: false,
    }
}
