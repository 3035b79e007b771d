//! Invalid scenes: values on the host, and buffers of the caller.

use super::{Table, descriptor, fixed, options, scene, valid_scene};
use crate::common::pool::pooled;
use crate::common::steps::broad_phase;
use gpu_broad_phase::reference::pair_rule;
use gpu_broad_phase::wgpu::{Buffer, BufferUsages};
use gpu_broad_phase::{
    Aabb, BoxLayout, BoxWords, DeviceCount, Queries, QueryMode, Ray, Rays, Scene, SelfQuery, Snapshot, Source, cpu,
};
use pollster::block_on;

pub fn rows(table: &mut Table<'_>) {
    on_the_host(table);
    too_large(table);
    missing_worlds(table);
    for (what, bytes, set) in SOURCES {
        in_buffers(table, what, bytes, set);
    }
    counts(table);
    own_outputs(table);
}

fn has_query(scene: &Scene<'_>) -> bool {
    let query = &scene.query;
    let is_empty = matches!((query.rays, query.queries), (Rays::None, Queries::None));
    !is_empty || query.ray_count.is_some() || query.query_count.is_some()
}

/// Refused or accepted by steps and, if it has rays or queries, by later queries and query sets.
fn row(table: &mut Table<'_>, what: &str, message: &str, scene: &Scene<'_>) {
    table.row(what, message, |gpu, encoder| gpu.step(encoder, *scene));
    if has_query(scene) {
        table.row(what, message, |gpu, encoder| gpu.query(encoder, scene.query));
        record_set(table, what, message, scene);
    }
}

fn record_set(table: &mut Table<'_>, what: &str, message: &str, scene: &Scene<'_>) {
    let mut set = table.gpu.query_set("set", &options()).expect("options");
    let step = table.step.clone();
    table.row(what, message, |_, encoder| set.record(encoder, &step, scene.query));
}

/// Refused alike by each engine.
fn on_the_host(table: &mut Table<'_>) {
    let mut rows = Vec::new();
    for radius in [-1e-45, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        let message = format!("the radius is {radius}: it must be finite and not negative");
        let queries = Queries::Objects(SelfQuery::Within { radius, half: false });
        rows.push(("radius", message, scene(|scene| scene.query.queries = queries)));
    }
    for nearest in [0, 1025, u32::MAX] {
        let message = match nearest {
            0 => "the number of nearest objects is 0: it must be at least 1".to_owned(),
            _ => format!("{nearest} nearest objects: the maximum is 1024"),
        };
        let mut scene = valid_scene();
        scene.query.query_mode = QueryMode::Nearest(nearest);
        rows.push(("nearest", message, scene));
    }
    let mut on_device = pooled(table.adapter, &descriptor(|_| {}));
    let mut on_cpu = cpu::CpuBroadPhase::new(&descriptor(|_| {})).expect("a descriptor");
    for (what, message, scene) in rows {
        row(table, what, &message, &scene);
        table.check(what, &message, block_on(on_device.step_scene(&scene)));
        table.check(what, &message, on_cpu.step_scene(&scene));
        on_cpu.step_scene(&valid_scene()).expect("a step");
        table.check(what, &message, on_cpu.query(&scene.query));
    }
    let rule = pair_rule(&descriptor(|_| {}), &valid_scene(), 0, 4);
    table.check("pair_rule", "object 4 does not exist: the scene has 4", rule);
}

/// Inputs and outputs that exceed what the device binds.
fn too_large(table: &mut Table<'_>) {
    let words: Vec<[u32; 8]> = bytemuck::zeroed_vec(table.limit as usize / 32 + 1);
    let boxes: &[Aabb] = bytemuck::cast_slice(&words);
    let rays: &[Ray] = bytemuck::cast_slice(&words);
    for (what, scene) in [
        ("objects", scene(|scene| scene.objects = boxes.into())),
        ("rays", scene(|scene| scene.query.rays = rays.into())),
        ("queries", scene(|scene| scene.query.queries = boxes.into())),
    ] {
        let message = table.too_large(what, 32 * words.len() as u64);
        row(table, what, &message, &scene);
    }
    for (what, bytes, mut descriptor) in [
        ("ray_hits", 8, fixed(|all| all.hits = Some(u32::MAX))),
        ("ray_cells", 16, fixed(|all| all.ray_cells = Some(u32::MAX))),
        ("query_objects", 4, fixed(|all| all.results = Some(u32::MAX))),
    ] {
        descriptor.outputs.ray_cells = what == "ray_cells";
        let mut gpu = broad_phase(table.adapter, &descriptor);
        let message = table.too_large(what, bytes * u64::from(u32::MAX));
        table.row(what, &message, |_, encoder| gpu.step(encoder, valid_scene()));
    }
}

fn missing_worlds(table: &mut Table<'_>) {
    let descriptor = descriptor(|all| all.worlds = 3);
    let mut gpu = broad_phase(table.adapter, &descriptor);
    let ids = [0, 1];
    for (count, missing) in [(1, 1), (2, 0)] {
        let mut scene = valid_scene();
        scene.worlds = ids[..count].into();
        let message = format!("2 objects have {missing} world ids: pass one per object");
        table.row("worlds", &message, |_, encoder| gpu.step(encoder, scene));
        table.check("worlds", &message, cpu::step_scene(&descriptor, &scene));
    }
}

/// Buffer, offset, stride and number of elements.
type Place<'b> = (&'b Buffer, u64, Option<u32>, u32);

fn source<'b, T: Copy>((buffer, offset, stride, count): Place<'b>) -> Source<'b, T> {
    let source = Source::device(buffer, count).at(offset);
    stride.map_or(source, |stride| source.stride(stride))
}

type SetSource = for<'b> fn(&mut Scene<'b>, Place<'b>);

/// Name and bytes of an element, and a function that sets the input.
const SOURCES: [(&str, u32, SetSource); 11] = [
    ("objects", 32, |scene, at| scene.objects = source(at)),
    ("objects", 24, |scene, at| {
        scene.objects = source(at).layout(BoxLayout::CenterHalf, BoxWords::Tight);
    }),
    ("worlds", 4, |scene, at| scene.worlds = source(at)),
    ("static objects", 32, |scene, at| scene.statics.objects = source(at)),
    ("worlds of static objects", 4, |scene, at| {
        scene.statics.worlds = source(at)
    }),
    ("excluded pairs", 8, |scene, at| scene.excluded_pairs = source(at)),
    ("data of the pair filter", 4, |scene, at| {
        scene.pair_filter_data = source(at)
    }),
    ("rays", 32, |scene, at| scene.query.rays = Rays::Plain(source(at))),
    ("rays", 64, |scene, at| scene.query.rays = Rays::Swept(source(at))),
    ("queries", 32, |scene, at| {
        scene.query.queries = Queries::Boxes(source(at))
    }),
    ("queries", 48, |scene, at| {
        scene.query.queries = Queries::General(source(at))
    }),
];

fn in_buffers(table: &mut Table<'_>, what: &str, element: u32, set: SetSource) {
    let limits = table.adapter.device.limits();
    let small = table.buffer(1024, BufferUsages::STORAGE);
    let unbound = table.buffer(1024, BufferUsages::COPY_DST);
    let large = table.buffer((table.limit + 4096).min(limits.max_buffer_size), BufferUsages::STORAGE);
    let at = |place| scene(|scene| set(scene, place));
    let bytes = u64::from(element);
    let usage = format!("the buffer of {what} lacks the usage STORAGE");
    let misaligned = |of, bytes: u64| format!("the {of} of {what} is {bytes} bytes: it must be a multiple of 4");
    let past_end = |offset: u64| format!("the offset of {what} is {offset} bytes, the buffer has 1024");
    let too_small = |bytes: u64| format!("the buffer of {what} has 1024 bytes: offset, stride and count need {bytes}");
    let short = element - 4;
    let too_short = format!("the stride of {what} is {short} bytes: it must be at least {element}");
    let longest = u32::MAX - 3;
    let mut rows = vec![
        ((&unbound, 0, None, 0), usage.clone()),
        ((&unbound, 0, None, 3), usage),
        ((&small, 2, None, 1), misaligned("offset", 2)),
        ((&small, u64::MAX, None, 0), misaligned("offset", u64::MAX)),
        ((&small, 0, Some(element + 1), 1), misaligned("stride", bytes + 1)),
        ((&small, 0, Some(short), 1), too_short),
        ((&small, 1028, None, 0), past_end(1028)),
        ((&small, u64::MAX - 3, None, u32::MAX), past_end(u64::MAX - 3)),
        ((&small, 1024, None, 0), String::new()),
        ((&small, 1024, None, 1), too_small(1024 + bytes)),
        ((&small, 1028 - bytes, None, 1), too_small(1028)),
        ((&small, 512, Some(512), 2), too_small(1024 + bytes)),
        ((&small, 0, None, u32::MAX), too_small(bytes * u64::from(u32::MAX))),
        ((&small, 0, Some(longest), 3), too_small(2 * u64::from(longest) + bytes)),
    ];
    let (fits, exceeds) = ((1024 - element) / 4 * 4, table.limit as u32 - element + 4);
    if matches!(what, "excluded pairs" | "data of the pair filter") {
        let alignment = limits.min_storage_buffer_offset_alignment;
        let message = format!("the {what} must be packed, at an offset that is a multiple of {alignment} bytes");
        rows.push(((&small, 4, None, 1), message.clone()));
        rows.push(((&small, 0, Some(element + 4), 2), message));
    } else {
        rows.push(((&small, 0, Some(fits), 2), String::new()));
        rows.push(((&small, 1024 - bytes, None, 1), String::new()));
        if large.size() > table.limit {
            let message = table.too_large(what, u64::from(exceeds) + bytes);
            rows.push(((&large, 0, Some(exceeds), 2), message));
            rows.push(((&large, large.size() - 2 * bytes - 4, None, 2), String::new()));
        }
    }
    for (place, message) in rows {
        row(table, what, &message, &at(place));
    }
    not_on_the_host(table, what, &at((&small, 0, None, 1)));
    let nothing = cpu::step_scene(&descriptor(|_| {}), &at((&small, 0, None, 0)));
    table.check(what, "", nothing);
}

fn not_on_the_host(table: &mut Table<'_>, what: &str, scene: &Scene<'_>) {
    let descriptor = descriptor(|_| {});
    let message = format!("the {what} must be on the host: read the buffer back and pass the copy");
    table.check(what, &message, cpu::step_scene(&descriptor, scene));
    table.check(what, &message, Snapshot::of(&descriptor, scene));
}

type SetCount = for<'b> fn(&mut Scene<'b>, Option<DeviceCount<'b>>);

const COUNTS: [(&str, SetCount); 3] = [
    ("number of objects", |scene, count| scene.object_count = count),
    ("number of rays", |scene, count| scene.query.ray_count = count),
    ("number of queries", |scene, count| scene.query.query_count = count),
];

fn counts(table: &mut Table<'_>) {
    let small = table.buffer(1024, BufferUsages::STORAGE);
    let unbound = table.buffer(1024, BufferUsages::COPY_DST);
    for (what, set) in COUNTS {
        let at = |buffer, word| scene(|scene| set(scene, Some(DeviceCount { buffer, word })));
        let message = format!("the buffer of the {what} lacks the usage STORAGE");
        row(table, what, &message, &at(&unbound, 0));
        for (word, needed) in [(256, 1028), (u32::MAX, 4 * u64::from(u32::MAX))] {
            let message = format!("the buffer of the {what} has 1024 bytes: offset, stride and count need {needed}");
            row(table, what, &message, &at(&small, word));
        }
        row(table, what, "", &at(&small, 255));
        not_on_the_host(table, what, &at(&small, 0));
    }
}

fn own_outputs(table: &mut Table<'_>) {
    let step = table.step.clone();
    let lists = [&step.rays.hits, &step.queries.objects].map(|lists| &lists.as_ref().expect("lists").buffer);
    for (output, buffer) in [
        ("counters", &step.counters),
        ("grid", &step.table.grid),
        ("records", &step.table.records),
        ("records", &step.static_table.as_ref().expect("a table").records),
        ("pairs", &step.pairs.as_ref().expect("pairs").buffer),
        ("ray_hits", lists[0]),
        ("query_objects", lists[1]),
    ] {
        let place = (buffer, 0, None, 1);
        let inputs = SOURCES.map(|(what, _, set)| (what.to_owned(), scene(|scene| set(scene, place))));
        let count = Some(DeviceCount { buffer, word: 0 });
        let counts = COUNTS.map(|(what, set)| (format!("the {what}"), scene(|scene| set(scene, count))));
        for (what, scene) in inputs.into_iter().chain(counts) {
            let message = format!("the buffer of {what} is {output}, which this call overwrites: copy it first");
            table.row(&what, &message, |gpu, encoder| gpu.step(encoder, scene));
            if has_query(&scene) {
                table.row(&what, &message, |gpu, encoder| gpu.query(encoder, scene.query));
                record_set(table, &what, "", &scene);
            }
        }
    }
    // Queries do not change the number of pairs.
    let (buffer, word) = (&step.counters, 10);
    let by_pairs = scene(|scene| scene.query.query_count = Some(DeviceCount { buffer, word }));
    table.row("pairs", "", |gpu, encoder| gpu.query(encoder, by_pairs.query));
}
