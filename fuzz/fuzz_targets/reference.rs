//! Compares the CPU engine with brute force, for arbitrary descriptors and scenes.
#![no_main]

use arbitrary::{Result, Unstructured};
use gpu_broad_phase::cpu;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, Dimensions, Growth, OutputOptions, Queries, Query, QueryInput, QueryMode,
    Ray, RayMode, Rays, Scene, Scheme, SelfQuery, Source, Statics, SweptRay,
};
use libfuzzer_sys::{Corpus, fuzz_target};

use wild::{Expected, check};

const MOST_OBJECTS: u8 = 96;
const MOST_ASKED: u8 = 12;

fuzz_target!(|data: &[u8]| -> Corpus {
    match run(&mut Unstructured::new(data)) {
        Ok(()) => Corpus::Keep,
        Err(_) => Corpus::Reject,
    }
});

fn run(u: &mut Unstructured<'_>) -> Result<()> {
    let mut descriptor = descriptor(u)?;
    let step = *u.choose(&[1.0, 0.5, 1.5, 0.1])?;
    let mut objects = list(u, MOST_OBJECTS, |u| object(u, step))?;
    let worlds: Vec<u32> = if descriptor.worlds > 1 {
        let world = |u: &mut Unstructured<'_>| Ok(world(u)?.min(descriptor.worlds));
        objects.iter().map(|_| world(u)).collect::<Result<_>>()?
    } else {
        Vec::new()
    };
    let plain = list(u, MOST_ASKED, |u| ray(u, step))?;
    let swept = if u.arbitrary()? {
        plain.iter().map(|ray| sweep(u, *ray)).collect::<Result<Vec<_>>>()?
    } else {
        Vec::new()
    };
    let boxes = list(u, MOST_ASKED, |u| object(u, step))?;
    let queries = boxes
        .iter()
        .map(|bounds| query(u, *bounds))
        .collect::<Result<Vec<_>>>()?;
    // The largest float would count as infinite.
    let radius = length(u)?.min(f32::MAX.next_down());
    let half = u.arbitrary()?;
    let queries = match u.int_in_range(0..=4)? {
        0 => Queries::None,
        1 => Queries::Boxes(Source::Host(&boxes)),
        2 => Queries::General(Source::Host(&queries)),
        3 => Queries::Objects(SelfQuery::Within { radius, half }),
        _ => Queries::Objects(SelfQuery::Overlaps { half }),
    };
    // Brute force supports periods only for neighbours.
    let is_periodic = descriptor.periods != [0.0; 3];
    if is_periodic {
        descriptor.pairs = false;
    }
    // Near the largest float, sums of bounds become infinite, and grids may then differ.
    if is_periodic || !swept.is_empty() {
        for bound in objects
            .iter_mut()
            .flat_map(|object| object.min.iter_mut().chain(&mut object.max))
        {
            if bound.is_finite() {
                *bound = bound.clamp(-1e38, 1e38);
            }
        }
    }
    let count = if u.ratio(1, 3)? {
        u.int_in_range(0..=objects.len())?
    } else {
        0
    };
    let (statics, moving) = objects.split_at(count);
    let (static_worlds, worlds) = worlds.split_at(count.min(worlds.len()));
    let scene = Scene {
        objects: Source::Host(moving),
        worlds: Source::Host(worlds),
        statics: Statics {
            objects: Source::Host(statics),
            worlds: Source::Host(static_worlds),
            generation: 0,
        },
        query: QueryInput {
            rays: match (is_periodic, swept.is_empty()) {
                (true, _) => Rays::default(),
                (false, true) => Rays::Plain(Source::Host(&plain)),
                (false, false) => Rays::Swept(Source::Host(&swept)),
            },
            queries: match queries {
                Queries::Boxes(_) | Queries::General(Source::Host(_)) if is_periodic => Queries::None,
                queries => queries,
            },
            query_mode: match u.int_in_range(0..=5)? {
                0..=2 => QueryMode::All,
                nearest => QueryMode::Nearest(nearest - 2),
            },
            ..QueryInput::default()
        },
        ..Scene::default()
    };
    let Ok(result) = cpu::step_scene(&descriptor, &scene) else {
        return Ok(());
    };
    if std::env::var_os("SHOW_SCENE").is_some() {
        eprintln!("{descriptor:?}\n{scene:?}");
    }
    let expected = Expected::of(&descriptor, &scene);
    check(&descriptor, &scene, &expected, &result, "reference");
    if descriptor.outputs.ray_cells {
        for ends in result.ray_cell_offsets.windows(2) {
            let [from, to] = [ends[0], ends[1]].map(|end| (end as usize).min(result.ray_cells.len()));
            let mut cells = result.ray_cells[from..to].to_vec();
            assert!(cells.is_sorted_by_key(|cell| cell.level), "levels of {cells:?}");
            cells.sort_unstable();
            assert!(cells.windows(2).all(|two| two[0] < two[1]), "a cell twice in {cells:?}");
        }
    }
    Ok(())
}

fn list<T>(
    u: &mut Unstructured<'_>,
    most: u8,
    mut one: impl FnMut(&mut Unstructured<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let count = u.int_in_range(0..=most)?;
    (0..count).map(|_| one(u)).collect()
}

fn descriptor(u: &mut Unstructured<'_>) -> Result<BroadPhaseDescriptor<'static>> {
    let scheme = u.int_in_range(0..=2)?;
    let length = if u.ratio(1, 4)? {
        f32::from_bits(u.arbitrary()?)
    } else {
        *u.choose(&[1.0, 0.5, 1.5, 0.1, 3.0, 64.0, 2f32.powi(-100), 2f32.powi(90)])?
    };
    let flags: u8 = u.arbitrary()?;
    let flag = |bit: u8| flags >> bit & 1 != 0;
    let capacity = |u: &mut Unstructured<'_>| Ok(Some(u.int_in_range(1..=40)?));
    let is_fixed = flag(0);
    let ray_cells = flag(1);
    let capacities = if is_fixed || ray_cells {
        Capacities {
            pairs: capacity(u)?,
            hits: capacity(u)?,
            // Usually `None`, because few entries leave little to compare.
            entries: if flag(2) { capacity(u)? } else { None },
            ray_cells: capacity(u)?,
            results: capacity(u)?,
            rounds: None,
        }
    } else {
        Capacities::default()
    };
    Ok(BroadPhaseDescriptor {
        dimensions: if flag(3) { Dimensions::Two } else { Dimensions::Three },
        scheme: match scheme {
            0 => Scheme::Hierarchical,
            1 => Scheme::Uniform { cell_size: length },
            _ => Scheme::Adaptive { min_scale: length },
        },
        margin: *u.choose(&[0.0, 0.0, 0.125, 0.1, 1e-20, 1e30])?,
        periods: *u.choose(&[[0.0; 3], [0.0; 3], [0.0; 3], [4.0, 4.0, 4.0], [5.0, 0.0, 0.3]])?,
        worlds: *u.choose(&[1, 1, 2, 5, 70_000])?,
        pairs: !flag(4),
        filters: !flag(5),
        outputs: OutputOptions {
            ray_mode: *u.choose(&[RayMode::All, RayMode::All, RayMode::Closest, RayMode::Any])?,
            // The cells of a wide ray may exceed memory, so outputs with cells do not grow.
            ray_cells,
            capacities,
            growth: if is_fixed || ray_cells {
                Growth::Fixed
            } else {
                Growth::Grow
            },
            ..Default::default()
        },
        count_candidates: flag(6),
        ..Default::default()
    })
}

const EXTREMES: [f32; 16] = [
    f32::NAN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::MAX,
    f32::MIN,
    1e30,
    -1e30,
    1e-40,
    -1e-45,
    f32::MIN_POSITIVE,
    8_388_608.0,
    -16_777_216.0,
    1e9,
    -0.0,
    1e-20,
    8.507_059e37,
];

/// Returns mostly coordinates on a lattice of 32 points, some moved by one float. Zeros have both signs.
fn coordinate(u: &mut Unstructured<'_>, step: f32) -> Result<f32> {
    let code: u16 = u.arbitrary()?;
    let at = (f32::from(code & 31) - 16.0) * step;
    Ok(match code >> 12 {
        15 => EXTREMES[usize::from(code & 15)],
        14 => f32::from_bits(u.arbitrary()?),
        13 => at.next_up(),
        12 => at.next_down(),
        11 => -at,
        10 => at * 64.0,
        _ => at,
    })
}

fn vector(u: &mut Unstructured<'_>, step: f32) -> Result<[f32; 3]> {
    Ok([coordinate(u, step)?, coordinate(u, step)?, coordinate(u, step)?])
}

fn length(u: &mut Unstructured<'_>) -> Result<f32> {
    let code: u8 = u.arbitrary()?;
    Ok(match code {
        0..200 => f32::from(code & 15) * 0.25,
        200..216 => EXTREMES[usize::from(code - 200)].abs(),
        216 => f32::from_bits(u.arbitrary()?),
        _ => f32::from(code).sqrt(),
    })
}

fn world(u: &mut Unstructured<'_>) -> Result<u32> {
    Ok(match u.arbitrary::<u8>()? {
        255 => u32::MAX,
        254 => 69_999,
        code => u32::from(code & 7),
    })
}

fn object(u: &mut Unstructured<'_>, step: f32) -> Result<Aabb> {
    let (a, b) = (vector(u, step)?, vector(u, step)?);
    let flags: u8 = u.arbitrary()?;
    // Sorts two bounds. Only case 7 below may have inverted bounds.
    let ordered = |axis: usize, low: bool| {
        if (a[axis] <= b[axis]) == low { a[axis] } else { b[axis] }
    };
    let axes = [0, 1, 2];
    let mut object = match flags & 7 {
        7 => Aabb::new(a, b),
        5 | 6 => Aabb::point(a),
        _ => Aabb::new(
            axes.map(|axis| ordered(axis, true)),
            axes.map(|axis| ordered(axis, false)),
        ),
    };
    match flags >> 3 {
        0..20 => {}
        20..26 => object.group = u.arbitrary::<u8>()?.into(),
        26 | 27 => object.group = Aabb::STATIC | u32::from(flags & 1),
        28 => object.group = Aabb::EXCLUDED,
        29 => (object.group, object.layers) = u.arbitrary()?,
        _ => object = object.with_layers(u.arbitrary::<u8>()?.into(), u.arbitrary::<u8>()?.into()),
    }
    Ok(object)
}

fn ray(u: &mut Unstructured<'_>, step: f32) -> Result<Ray> {
    let (origin, direction) = (vector(u, step)?, vector(u, 1.0)?);
    let code: u8 = u.arbitrary()?;
    let t_max = match code & 15 {
        0..8 => f32::INFINITY,
        8..14 => f32::from(code >> 4),
        14 => coordinate(u, 0.125)?,
        _ => -0.0,
    };
    let mut ray = Ray::new(origin, direction, t_max);
    if code == 0x77 {
        ray.layers = u.arbitrary()?;
    }
    Ok(ray)
}

fn sweep(u: &mut Unstructured<'_>, ray: Ray) -> Result<SweptRay> {
    let half_extents = [length(u)?, length(u)?, length(u)?].map(|extent| extent.min(1e30));
    let t_min = *u.choose(&[
        0.0,
        0.0,
        -0.0,
        0.25,
        1.0,
        -2.0,
        1e-40,
        f32::NAN,
        f32::INFINITY,
        f32::MAX,
    ])?;
    Ok(SweptRay::new(ray)
        .with_half_extents(half_extents)
        .with_t_min(t_min)
        .with_world(world(u)?))
}

fn query(u: &mut Unstructured<'_>, bounds: Aabb) -> Result<Query> {
    let mut query = Query::overlaps(bounds).in_world(world(u)?);
    query.radius = *u.choose(&[0.0, 0.0, 1.0, 0.5, 3.0, -1.0, 1e-30, 1e30, f32::NAN, f32::INFINITY, 2.6])?;
    Ok(query)
}
