use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, Dimensions, Growth, OutputOptions, Pair, Queries, Query, QueryInput,
    QueryMode, Ray, Rays, ResultOrder, Scene, Scheme, SelfQuery, SortStrategy, Source, Statics, SweptRay,
};

use crate::answers::RAY_MODES;
use crate::boxes::{KINDS, Space, boxes, filter, float, settle, spoil};
use crate::searches::{query, ray, worlds};
use crate::{Rng, sized};

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

/// True if daily runs take the descriptor. Few, since software drivers take half a second to compile each pipeline.
pub fn is_daily(descriptor: &BroadPhaseDescriptor<'_>) -> bool {
    let is_periodic = descriptor.periods != [0.0; 3];
    match (descriptor.filters, descriptor.worlds > 1, is_periodic) {
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
    let mut outputs = OutputOptions::default();
    (outputs.ray_mode, outputs.ray_cells) = (RAY_MODES[(number / 3 % 3) as usize], number % 3 == 1);
    if rng.once_in(10) {
        outputs.growth = Growth::Fixed;
        outputs.capacities = Capacities {
            pairs: Some(9),
            hits: Some(7),
            results: Some(5),
            ray_cells: Some(7),
            entries: (number % 4 == 2).then_some(40),
            rounds: None,
        };
    }
    if rng.once_in(3) {
        outputs.order = ResultOrder::Sorted;
    }
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
        outputs,
        sort: match rng.below(6) {
            0 => SortStrategy::Portable,
            1 => SortStrategy::Subgroups,
            _ => SortStrategy::Auto,
        },
        filters,
        count_candidates: rng.once_in(2),
        ..BroadPhaseDescriptor::default()
    }
}

#[derive(Clone, Debug)]
pub enum WildQueries {
    None,
    Boxes(Vec<Aabb>),
    General(Vec<Query>),
    Objects(Queries<'static>),
}

impl WildQueries {
    pub fn borrowed(&self) -> Queries<'_> {
        match self {
            Self::None => Queries::None,
            Self::Boxes(boxes) => Queries::Boxes(Source::Host(boxes)),
            Self::General(queries) => Queries::General(Source::Host(queries)),
            Self::Objects(queries) => *queries,
        }
    }

    pub fn count(&self, objects: usize) -> usize {
        match self {
            Self::None => 0,
            Self::Boxes(boxes) => boxes.len(),
            Self::General(queries) => queries.len(),
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
    pub queries: WildQueries,
    pub mode: QueryMode,
    pub excluded: Vec<Pair>,
    pub later: Option<(WildQueries, QueryMode)>,
}

impl Wild {
    /// Returns the queries that follow those of the step.
    pub fn later_input(&self) -> Option<QueryInput<'_>> {
        self.later.as_ref().map(|(queries, query_mode)| QueryInput {
            queries: queries.borrowed(),
            query_mode: *query_mode,
            ..QueryInput::default()
        })
    }

    /// Static objects are the first `statics` objects. Each scene needs its own `generation`.
    pub fn scene(&self, generation: u64) -> Scene<'_> {
        Scene {
            excluded_pairs: Source::Host(&self.excluded),
            query: QueryInput {
                rays: if self.is_swept {
                    Rays::Swept(Source::Host(&self.rays))
                } else {
                    Rays::Plain(Source::Host(&self.plain))
                },
                queries: self.queries.borrowed(),
                query_mode: self.mode,
                ..QueryInput::default()
            },
            ..scene_of(&self.objects, &self.worlds, self.statics, generation)
        }
    }
}

/// Returns a scene. The first `statics` objects are static.
pub fn scene_of<'a>(objects: &'a [Aabb], worlds: &'a [u32], statics: usize, generation: u64) -> Scene<'a> {
    let (static_worlds, worlds) = worlds.split_at(statics.min(worlds.len()));
    Scene {
        objects: Source::Host(&objects[statics..]),
        worlds: Source::Host(worlds),
        statics: Statics {
            objects: Source::Host(&objects[..statics]),
            worlds: Source::Host(static_worlds),
            generation,
        },
        ..Scene::default()
    }
}

/// With periods there are no spheres, since brute force applies periods to neighbours only.
fn queries(
    descriptor: &BroadPhaseDescriptor<'_>,
    objects: &[Aabb],
    space: &Space,
    rng: &mut Rng,
) -> (WildQueries, QueryMode) {
    let is_periodic = descriptor.periods != [0.0; 3];
    let general: Vec<_> = (0..rng.below(9))
        .map(|_| query(objects, space, descriptor.worlds, rng))
        .collect();
    let half = rng.once_in(3);
    let queries = match rng.below(if is_periodic { 6 } else { 9 }) {
        0 => WildQueries::None,
        1 => WildQueries::Objects(SelfQuery::Overlaps { half }.into()),
        2 => WildQueries::Boxes(general.iter().map(|query| query.bounds).collect()),
        3..6 => {
            let period = f64::from(descriptor.periods[rng.below(3)]);
            let radius = match rng.below(10) {
                0 => rng.one_of(&[0.0, 1e30, f32::MAX, 1e-40, -0.0]),
                1..5 if period > 0.0 => float(period * rng.one_of(&[0.1, 0.5, 1.0, 2.0, 5.0])),
                _ => float(space.unit * rng.magnitude(-3.0, 3.0)),
            };
            WildQueries::Objects(SelfQuery::Within { radius, half }.into())
        }
        _ => WildQueries::General(general),
    };
    let mode = match rng.below(3) {
        0 => QueryMode::Nearest(rng.one_of(&[1, 2, 3, 8, 70, 1_024])),
        _ => QueryMode::All,
    };
    (queries, mode)
}

/// Kind of the objects, objects, space, and number of rays.
type Contents = (&'static str, Vec<Aabb>, Space, usize);

fn large(number: u64, rng: &mut Rng) -> Contents {
    let count = rng.one_of(&[257, 1_100, 1_921, 2_500]);
    // 4,096 rays are sorted by their start.
    let rays = rng.one_of(&[30, 70, 300, 4_100]);
    let mut space = Space::crowded(1.0);
    let (kind, objects) = match number as usize / 16 % 9 {
        0 => ("rods", sized::rods(count / 4, 0, rng).0),
        1 | 2 => {
            space = Space::crowded(rng.one_of(&[1.0, 0.3, 2f64.powi(-124), 2f64.powi(60)]));
            ("mixed sizes", boxes("mixed sizes", count, &space, rng))
        }
        kind => sized::objects(kind - 3, count, rng),
    };
    (kind, objects, space, rays)
}

fn small(descriptor: &BroadPhaseDescriptor<'_>, rng: &mut Rng) -> Contents {
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
        widest: f64::INFINITY,
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
    (kind, objects, space, rng.below(9))
}

pub fn scene(number: u64, descriptor: &BroadPhaseDescriptor<'_>) -> Wild {
    let mut rng = Rng(number.wrapping_mul(0x9e6c_63d0_876a_3f6b) ^ 0x0dd5);
    let rng = &mut rng;
    let (kind, mut objects, space, ray_count) = match is_large(number) {
        true => large(number, rng),
        false => small(descriptor, rng),
    };
    let (is_spoiled, is_filtered) = (rng.once_in(4), rng.once_in(3));
    for object in &mut objects {
        if is_spoiled && rng.once_in(8) {
            spoil(object, rng);
        }
        if is_filtered {
            filter(object, rng);
        }
    }
    // With a margin, denormal bounds count as 0 in the engine but not in brute force.
    if descriptor.margin > 0.0 {
        let counted = |bound: f32| if bound.is_subnormal() { 0.0 } else { bound };
        for object in &mut objects {
            (object.min, object.max) = (object.min.map(counted), object.max.map(counted));
        }
    }
    let worlds = worlds(descriptor.worlds, objects.len(), rng);
    let statics = match rng.below(3) {
        0 => objects.len() * (1 + rng.below(4)) / 4,
        _ => 0,
    };
    let rays: Vec<_> = (0..ray_count)
        .map(|_| ray(&objects, &space, descriptor.worlds, rng))
        .collect();
    let mut queries = || queries(descriptor, &objects, &space, rng);
    let ((queries, mode), later) = (queries(), queries());
    let later = rng.once_in(5).then_some(later);
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
        queries,
        mode,
        excluded,
        later,
    }
}
