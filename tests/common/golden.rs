//! Fixed scenes and hashes of their results, which are equal on every device. Coordinates are computed with `+`, `*`,
//! `/` and `sqrt` only, which round equally everywhere.

use std::collections::BTreeSet;

use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Dimensions, Events, Pair, PairEvent, Queries, QueryInput, Ray, RayHit, RayMode, Rays,
    Scene, Scheme, Source, StepResult, SweptRay,
};

use wild::Rng;
use wild::answers::{hits_by_ray, lists, sorted};
use wild::sized::power_law_within;
pub use wild::sized::uniform_within as uniform;

/// FNV-1a of 64 bits (Fowler, Noll and Vo) over little-endian words.
pub fn hash(words: impl IntoIterator<Item = u32>) -> u64 {
    words
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Golden {
    pub boxes: u64,
    pub pairs: u64,
    pub closest: u64,
    pub any: u64,
    pub all: u64,
    pub queries: u64,
}

pub fn hash_pairs(pairs: &[Pair]) -> u64 {
    hash(pairs.iter().flat_map(|pair| [pair.a, pair.b]))
}

pub fn hash_closest(hits: &[RayHit]) -> u64 {
    hash(hits.iter().flat_map(|hit| [hit.object, hit.t.to_bits()]))
}

pub fn hash_all(hits: &[Vec<(u32, u32)>]) -> u64 {
    let rays = (0..).zip(hits);
    hash(rays.flat_map(|(ray, hits)| hits.iter().flat_map(move |&(object, t)| [ray, object, t])))
}

pub fn hash_lists(lists: &[Vec<u32>]) -> u64 {
    let queries = (0..).zip(lists);
    hash(queries.flat_map(|(query, list)| list.iter().flat_map(move |&object| [query, object])))
}

pub fn hash_boxes(scene: &Scene<'_>) -> u64 {
    hash(bytemuck::cast_slice(scene.objects.elements().unwrap()).iter().copied())
}

/// Returns the hashes of `result`. Those of ray modes other than `mode` are copied from `expected`.
pub fn hashes(scene: &Scene<'_>, result: &StepResult, mode: RayMode, expected: &Golden) -> Golden {
    let mut found = Golden {
        boxes: hash_boxes(scene),
        pairs: hash_pairs(&sorted(result.pairs.clone())),
        queries: hash_lists(&lists(result)),
        ..*expected
    };
    match mode {
        RayMode::Closest => found.closest = hash_closest(&result.ray_hits),
        RayMode::Any => found.any = hash(result.ray_any.iter().copied()),
        _ => found.all = hash_all(&hits_by_ray(result)),
    }
    found
}

#[derive(Default)]
pub struct Case {
    pub name: &'static str,
    pub descriptor: BroadPhaseDescriptor<'static>,
    pub expected: Golden,
    objects: Vec<Aabb>,
    worlds: Vec<u32>,
    rays: Vec<Ray>,
    /// Swept rays that replace `rays`, unless empty.
    swept: Vec<SweptRay>,
    queries: Vec<Aabb>,
}

impl Case {
    pub fn scene(&self) -> Scene<'_> {
        Scene {
            objects: Source::Host(&self.objects),
            worlds: Source::Host(&self.worlds),
            query: QueryInput {
                rays: if self.swept.is_empty() {
                    Rays::Plain(Source::Host(&self.rays))
                } else {
                    Rays::Swept(Source::Host(&self.swept))
                },
                queries: Queries::Boxes(Source::Host(&self.queries)),
                ..QueryInput::default()
            },
            ..Scene::default()
        }
    }
}

pub fn cases() -> [Case; 5] {
    [
        uniform_boxes(),
        power_law(),
        touching_boxes(),
        filtered_boxes(),
        flat_boxes(),
    ]
}

fn rays(count: usize, side: f32, rng: &mut Rng) -> Vec<Ray> {
    (0..count)
        .map(|index| {
            let mut direction = [0; 3].map(|_| rng.unit() - 0.5);
            if index % 5 == 0 {
                direction[rng.below(3)] = 0.0;
                direction[rng.below(3)] = 0.0;
            }
            let origin = rng.point(2.0 * side).map(|at| at - side / 2.0);
            Ray::new(origin, direction, [2.0 * side, 4.0, f32::INFINITY][index % 3])
        })
        .collect()
}

pub fn uniform_boxes() -> Case {
    let mut rng = Rng(0x60_1d);
    let objects = uniform(2000, 14.0, &mut rng);
    let rays = rays(250, 14.0, &mut rng);
    let queries = uniform(100, 14.0, &mut rng);
    let expected = Golden {
        boxes: 0x1476_2597_3b0a_c6e5,
        pairs: 0x1ae1_a692_a9d4_a717,
        closest: 0x8962_523b_6662_3cde,
        any: 0x892e_c1ff_1cd5_94f5,
        all: 0x4a2e_5776_b3aa_ab21,
        queries: 0xa887_bdc4_6d16_b1b3,
    };
    Case {
        name: "uniform boxes",
        expected,
        objects,
        rays,
        queries,
        ..Case::default()
    }
}

pub fn power_law() -> Case {
    let mut rng = Rng(0x60_2d);
    let [objects, queries] = [2000, 500].map(|count| power_law_within(count, 72.0, &mut rng));
    let rays = rays(250, 72.0, &mut rng);
    let expected = Golden {
        boxes: 0xe557_fb38_0979_e470,
        pairs: 0x3373_17b9_636f_0925,
        closest: 0xbbcc_79cb_a030_0efb,
        any: 0x6038_745d_d81c_59b5,
        all: 0x9b6f_8e34_55c6_2256,
        queries: 0x38ff_5e2a_9a30_9070,
    };
    Case {
        name: "boxes of a power law",
        expected,
        objects,
        rays,
        queries,
        ..Case::default()
    }
}

fn lattice(count: usize, rng: &mut Rng) -> Vec<Aabb> {
    let nudge = |value: f32, rng: &mut Rng| match rng.below(4) {
        0 => value.next_up(),
        1 => value.next_down(),
        2 if value == 0.0 => -value,
        _ => value,
    };
    (0..count)
        .map(|_| {
            let low = [0; 3].map(|_| rng.below(12) as f32 - 6.0);
            let high = low.map(|low| low + rng.below(3) as f32);
            let [low, high] = [low, high].map(|corner| corner.map(|cell| nudge(cell * 0.3, rng)));
            // `f32::min` may return either of two zeros.
            let lower = |axis: usize| if low[axis] <= high[axis] { low[axis] } else { high[axis] };
            Aabb::new([0, 1, 2].map(lower), high)
        })
        .collect()
}

pub fn touching_boxes() -> Case {
    let mut rng = Rng(0x60_3d);
    let objects = lattice(1500, &mut rng);
    let queries = lattice(150, &mut rng);
    let lines: Vec<_> = lattice(300, &mut rng)
        .iter()
        .map(|at| Ray::new(at.min, [0, 1, 2].map(|axis| at.max[axis] - at.min[axis]), 9.0))
        .collect();
    let expected = Golden {
        boxes: 0x020d_203e_7579_808d,
        pairs: 0x5f79_bdb2_5888_270f,
        closest: 0xc6b8_243d_b7f5_a0ea,
        any: 0x6e4d_4d50_5130_c0f4,
        all: 0xeda7_80b4_f5fc_399f,
        queries: 0x9960_b74b_699e_c3ed,
    };
    Case {
        name: "touching boxes of a lattice",
        expected,
        objects,
        rays: lines,
        queries,
        ..Case::default()
    }
}

pub fn filtered_boxes() -> Case {
    let mut rng = Rng(0x60_4d);
    let mut filtered = |count: usize| -> Vec<_> {
        let mut boxes = uniform(count, 8.0, &mut rng);
        for object in &mut boxes {
            match rng.below(10) {
                0 => object.group = Aabb::EXCLUDED,
                1 => object.group = Aabb::STATIC,
                2 => object.group = 1 + rng.below(2) as u32,
                3 | 4 => *object = object.with_layers(rng.below(16) as u16, rng.below(16) as u16),
                5 => object.min[rng.below(3)] = f32::NEG_INFINITY,
                _ => {}
            }
        }
        boxes
    };
    let (objects, queries) = (filtered(1500), filtered(150));
    let worlds: Vec<_> = objects.iter().map(|_| rng.below(4) as u32).collect();
    let swept: Vec<_> = rays(200, 8.0, &mut rng)
        .into_iter()
        .map(|ray| {
            let layers = [u16::MAX, rng.below(16) as u16];
            SweptRay::new(ray.with_layers(layers[rng.below(2)], u16::MAX))
                .with_half_extents([0; 3].map(|_| rng.unit() * 0.5))
                .with_t_min(rng.unit())
                .with_world(rng.below(4) as u32)
        })
        .collect();
    let descriptor = BroadPhaseDescriptor {
        worlds: 3,
        margin: 0.0625,
        ..Default::default()
    };
    let expected = Golden {
        boxes: 0x5f02_a06b_bda2_3a75,
        pairs: 0xabc6_9902_6faf_bf2c,
        closest: 0xc73e_7a18_a44e_48c4,
        any: 0xfe73_2e77_b781_dfd5,
        all: 0x2d12_76fa_425d_91dc,
        queries: 0x97e2_1bb8_87d0_3b2a,
    };
    Case {
        name: "filtered boxes of three worlds",
        descriptor,
        expected,
        objects,
        worlds,
        swept,
        queries,
        ..Case::default()
    }
}

pub fn flat_boxes() -> Case {
    let mut rng = Rng(0x60_5d);
    let mut flat = |count: usize| -> Vec<_> {
        let mut boxes = uniform(count, 40.0, &mut rng);
        // In two dimensions, the third component may hold anything.
        boxes.iter_mut().for_each(|object| object.max[2] = f32::NAN);
        boxes
    };
    let (objects, queries) = (flat(2000), flat(150));
    let rays = rays(250, 40.0, &mut rng);
    let descriptor = BroadPhaseDescriptor {
        dimensions: Dimensions::Two,
        ..Default::default()
    };
    let expected = Golden {
        boxes: 0x4ef4_f53e_4606_b0a0,
        pairs: 0xef35_9ce4_1129_4a11,
        closest: 0xe89d_7198_18e4_a9a1,
        any: 0xd5cc_3662_252a_5e25,
        all: 0xc9ab_06e9_d959_5d5b,
        queries: 0x3258_1144_a7ba_4ace,
    };
    Case {
        name: "flat boxes",
        descriptor,
        expected,
        objects,
        rays,
        queries,
        ..Case::default()
    }
}

pub struct Film {
    pub frames: Vec<Vec<Aabb>>,
    pub expected: u64,
}

impl Film {
    pub fn descriptor(&self, scheme: Scheme) -> BroadPhaseDescriptor<'static> {
        let mut descriptor = BroadPhaseDescriptor::default();
        (descriptor.scheme, descriptor.outputs.capacities.pairs) = (scheme, Some(100_000));
        descriptor
    }
}

pub fn moving_boxes() -> Film {
    let mut rng = Rng(0x60_6d);
    let mut boxes = lattice(600, &mut rng);
    let frames = (0..6).map(|_| {
        for object in &mut boxes {
            let (axis, way) = (rng.below(3), (rng.below(3) as f32 - 1.0) * 0.3);
            object.min[axis] += way;
            object.max[axis] += way;
        }
        boxes.clone()
    });
    Film {
        frames: frames.collect(),
        expected: 0x32e4_eaf4_a25d_c387,
    }
}

fn rows(frame: u32, kinds: [Vec<[u32; 2]>; 3]) -> Vec<[u32; 4]> {
    let kinds = (0..).zip(kinds);
    let rows = kinds.flat_map(|(kind, pairs)| pairs.into_iter().map(move |[a, b]| [frame, kind, a, b]));
    rows.collect()
}

/// Returns rows (frame, kind, object, object), sorted. Kinds: 0 begun, 1 persisting, 2 ended.
pub fn event_rows(frame: u32, events: &Events) -> Vec<[u32; 4]> {
    let of_kind = |events: &Vec<PairEvent>| events.iter().map(|event| [event.a, event.b]).collect();
    let mut rows = rows(frame, [&events.begun, &events.persisting, &events.ended].map(of_kind));
    rows.sort_unstable();
    rows
}

/// As [`event_rows`], computed from the pairs of the frame before and of this one.
pub fn defined_rows(frame: u32, [before, now]: [&BTreeSet<Pair>; 2]) -> Vec<[u32; 4]> {
    let of_kind = |pairs: BTreeSet<Pair>| pairs.into_iter().map(|pair| [pair.a, pair.b]).collect();
    rows(frame, [now - before, now & before, before - now].map(of_kind))
}
