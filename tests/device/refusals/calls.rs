//! Calls in the wrong order, and what components, table shaders and engines refuse.

use super::{Table, descriptor, fixed, options, valid_scene};
use crate::common::pool::pooled;
use crate::common::steps::{UNIT, broad_phase, buffer, encoder, scene_of};
use gpu_broad_phase::wgpu::{self, BufferUsages};
use gpu_broad_phase::{
    Backend, BroadPhase, CullOptions, Culling, DebugDraw, DebugLines, DispatchArgs, Frustum, ObjectNames, ObjectSet,
    Output, Page, PairEvents, Queries, QueryInput, Scene, Scheme, SelfQuery, Source, StepError, StepOutput,
    TableShader, cpu, reference,
};
use pollster::block_on;

pub struct Components {
    pub culling: Culling,
    pub events: PairEvents,
    lines: DebugDraw,
    args: DispatchArgs,
}

impl Components {
    pub fn new() -> Self {
        Self {
            culling: Culling::new(None),
            events: PairEvents::new(None),
            lines: DebugDraw::new(&descriptor(|_| {}), None),
            args: DispatchArgs::new(None),
        }
    }

    pub fn record(&mut self, encoder: &mut wgpu::CommandEncoder, step: &StepOutput) -> [Result<(), StepError>; 4] {
        let views = Source::Host(&[Frustum::default()]);
        let culled = self.culling.record(encoder, step, views, CullOptions::default());
        let events = self.events.record(encoder, step, ObjectNames::default());
        let lines = self.lines.record(encoder, step, DebugLines::Boxes, [0; 4], 64);
        let args = self.args.record(encoder, step, Output::Pairs, 64);
        [culled.map(drop), events.map(drop), lines.map(drop), args.map(drop)]
    }
}

pub fn rows(table: &mut Table<'_>) {
    before_any_step(table);
    after_a_dropped_encoder(table);
    before_the_submission(table);
    culling(table);
    events_lines_and_args(table);
    table_shaders(table);
    engines(table);
}

fn before_any_step(table: &mut Table<'_>) {
    let message = "no step recorded: call step first";
    let mut gpu = broad_phase(table.adapter, &descriptor(|_| {}));
    let mut set = table.gpu.query_set("set", &options()).expect("options");
    let mut components = Components::new();
    assert_eq!(gpu.counters(), None);
    let mut open = encoder(table.adapter);
    for called in [
        gpu.page(&mut open, Page::default()).map(drop),
        gpu.query(&mut open, valid_scene().query).map(drop),
        gpu.query(&mut open, QueryInput::default()).map(drop),
        gpu.record_read_back(&mut open, Output::ALL).map(drop),
        set.page(&mut open, Page::default()).map(drop),
        set.record_read_back(&mut open, Output::ALL).map(drop),
        components.culling.record_read_back(&mut open).map(drop),
        components.events.record_read_back(&mut open).map(drop),
    ] {
        table.check("no step", message, called);
    }
    table.check("step", message, block_on(gpu.read_back()));
    table.check("set", message, block_on(set.read_back()));
    table.check("culling", message, block_on(components.culling.read_back()));
    table.check("events", message, block_on(components.events.read_back()));
}

const NOT_SUBMITTED: &str = "the last recording, or one that it reads, was not submitted: submit it, or step again";

fn after_a_dropped_encoder(table: &mut Table<'_>) {
    let mut set = table.gpu.query_set("set", &options()).expect("options");
    let shader = TableShader::new(&descriptor(|_| {}), "bp_", 0).expect("a prefix");
    let [mut dropped, mut open] = [encoder(table.adapter), encoder(table.adapter)];
    let step = table.gpu.step(&mut dropped, valid_scene()).expect("a step");
    drop(dropped);
    let gpu = &mut table.gpu;
    let calls = [
        gpu.page(&mut open, Page::default()).map(drop),
        gpu.query(&mut open, valid_scene().query).map(drop),
        gpu.record_read_back(&mut open, Output::ALL).map(drop),
        set.record(&mut open, &step, valid_scene().query).map(drop),
        shader.entries(&step.table).map(drop),
    ];
    let read = block_on(gpu.read_back());
    let message = "an encoder that this call depends on was dropped: record again; pair events need a reset first";
    for called in calls.into_iter().chain(Components::new().record(&mut open, &step)) {
        table.check("dropped", message, called);
    }
    table.check("dropped", NOT_SUBMITTED, read);
}

fn before_the_submission(table: &mut Table<'_>) {
    let mut components = Components::new();
    let mut set = table.gpu.query_set("set", &options()).expect("options");
    let mut open = encoder(table.adapter);
    let step = table.gpu.step(&mut open, valid_scene()).expect("a step");
    set.record(&mut open, &step, valid_scene().query).expect("a set");
    assert_eq!(components.record(&mut open, &step), [const { Ok(()) }; 4]);
    let mut reads = vec![
        block_on(table.gpu.read_back()).map(drop),
        block_on(set.read_back()).map(drop),
        block_on(components.culling.read_back()).map(drop),
        block_on(components.events.read_back()).map(drop),
    ];
    let ready = open.finish();
    reads.push(block_on(table.gpu.read_back()).map(drop));
    table.adapter.queue.submit([ready]);
    table.check_result("after an early read");
    assert_eq!(block_on(set.read_back()).expect("a result").query_offsets, [0, 4, 8]);
    for read in reads {
        table.check("not submitted", NOT_SUBMITTED, read);
    }
}

fn culling(table: &mut Table<'_>) {
    let options = CullOptions::default();
    let (mut culling, mut open) = (Culling::new(None), encoder(table.adapter));
    let step = table.step.clone();
    let many = [Frustum::default(); 33];
    let seen = culling.record(&mut open, &step, Source::Host(&many[..1]), options);
    let own = seen.expect("views").visible;
    let unbound = table.buffer(288, BufferUsages::COPY_DST);
    let [short, long] = [272, 1 << 16].map(|size| table.buffer(size, BufferUsages::STORAGE));
    let too_many = "33 views: the maximum is 32";
    let usage = "the buffer of views lacks the usage STORAGE";
    let too_small = "the buffer of views has 272 bytes: offset, stride and count need 288";
    let alignment = table.adapter.device.limits().min_storage_buffer_offset_alignment;
    let in_place = format!("the views must be packed, at an offset that is a multiple of {alignment} bytes");
    let is_own = "the buffer of views is visible, which this call overwrites: copy it first";
    for (views, message) in [
        (Source::Host(&many[..]), too_many),
        (Source::device(&unbound, 2), usage),
        (Source::device(&short, 2), too_small),
        (Source::device(&long, 2).at(16), &in_place),
        (Source::device(&own, 0), is_own),
    ] {
        let called = culling.record(&mut open, &step, views, options);
        table.check("views", message, called);
    }
    table.adapter.queue.submit([open.finish()]);
    let seen = block_on(culling.read_back()).expect("a result");
    assert_eq!(seen.objects, [[0, 1, 2, 3]]);
    let on_cpu = reference::cull(&descriptor(|_| {}), &valid_scene(), &many);
    table.check("on the CPU", too_many, on_cpu);

    let destroyed = table.buffer(288, BufferUsages::STORAGE);
    destroyed.destroy();
    let views = Source::device(&destroyed, 2);
    let called = culling.record(&mut encoder(table.adapter), &step, views, options);
    table.check("views", "the device refused the recording: …", called);
    assert_eq!(culling.memory().total(), 0);
    let message = "no step recorded: call step first";
    table.check("views", message, block_on(culling.read_back()));

    let count = table.limit / 4 / 32 + 1;
    let boxes = table.buffer(32 * count, BufferUsages::STORAGE);
    let mut scene = scene_of(&[]);
    scene.objects = Source::device(&boxes, count as u32);
    let mut gpu = broad_phase(table.adapter, &descriptor(|all| all.pairs = false));
    let mut open = encoder(table.adapter);
    let step = gpu.step(&mut open, scene).expect("a step");
    let lists = CullOptions {
        list_capacity: Some(u32::MAX),
        ..options
    };
    let called = culling.record(&mut open, &step, Source::Host(&many[..32]), lists);
    table.check("lists", &table.too_large("culling results", 128 * count), called);
}

fn events_lines_and_args(table: &mut Table<'_>) {
    let Components {
        mut events,
        mut lines,
        mut args,
        ..
    } = Components::new();
    let mut gpu = broad_phase(table.adapter, &descriptor(|all| all.pairs = false));
    let mut open = encoder(table.adapter);
    let bare = gpu.step(&mut open, Scene::default()).expect("a step");
    let missing = |name| format!("the step has no list of {name}: request it in its descriptor or input");
    for (output, name) in [
        (Output::Pairs, "pairs"),
        (Output::RayHits, "hits"),
        (Output::RayCells, "ray cells"),
        (Output::QueryObjects, "results of queries"),
    ] {
        let called = args.record(&mut open, &bare, output, 64);
        table.check("args", &missing(name), called);
    }
    for (drawn, name) in [(DebugLines::Pairs, "pairs"), (DebugLines::RayCells, "ray cells")] {
        let called = lines.record(&mut open, &bare, drawn, [0; 4], 9);
        table.check("lines", &missing(name), called);
    }
    let called = args.record(&mut open, &table.step, Output::Pairs, 0);
    let no_rows = "the number of rows of a workgroup is 0: it must be at least 1";
    table.check("args", no_rows, called);

    let names = ObjectNames::default();
    let called = events.record(&mut open, &bare, names);
    table.check("events", &missing("pairs"), called);
    let known = events.record(&mut open, &table.step, names).expect("events");
    let unbound = table.buffer(16, BufferUsages::COPY_DST);
    for (buffer, message) in [
        (&unbound, "the buffer of generations lacks the usage STORAGE"),
        (
            &known.counters,
            "the buffer of generations is counters_0, which this call overwrites: copy it first",
        ),
    ] {
        let names = ObjectNames {
            generations: Source::device(buffer, 2),
            ..names
        };
        let called = events.record(&mut open, &table.step, names);
        table.check("events", message, called);
    }
    let first = Page {
        pairs: 1,
        ..Page::default()
    };
    let page = table.gpu.page(&mut open, first).expect("a page");
    table.adapter.queue.submit([open.finish()]);
    let mut open = encoder(table.adapter);
    let message = "pair events need all pairs of a step, this page begins at pair 1: pass the step's own output";
    table.check("events", message, events.record(&mut open, &page, names));
    let pairs = (table.limit / 16) as u32 + 1;
    let mut gpu = broad_phase(table.adapter, &fixed(|all| all.pairs = Some(pairs)));
    let step = gpu.step(&mut open, Scene::default()).expect("a step");
    let called = events.record(&mut open, &step, names);
    table.check("events", &table.too_large("pair events", 16 * u64::from(pairs)), called);
}

fn table_shaders(table: &mut Table<'_>) {
    let message = "created for another scheme or choice of filters: create it from this broad phase's descriptor";
    let other_scheme = descriptor(|all| all.scheme = Scheme::Uniform { cell_size: 1.0 });
    for other in [other_scheme, descriptor(|all| all.filters = false)] {
        let shader = TableShader::new(&other, "bp_", 0).expect("a prefix");
        let layout = shader.layout(&table.adapter.device, wgpu::ShaderStages::COMPUTE);
        table.check("table", message, shader.bind(&layout, &table.step.table));
    }
    let mut lines = DebugDraw::new(&other_scheme, None);
    let mut open = encoder(table.adapter);
    let called = lines.record(&mut open, &table.step, DebugLines::Boxes, [0; 4], 9);
    table.check("lines", message, called);

    let first = TableShader::new(&descriptor(|_| {}), "bp_", 0).expect("a prefix");
    let invalid = |prefix: &str| {
        let rest = "use ASCII letters, digits and _, begin with a letter or one _, and avoid names in use";
        format!("invalid prefix {prefix:?}: {rest}")
    };
    for prefix in ["", "1x", "a-b", "__", "__bp_", "un", "é_"] {
        let message = invalid(prefix);
        let shader = TableShader::new(&descriptor(|_| {}), prefix, 0);
        table.check("prefix", &message, shader);
        table.check("prefix", &message, first.second_table(prefix, 1));
    }
    table.check("the same prefix", &invalid("bp_"), first.second_table("bp_", 1));
}

fn engines(table: &mut Table<'_>) {
    let no_step = "no step to query, or the last one failed: call step first";
    let query = valid_scene().query;
    let mut unused = cpu::CpuBroadPhase::new(&descriptor(|_| {})).expect("a descriptor");
    table.check("CPU", no_step, unused.query(&query));
    let admits_none = "fn admits_pair(a: u32, b: u32) -> bool { return false; }";
    let filtered = descriptor(|all| all.pair_filter = Some(admits_none));
    let no_pairs = descriptor(|all| (all.pair_filter, all.pairs) = (Some(admits_none), false));
    let mut partners = valid_scene();
    partners.query.queries = Queries::Objects(SelfQuery::Overlaps { half: false });
    let mut stepped = cpu::CpuBroadPhase::new(&filtered).expect("a descriptor");
    stepped.step_scene_where(&valid_scene(), &|_, _| true).expect("a step");
    for called in [
        cpu::step_scene(&filtered, &valid_scene()),
        cpu::step_scene(&no_pairs, &partners),
        stepped.query(&partners.query),
    ] {
        table.check("filter", "the CPU engine cannot run a WGSL pair filter", called);
    }
    table.check("no pairs", "", cpu::step_scene(&no_pairs, &valid_scene()));

    let nowhere = Backend::Gpu(wgpu::Backends::empty());
    let opened = block_on(BroadPhase::with_backend(&descriptor(|_| {}), nowhere));
    table.check("no backend", "no adapter found for ", opened);
    let mut whole = pooled(table.adapter, &descriptor(|_| {}));
    table.check("GPU", no_step, block_on(whole.query(&query)));
    let device = whole.device().expect("a device").clone();
    let mut objects = ObjectSet::new();
    for (message, is_submitted) in [("", true), (NOT_SUBMITTED, false), ("", true)] {
        objects.insert(UNIT);
        let mut upload = device.create_command_encoder(&Default::default());
        let scene = objects.upload(&device, &mut upload).expect("a scene");
        let mut upload = Some(upload.finish());
        let submitted = upload.take_if(|_| is_submitted);
        whole.queue().expect("a queue").submit(submitted);
        table.check("objects", message, block_on(whole.step_scene(&scene)));
    }
    let destroyed = buffer(&device, 64, BufferUsages::STORAGE);
    destroyed.destroy();
    let mut scene = valid_scene();
    scene.objects = Source::device(&destroyed, 2);
    let called = block_on(whole.step_scene(&scene));
    table.check("GPU", "the device refused the recording: …", called);

    let count = table.limit / 32 + 1;
    let mut large = ObjectSet::new();
    (0..count).for_each(|_| _ = large.insert(UNIT));
    let called = large
        .upload(&table.adapter.device, &mut encoder(table.adapter))
        .map(drop);
    table.check("objects", &table.too_large("objects", 32 * count), called);
    assert_eq!(large.uploaded_bytes(), 0);
}
