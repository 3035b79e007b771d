use super::{Case, Run};
use crate::common::pool::opened;
use crate::common::steps::download;
use crate::common::views::views;
use crate::common::{self, Rng, TestAdapter, lattice, power_law, rods, sweep};
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};
use gpu_broad_phase::{
    Aabb, BoxLayout, BoxWords, BroadPhaseDescriptor, Capacities, CullDraw, CullOptions, Culling, DebugDraw, DebugLines,
    DeviceCount, Dimensions, DispatchArgs, Events, Growth, ObjectSet, Output, OutputOptions, Page, Pair, PairEvent,
    PairEvents, Queries, Query, QueryInput, QueryMode, Ray, RayMode, Rays, ResultOrder, Scene, Scheme, SelfQuery,
    SortStrategy, Source, Statics, SweptRay, wgpu,
};
use pollster::block_on;

type Descriptor = BroadPhaseDescriptor<'static>;
type Body = fn(&mut Run<'_>);

const SCHEMES: [(&str, Scheme); 3] = [
    ("hierarchical", Scheme::Hierarchical),
    ("uniform", Scheme::Uniform { cell_size: 1.5 }),
    ("adaptive", Scheme::Adaptive { min_scale: 0.5 }),
];
const TINY: Capacities = Capacities {
    pairs: Some(40),
    hits: Some(30),
    entries: Some(300),
    ray_cells: Some(100),
    results: Some(35),
    rounds: None,
};
const PAGES: [Page; 2] = [
    Page {
        pairs: 40,
        hits: 30,
        ray_cells: 100,
        results: 35,
    },
    Page {
        pairs: 75,
        hits: 0,
        ray_cells: 1000,
        results: 1_000_000,
    },
];
const FILTER: &str = "fn admits_pair(a: u32, b: u32) -> bool {
    return pair_data((a + b) % pair_data_count()) != (pair_group(a) & 1u);
}";

fn with(change: impl FnOnce(&mut Descriptor)) -> Descriptor {
    let mut descriptor = Descriptor::default();
    change(&mut descriptor);
    descriptor
}

fn with_outputs(change: impl FnOnce(&mut OutputOptions)) -> Descriptor {
    with(|descriptor| change(&mut descriptor.outputs))
}

fn of_schemes(names: [&'static str; 3], descriptor: Descriptor, body: Body) -> [Case; 3] {
    [0, 1, 2].map(|index| Case {
        name: names[index],
        descriptor: Descriptor {
            scheme: SCHEMES[index].1,
            ..descriptor
        },
        is_on_cpu: true,
        body,
    })
}

macro_rules! names {
    ($name:literal) => {
        [
            concat!($name, ", hierarchical"),
            concat!($name, ", uniform"),
            concat!($name, ", adaptive"),
        ]
    };
}

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.extend(of_schemes(names!("plain"), Descriptor::default(), plain));
    cases.extend(of_schemes(names!("sizes"), Descriptor::default(), sizes));
    let worlds = with(|descriptor| {
        descriptor.worlds = 3;
        descriptor.margin = 0.0625;
    });
    cases.extend(of_schemes(names!("worlds and filters"), worlds, filtered_worlds));
    cases.extend(of_schemes(names!("statics"), Descriptor::default(), statics));
    let all = with_outputs(|outputs| {
        outputs.ray_mode = RayMode::All;
        outputs.ray_cells = true;
    });
    cases.extend(of_schemes(names!("all hits and cells"), all, rays));
    cases.extend(of_schemes(names!("queries"), Descriptor::default(), queries));
    let growing = Descriptor {
        outputs: OutputOptions {
            capacities: TINY,
            ..all.outputs
        },
        ..all
    };
    cases.extend(of_schemes(names!("growth"), growing, growth));
    let fixed = Descriptor {
        outputs: OutputOptions {
            growth: Growth::Fixed,
            ..growing.outputs
        },
        ..growing
    };
    cases.extend(of_schemes(names!("pages"), fixed, pages));
    cases.extend(options(&all, &fixed));
    cases.extend(inputs());
    cases.extend(sequences(&growing));
    cases.extend(components(&all));
    cases
}

fn case(name: &'static str, descriptor: Descriptor, body: Body) -> Case {
    Case {
        name,
        descriptor,
        is_on_cpu: true,
        body,
    }
}

fn on_gpu(name: &'static str, descriptor: Descriptor, body: Body) -> Case {
    Case {
        is_on_cpu: false,
        ..case(name, descriptor, body)
    }
}

fn options(all: &Descriptor, fixed: &Descriptor) -> Vec<Case> {
    let sorted = |descriptor: &Descriptor| {
        let mut sorted = *descriptor;
        sorted.outputs.order = ResultOrder::Sorted;
        sorted
    };
    let any = with_outputs(|outputs| outputs.ray_mode = RayMode::Any);
    let uniform = SCHEMES[1].1;
    vec![
        case("no pairs", with(|of| of.pairs = false), plain),
        case("candidates", with(|of| of.count_candidates = true), plain),
        case("no filters", with(|of| of.filters = false), plain),
        case("two dimensions", with(|of| of.dimensions = Dimensions::Two), queries),
        case("periods", with(|of| of.periods = [9.0, 0.0, 7.5]), queries),
        case("margin", with(|of| of.margin = 0.3), plain),
        case("any hit", any, rays),
        case("any hit, uniform", Descriptor { scheme: uniform, ..any }, rays),
        case("sorted", sorted(all), rays),
        case("sorted pages", sorted(fixed), pages),
        case(
            "sorted worlds, uniform",
            {
                let mut worlds = sorted(&Descriptor::default());
                worlds.worlds = 3;
                worlds.scheme = uniform;
                worlds
            },
            filtered_worlds,
        ),
        on_gpu("portable sort", with(|of| of.sort = SortStrategy::Portable), sizes),
        on_gpu("timestamps", with_outputs(|outputs| outputs.timestamps = true), statics),
    ]
}

fn inputs() -> Vec<Case> {
    let all = with_outputs(|outputs| outputs.ray_mode = RayMode::All);
    let uniform = |descriptor: Descriptor| Descriptor {
        scheme: SCHEMES[1].1,
        ..descriptor
    };
    let worlds = with(|descriptor| descriptor.worlds = 3);
    vec![
        case("empty", all, empty),
        case("empty, uniform", uniform(all), empty),
        case("sorted rays", Descriptor::default(), many_rays),
        case("sorted rays, all hits", all, many_rays),
        case("excluded pairs", Descriptor::default(), excluded),
        case("excluded pairs, uniform", uniform(Descriptor::default()), excluded),
        case("worlds of statics", worlds, statics_of_worlds),
        on_gpu("pair filter", with(|of| of.pair_filter = Some(FILTER)), excluded),
        on_gpu("device counts", all, device_counts),
        on_gpu("device counts, uniform", uniform(Descriptor::default()), device_counts),
        on_gpu("strided", worlds, strided),
        on_gpu("layouts of boxes", Descriptor::default(), layouts),
    ]
}

fn sequences(growing: &Descriptor) -> Vec<Case> {
    let rounds = |count: Option<u32>, growth: Growth| {
        with_outputs(|outputs| {
            outputs.capacities.rounds = count;
            outputs.growth = growth;
        })
    };
    vec![
        case("rounds", rounds(Some(3), Growth::Fixed), crowd),
        case("rounds grow", rounds(None, Growth::Grow), crowd),
        case("rounds of nearest", rounds(Some(9), Growth::Grow), nearest_of_crowd),
        case("queries of a table", *growing, later_queries),
        case("counts vary", Descriptor::default(), varying_counts),
        on_gpu("buffers shrink", Descriptor::default(), shrinking),
        on_gpu("two steps of an encoder", *growing, two_steps),
        on_gpu("other descriptors", Descriptor::default(), other_descriptors),
        on_gpu("trim", Descriptor::default(), trimmed),
        on_gpu("query sets", *growing, query_sets),
        on_gpu("copies of outputs", *growing, copies),
        on_gpu("complete results", *growing, complete),
        on_gpu(
            "complete pages",
            {
                let mut fixed = *growing;
                fixed.outputs.growth = Growth::Fixed;
                fixed
            },
            complete,
        ),
    ]
}

fn components(all: &Descriptor) -> Vec<Case> {
    let few = with_outputs(|outputs| outputs.capacities.pairs = Some(300));
    vec![
        on_gpu("object set and events", Descriptor::default(), object_set),
        on_gpu("events overflow", few, object_set),
        on_gpu("culling", with(|of| of.worlds = 3), culling),
        on_gpu("lines", *all, lines),
        on_gpu(
            "lines, uniform",
            Descriptor {
                scheme: SCHEMES[1].1,
                ..*all
            },
            lines,
        ),
        on_gpu("dispatch arguments", *all, dispatch_args),
    ]
}

struct Lists {
    objects: Vec<Aabb>,
    worlds: Vec<u32>,
    rays: Vec<Ray>,
    swept: Vec<SweptRay>,
    boxes: Vec<Aabb>,
    general: Vec<Query>,
}

impl Lists {
    fn new(kind: usize, count: usize) -> Self {
        let mut rng = Rng(1000 * kind as u64 + count as u64);
        let scene = common::scene(kind, count, 90, &mut rng);
        Self {
            swept: sweep(&scene.rays, 3, &mut rng),
            worlds: scene.worlds(3),
            general: scene.queries(3),
            boxes: scene.objects.iter().rev().take(70).copied().collect(),
            objects: scene.objects,
            rays: scene.rays,
        }
    }

    fn lattice(count: usize) -> Self {
        Self::new(common::LATTICE, count)
    }

    fn of(objects: Vec<Aabb>, rays: Vec<Ray>) -> Self {
        Self {
            objects,
            rays,
            ..Self::lattice(0)
        }
    }

    fn scene(&self) -> Scene<'_> {
        Scene {
            objects: Source::Host(&self.objects),
            query: QueryInput {
                rays: Rays::Plain(Source::Host(&self.rays)),
                queries: Queries::Boxes(Source::Host(&self.boxes)),
                ..QueryInput::default()
            },
            ..Scene::default()
        }
    }

    fn scene_of_worlds(&self) -> Scene<'_> {
        Scene {
            worlds: Source::Host(&self.worlds),
            query: QueryInput {
                rays: Rays::Swept(Source::Host(&self.swept)),
                queries: Queries::General(Source::Host(&self.general)),
                ..self.scene().query
            },
            ..self.scene()
        }
    }

    fn with_statics(&self, count: usize, generation: u64) -> Scene<'_> {
        let (statics, objects) = self.objects.split_at(count);
        Scene {
            objects: Source::Host(objects),
            statics: Statics {
                objects: Source::Host(statics),
                generation,
                ..Statics::default()
            },
            ..self.scene()
        }
    }
}

fn plain(run: &mut Run<'_>) {
    for count in [700, 400, 900] {
        run.step(&Lists::lattice(count).scene());
    }
}

fn sizes(run: &mut Run<'_>) {
    for (kind, count) in [(1, 2500), (3, 600), (4, 800), (2, 120)] {
        run.step(&Lists::new(kind, count).scene());
    }
}

fn filtered_worlds(run: &mut Run<'_>) {
    for count in [1200, 800] {
        run.step(&Lists::lattice(count).scene_of_worlds());
    }
}

fn statics(run: &mut Run<'_>) {
    let [first, second] = [700, 650].map(Lists::lattice);
    let moved = Lists::lattice(300);
    let of = |statics, moving| Scene {
        objects: moving,
        ..statics
    };
    run.step(&first.with_statics(400, 1));
    run.step(&of(first.with_statics(400, 1), Source::Host(&moved.objects)));
    run.step(&of(first.with_statics(400, 1), Source::Host(&moved.objects[..100])));
    run.step(&second.with_statics(400, 2));
    run.step(&second.with_statics(500, 2));
    run.step(&moved.scene());
    run.step(&second.with_statics(500, 2));
    run.step(&second.with_statics(650, 2));
}

fn statics_of_worlds(run: &mut Run<'_>) {
    let lists = Lists::lattice(900);
    let (static_worlds, worlds) = lists.worlds.split_at(300);
    for generation in [1, 1, 2] {
        let scene = lists.with_statics(300, generation);
        run.step(&Scene {
            worlds: Source::Host(worlds),
            statics: Statics {
                worlds: Source::Host(static_worlds),
                ..scene.statics
            },
            query: QueryInput {
                rays: Rays::Swept(Source::Host(&lists.swept)),
                queries: Queries::General(Source::Host(&lists.general)),
                ..scene.query
            },
            ..scene
        });
    }
}

fn rays(run: &mut Run<'_>) {
    let (objects, rays) = rods(200, 150, &mut Rng(5));
    run.step(&Lists::of(objects, rays).scene());
    let lists = Lists::new(0, 900);
    run.step(&Scene {
        query: QueryInput {
            rays: Rays::Swept(Source::Host(&lists.swept)),
            ..lists.scene().query
        },
        ..lists.scene()
    });
    run.step(&Lists::new(1, 1500).scene());
}

fn many_rays(run: &mut Run<'_>) {
    let mut rng = Rng(8);
    let objects = common::uniform(1500, &mut rng);
    let rays: Vec<_> = (0..5000)
        .map(|_| {
            let [origin, direction] = [12.0, 1.0].map(|side| [0; 3].map(|_| side * rng.unit()));
            Ray::new(origin, direction.map(|part| part - 0.5), 6.0)
        })
        .collect();
    let lists = Lists::of(objects, rays);
    run.step(&lists.scene());
    run.step(&lists.with_statics(500, 1));
}

fn queries(run: &mut Run<'_>) {
    let lists = Lists::lattice(600);
    let points = Lists::of(
        power_law(500, &mut Rng(6))
            .iter()
            .map(|of| Aabb::point(of.min))
            .collect(),
        Vec::new(),
    );
    let within = |half| Queries::Objects(SelfQuery::Within { radius: 1.3, half });
    let overlaps = |half| Queries::Objects(SelfQuery::Overlaps { half });
    let general = Queries::General(Source::Host(&lists.general));
    for (lists, queries, query_mode) in [
        (&lists, general, QueryMode::All),
        (&lists, overlaps(false), QueryMode::All),
        (&lists, overlaps(true), QueryMode::All),
        (&points, within(false), QueryMode::All),
        (&points, within(true), QueryMode::All),
        (&points, within(false), QueryMode::Nearest(5)),
        (&lists, general, QueryMode::Nearest(3)),
        (&lists, overlaps(false), QueryMode::Nearest(4)),
    ] {
        run.step(&Scene {
            query: QueryInput {
                queries,
                query_mode,
                ..lists.scene().query
            },
            ..lists.scene()
        });
    }
}

fn growth(run: &mut Run<'_>) {
    let lists = Lists::lattice(500);
    for _ in 0..4 {
        run.step(&lists.scene_of_one_world());
    }
    run.step(&lists.with_statics(200, 1));
    run.step(&lists.with_statics(200, 1));
}

fn pages(run: &mut Run<'_>) {
    let lists = Lists::lattice(500);
    run.step(&lists.with_statics(200, 1));
    for first in PAGES {
        run.page(first);
    }
    run.step(&lists.scene_of_one_world());
    for first in PAGES {
        run.page(first);
    }
}

impl Lists {
    fn scene_of_one_world(&self) -> Scene<'_> {
        Scene {
            worlds: Source::default(),
            ..self.scene_of_worlds()
        }
    }
}

fn empty(run: &mut Run<'_>) {
    let [none, one, some] = [0, 1, 300].map(Lists::lattice);
    for lists in [&none, &one, &some, &none] {
        run.step(&lists.scene());
    }
    run.step(&Scene::default());
    run.step(&Scene {
        query: QueryInput {
            queries: Queries::Objects(SelfQuery::within(1.0)),
            ..none.with_statics(0, 1).query
        },
        ..none.with_statics(0, 1)
    });
}

fn excluded(run: &mut Run<'_>) {
    let lists = Lists::lattice(600);
    let pairs = brute_force::pairs(&lists.objects);
    let excluded: Vec<_> = pairs
        .iter()
        .step_by(3)
        .map(|&Pair { a, b }| Pair { a: b, b: a })
        .collect();
    let data = [0, 1, 2, 1];
    for (count, statics) in [
        (excluded.len(), 0),
        (excluded.len() / 2, 0),
        (excluded.len(), 250),
        (0, 250),
    ] {
        run.step(&Scene {
            excluded_pairs: Source::Host(&excluded[..count]),
            pair_filter_data: Source::Host(&data),
            query: QueryInput {
                queries: Queries::Objects(SelfQuery::Overlaps { half: false }),
                ..lists.with_statics(statics, statics as u64).query
            },
            ..lists.with_statics(statics, statics as u64)
        });
    }
}

fn buffer<T: bytemuck::Pod>(adapter: &TestAdapter, rows: &[T]) -> wgpu::Buffer {
    adapter.device.create_buffer_init(&BufferInitDescriptor {
        label: None,
        contents: bytemuck::cast_slice(rows),
        usage: wgpu::BufferUsages::STORAGE,
    })
}

fn device_counts(run: &mut Run<'_>) {
    let Some(adapter) = run.adapter() else { return };
    let lists = Lists::lattice(800);
    let counts = buffer(adapter, &[0u32, 60, 333, 50, 9999]);
    let count = |word| Some(DeviceCount { buffer: &counts, word });
    for [objects, rays, queries] in [[2, 1, 3], [2, 0, 4], [4, 3, 0]] {
        run.step(&Scene {
            object_count: count(objects),
            query: QueryInput {
                ray_count: count(rays),
                query_count: count(queries),
                ..lists.with_statics(100, 1).query
            },
            ..lists.with_statics(100, 1)
        });
    }
    run.query(&QueryInput {
        rays: Rays::Plain(Source::Host(&lists.rays)),
        ray_count: count(1),
        ..QueryInput::default()
    });
}

fn spread<T: bytemuck::Pod>(adapter: &TestAdapter, elements: &[T], words: usize) -> wgpu::Buffer {
    let mut spread = vec![0u32; words];
    for element in elements {
        let mut row: Vec<u32> = bytemuck::pod_collect_to_vec(bytemuck::bytes_of(element));
        row.resize(words, 7);
        spread.extend(row);
    }
    buffer(adapter, &spread)
}

fn strided(run: &mut Run<'_>) {
    let Some(adapter) = run.adapter() else { return };
    let lists = Lists::lattice(700);
    let objects = spread(adapter, &lists.objects, 11);
    let worlds = spread(adapter, &lists.worlds, 3);
    let swept = spread(adapter, &lists.swept, 17);
    let general = spread(adapter, &lists.general, 12);
    let [statics, moving] = [200, 500];
    let scene = |generation| Scene {
        objects: Source::device(&objects, moving).at(44 * 201).stride(44),
        worlds: Source::device(&worlds, moving).at(12 * 201).stride(12),
        statics: Statics {
            objects: Source::device(&objects, statics).at(44).stride(44),
            worlds: Source::device(&worlds, statics).at(12).stride(12),
            generation,
        },
        query: QueryInput {
            rays: Rays::Swept(Source::device(&swept, 90).at(68).stride(68)),
            queries: Queries::General(Source::device(&general, 200).at(48).stride(48)),
            ..QueryInput::default()
        },
        ..Scene::default()
    };
    run.step(&scene(1));
    run.step(&scene(1));
    run.step(&Scene {
        statics: Statics::default(),
        ..scene(0)
    });
}

fn layouts(run: &mut Run<'_>) {
    let Some(adapter) = run.adapter() else { return };
    let lists = Lists::new(0, 500);
    let tight: Vec<_> = lists
        .objects
        .iter()
        .flat_map(|object| [object.min, object.max])
        .collect();
    let halves: Vec<_> = lists
        .objects
        .iter()
        .map(|object| Aabb::new(object.min, [0.5; 3]))
        .collect();
    let [packed, tight, halves] = [
        buffer(adapter, &lists.objects),
        buffer(adapter, &tight),
        buffer(adapter, &halves),
    ];
    let sources = [
        Source::device(&packed, 500),
        Source::device(&packed, 500).layout(BoxLayout::MinMax, BoxWords::Padding),
        Source::device(&tight, 500).layout(BoxLayout::MinMax, BoxWords::Tight),
        Source::device(&halves, 500).layout(BoxLayout::CenterHalf, BoxWords::Filters),
    ];
    for objects in sources {
        run.step(&Scene {
            objects,
            query: QueryInput {
                queries: Queries::Boxes(objects),
                ..lists.scene().query
            },
            ..lists.scene()
        });
    }
}

fn crowd(run: &mut Run<'_>) {
    let mut objects: Vec<_> = (0..17_000)
        .map(|index| {
            let [x, y] = [index % 317, index / 317].map(|at| 0.5 * at as f32);
            Aabb::new([x, y, -1e6], [x + 0.25, y + 0.25, 1e6])
        })
        .collect();
    objects[16_999] = objects[0];
    let lists = Lists::of(objects, Vec::new());
    for _ in 0..2 {
        run.step(&Scene {
            query: QueryInput {
                queries: Queries::None,
                ..lists.scene().query
            },
            ..lists.scene()
        });
    }
}

fn nearest_of_crowd(run: &mut Run<'_>) {
    let lists = Lists::new(0, 600);
    for count in [500, 1000] {
        run.step(&Scene {
            query: QueryInput {
                queries: Queries::Boxes(Source::Host(&lists.boxes[..20])),
                query_mode: QueryMode::Nearest(count),
                ..lists.scene().query
            },
            ..lists.scene()
        });
    }
}

fn later_queries(run: &mut Run<'_>) {
    let lists = Lists::lattice(500);
    run.step(&lists.with_statics(200, 1));
    let rays = Rays::Plain(Source::Host(&lists.rays));
    for queries in [
        Queries::None,
        Queries::Boxes(Source::Host(&lists.boxes)),
        Queries::Objects(SelfQuery::Overlaps { half: true }),
    ] {
        run.query(&QueryInput {
            rays,
            queries,
            ..QueryInput::default()
        });
        run.page(PAGES[0]);
    }
    run.query(&QueryInput {
        queries: Queries::Boxes(Source::Host(&lists.boxes)),
        query_mode: QueryMode::Nearest(3),
        ..QueryInput::default()
    });
    run.step(&lists.scene());
}

fn varying_counts(run: &mut Run<'_>) {
    let lists = Lists::lattice(1000);
    for frame in 0..12 {
        let count = |most: usize| most / 2 + (frame * 37) % (most / 2);
        run.step(&Scene {
            objects: Source::Host(&lists.objects[..count(1000)]),
            query: QueryInput {
                rays: Rays::Plain(Source::Host(&lists.rays[..count(90)])),
                queries: Queries::Boxes(Source::Host(&lists.boxes[..count(70)])),
                ..QueryInput::default()
            },
            ..Scene::default()
        });
    }
}

fn shrinking(run: &mut Run<'_>) {
    let lists = Lists::lattice(4000);
    run.step(&lists.scene());
    for _ in 0..10 {
        run.step(&Scene {
            objects: Source::Host(&lists.objects[..100]),
            ..lists.scene()
        });
    }
    run.step(&lists.with_statics(2000, 1));
}

fn two_steps(run: &mut Run<'_>) {
    let [first, second] = [400, 600].map(Lists::lattice);
    for _ in 0..2 {
        run.on_gpu(|gpu, encoder| {
            gpu.step(encoder, first.scene()).unwrap();
            gpu.step(encoder, second.with_statics(100, 1)).unwrap();
        });
        run.read_gpu();
    }
}

fn other_descriptors(run: &mut Run<'_>) {
    let lists = Lists::lattice(500);
    let descriptor = run.descriptor;
    for (_, scheme) in SCHEMES.iter().cycle().skip(1).take(3) {
        run.on_gpu(|gpu, _| {
            gpu.set_descriptor(&Descriptor {
                scheme: *scheme,
                margin: 0.125,
                ..descriptor
            })
            .unwrap();
        });
        run.step(&lists.with_statics(200, 1));
    }
}

fn trimmed(run: &mut Run<'_>) {
    let lists = Lists::lattice(700);
    for _ in 0..2 {
        run.step(&lists.with_statics(300, 1));
        run.on_gpu(|gpu, _| gpu.trim());
    }
    run.step(&lists.scene());
}

fn query_sets(run: &mut Run<'_>) {
    let lists = Lists::lattice(600);
    let outputs = run.descriptor.outputs;
    let sets = run.on_gpu(|gpu, _| ["rays", "queries"].map(|name| gpu.query_set(name, &outputs).unwrap()));
    let Some([mut rays, mut queries]) = sets else { return };
    for statics in [200, 200, 0] {
        let results = run.on_gpu(|gpu, encoder| {
            let step = gpu.step(encoder, lists.with_statics(statics, 1)).unwrap();
            let input = QueryInput {
                rays: Rays::Swept(Source::Host(&lists.swept)),
                ..QueryInput::default()
            };
            rays.record(encoder, &step, input).unwrap();
            let input = QueryInput {
                queries: Queries::Objects(SelfQuery::Overlaps { half: false }),
                ..QueryInput::default()
            };
            queries.record(encoder, &step, input).unwrap();
            queries.page(encoder, PAGES[0]).unwrap();
        });
        assert!(results.is_some());
        run.read_gpu();
        for set in [&mut rays, &mut queries] {
            let result = block_on(set.read_back()).unwrap();
            run.observe(&result);
        }
    }
}

fn copies(run: &mut Run<'_>) {
    let lists = Lists::lattice(500);
    for outputs in [Output::ALL, &[Output::QueryObjects]] {
        let copied = run.on_gpu(|gpu, encoder| {
            gpu.step(encoder, lists.scene()).unwrap();
            gpu.record_read_back(encoder, outputs).unwrap()
        });
        let result = copied.map(|mut copied| copied.take().unwrap().unwrap());
        run.observe(&result.unwrap());
    }
}

/// By [`BroadPhase`](gpu_broad_phase::BroadPhase), which repeats a step or reads it in pages.
fn complete(run: &mut Run<'_>) {
    let Some(adapter) = run.adapter() else { return };
    let lists = Lists::lattice(500);
    let mut broad_phase = opened(adapter, &run.descriptor);
    for statics in [0, 200] {
        let result = block_on(broad_phase.step_scene(&lists.with_statics(statics, 1))).unwrap();
        run.observe(&result);
    }
    let input = QueryInput {
        rays: Rays::Swept(Source::Host(&lists.swept)),
        ..QueryInput::default()
    };
    let result = block_on(broad_phase.query(&input)).unwrap();
    run.observe(&result);
}

fn object_set(run: &mut Run<'_>) {
    let Some(adapter) = run.adapter() else { return };
    let mut rng = Rng(12);
    let mut set = ObjectSet::new();
    let mut events = PairEvents::new(None);
    let mut handles: Vec<_> = lattice(400, &mut rng)
        .into_iter()
        .map(|object| set.insert(object))
        .collect();
    for object in lattice(100, &mut rng) {
        set.insert_static(object);
    }
    for frame in 0..5 {
        run.on_gpu(|gpu, encoder| {
            let scene = set.upload(&adapter.device, encoder).unwrap();
            let step = gpu.step(encoder, scene).unwrap();
            events.record(encoder, &step, set.names()).unwrap();
        });
        run.read_gpu();
        let Events {
            persisting,
            begun,
            ended,
            ..
        } = block_on(events.read_back()).unwrap();
        // Generations start at a number of the process.
        let of = |rows: &[PairEvent]| rows.iter().map(|event| [event.a, event.b]).collect::<Vec<_>>();
        let mut ended = of(&ended);
        ended.sort_unstable();
        for rows in [of(&persisting), of(&begun), ended] {
            run.words(rows.as_flattened());
        }
        let moved = lattice(30, &mut rng);
        match frame {
            0 | 3 => moved
                .iter()
                .enumerate()
                .for_each(|(index, &object)| set.set(handles[3 * index], object).unwrap()),
            1 => {
                for handle in handles.drain(..50) {
                    set.remove(handle).unwrap();
                }
                handles.extend(moved.into_iter().map(|object| set.insert(object)));
            }
            _ => handles.extend(lattice(400, &mut rng).into_iter().map(|object| set.insert(object))),
        }
    }
}

fn culling(run: &mut Run<'_>) {
    let lists = Lists::lattice(500);
    let views = views(&lists.objects, 3, 9, &mut Rng(3));
    let mut culling = Culling::new(None);
    for options in [
        CullOptions::default(),
        CullOptions {
            list_capacity: Some(300),
            draw: Some(CullDraw::Indices(36)),
        },
    ] {
        run.step_and(&lists.scene_of_worlds(), |encoder, step| {
            culling.record(encoder, step, Source::Host(&views), options).unwrap();
        });
        let visible = block_on(culling.read_back()).unwrap();
        visible.objects.iter().for_each(|objects| run.words(objects));
    }
}

fn lines(run: &mut Run<'_>) {
    let Some(adapter) = run.adapter() else { return };
    let lists = Lists::new(0, 200);
    let levels = u32::MAX;
    for lines in [
        DebugLines::Boxes,
        DebugLines::Cells { levels },
        DebugLines::StaticCells { levels },
        DebugLines::Pairs,
        DebugLines::RayCells,
    ] {
        let mut draw = DebugDraw::new(&run.descriptor, None);
        let mut output = None;
        run.step_and(&lists.with_statics(80, 1), |encoder, step| {
            output = Some(draw.record(encoder, step, lines, [1, 2, 3, 4], 5000).unwrap());
        });
        let output = output.unwrap();
        let args: Vec<u32> = download(&adapter.device, &adapter.queue, &output.args, 20);
        let bytes = 16 * u64::from(args[0]).max(1);
        let vertices: Vec<u32> = download(&adapter.device, &adapter.queue, &output.vertices, bytes);
        run.words(&args);
        run.words(&vertices[..4 * args[0] as usize]);
    }
}

fn dispatch_args(run: &mut Run<'_>) {
    let Some(adapter) = run.adapter() else { return };
    let lists = Lists::lattice(300);
    for rows in [Output::Pairs, Output::RayHits, Output::RayCells, Output::QueryObjects] {
        let mut args = DispatchArgs::new(None);
        let mut buffer = None;
        run.step_and(&lists.scene(), |encoder, step| {
            buffer = Some(args.record(encoder, step, rows, 64).unwrap());
        });
        run.words(&download(&adapter.device, &adapter.queue, &buffer.unwrap(), 16));
    }
}
