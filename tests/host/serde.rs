use std::fmt::Debug;
use std::time::Duration;

use bytemuck::{Pod, cast_slice, pod_read_unaligned};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, Counters, Dimensions, Events, Frustum, Growth, Handle, MemoryUse,
    NearestObject, ObjectSet, OutputOptions, Pair, PairEvent, Query, QueryMode, Ray, RayCell, RayHit, RayMode,
    ResultOrder, Scheme, SelfQuery, SortStrategy, StageTime, StaleHandle, Status, StepResult, SweptRay, Visible,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

/// All fields that are stored differ from the defaults.
fn descriptor() -> BroadPhaseDescriptor<'static> {
    BroadPhaseDescriptor {
        label: None,
        dimensions: Dimensions::Two,
        scheme: Scheme::Uniform { cell_size: 0.3 },
        margin: 0.1,
        periods: [1.0, 0.0, 7.25],
        worlds: 3,
        pairs: false,
        outputs: OutputOptions {
            order: ResultOrder::Sorted,
            ray_mode: RayMode::All,
            ray_cells: true,
            capacities: Capacities {
                pairs: Some(1),
                hits: Some(2),
                entries: Some(3),
                ray_cells: Some(4),
                results: Some(5),
                rounds: Some(6),
            },
            growth: Growth::Fixed,
            headroom: 0.5,
            max_bytes: Some(1 << 40),
            timeout: Duration::from_millis(1_500),
            timestamps: true,
        },
        sort: SortStrategy::SerialTiles,
        filters: false,
        pair_filter: None,
        count_candidates: true,
    }
}

fn through_both<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T) {
    let text = serde_json::to_string(&value).unwrap();
    assert_eq!(serde_json::from_str::<T>(&text).unwrap(), value, "{text}");
    let bytes = postcard::to_allocvec(&value).unwrap();
    assert_eq!(postcard::from_bytes::<T>(&bytes).unwrap(), value);
}

#[test]
fn finite_values_come_back_from_text_and_bytes() {
    let bounds = Aabb::new([-0.1, 1e-40, -0.0], [f32::MAX, 0.3, 16_777_217.0]).with_group(Aabb::EXCLUDED | 7);
    let ray = Ray::new([0.1; 3], [1.0, -2.0, 3.0], 9.5).with_layers(1, 2);
    let mut swept = SweptRay::new(ray).with_half_extents([0.5; 3]);
    (swept.t_min, swept.world) = (0.25, 4);
    let frustum = Frustum::new([[0.6, -0.0, 0.8, 1e-40]; 5]).with_world(2);
    let query = Query::sphere([1.0, 2.0, 3.0], 0.7).in_world(2);
    through_both((bounds, ray, swept, frustum, query));
    let (pair, hit) = (Pair { a: 1, b: u32::MAX }, RayHit { object: 3, t: 0.1 });
    let (mut near, mut cell) = (NearestObject::NONE, RayCell::default());
    (near.object, near.squared_distance) = (9, 0.2);
    (cell.level, cell.x, cell.y, cell.z) = (33, i32::MIN, -1, i32::MAX);
    through_both((pair, hit, near, cell));
    let (radius, half) = (0.1, true);
    through_both([SelfQuery::Within { radius, half }, SelfQuery::Overlaps { half }]);
    through_both([QueryMode::All, QueryMode::Nearest(1_024)]);
    through_both([Scheme::Hierarchical, Scheme::Adaptive { min_scale: 0.125 }]);
    through_both([descriptor(), BroadPhaseDescriptor::default()]);
    let mut set = ObjectSet::new();
    let handles = [set.insert(bounds), set.insert_static(bounds)];
    let event = PairEvent::from(handles);
    let mut events = Events::default();
    (events.begun, events.status) = (vec![event], Status::PAIRS);
    through_both((handles, event, events));
    let (objects, invalid) = (vec![vec![], vec![0, 7]], 1);
    through_both(Visible { objects, invalid });
    let (mut memory, mut counters) = (MemoryUse::default(), Counters::default());
    memory.order = 1 << 50;
    through_both(memory);
    (counters.pairs_needed, counters.status) = (u64::MAX, Status::from_bits(127));
    through_both(StepResult {
        pairs: vec![pair],
        ray_hits: vec![hit],
        ray_offsets: vec![0, 1],
        ray_any: vec![1],
        ray_cells: vec![cell],
        ray_cell_offsets: vec![0, 1],
        query_objects: vec![5],
        query_offsets: vec![0, 1],
        query_nearest: vec![near],
        world_pairs: vec![1, 0, 0],
        world_offsets: vec![0, 1, 1, 1],
        counters,
        timings: Vec::new(),
    });
}

#[test]
fn bytes_keep_every_bit() {
    fn check<T: Pod + Serialize + DeserializeOwned>(words: &[u32]) {
        let value: T = pod_read_unaligned(&cast_slice(words)[..size_of::<T>()]);
        let stored = postcard::to_allocvec(&value).unwrap();
        let read: T = postcard::from_bytes(&stored).unwrap();
        assert_eq!(bytemuck::bytes_of(&read), bytemuck::bytes_of(&value));
    }
    // Bits of floats: NaNs of both kinds and signs, infinities, zeros and denormals.
    let nans = [0x7fc0_0001, 0xffc1_2345, 0x7f80_0001, 0xffbf_ffff];
    let others = [
        0x7f80_0000,
        0xff80_0000,
        0x8000_0000,
        0,
        0x8000_0001,
        0x007f_ffff,
        0xdead_beef,
    ];
    let words = [&nans[..], &others, &nans, &others, &nans].concat();
    for first in 0..11 {
        let words = &words[first..];
        check::<Aabb>(words);
        check::<Ray>(words);
        check::<SweptRay>(words);
        check::<Query>(words);
        check::<RayHit>(words);
        check::<NearestObject>(words);
    }
}

#[test]
fn missing_fields_of_older_descriptors_have_defaults() {
    let read = |value| serde_json::from_value::<BroadPhaseDescriptor<'_>>(value).unwrap();
    assert_eq!(read(json!({})), BroadPhaseDescriptor::default());
    let mut expected = BroadPhaseDescriptor {
        scheme: Scheme::Uniform { cell_size: 2.0 },
        ..BroadPhaseDescriptor::default()
    };
    expected.outputs.ray_mode = RayMode::Any;
    expected.outputs.capacities.pairs = Some(9);
    // Fields of a newer version are ignored.
    let stored = json!({
        "scheme": { "Uniform": { "cell_size": 2.0 } },
        "outputs": { "ray_mode": "Any", "capacities": { "pairs": 9 }, "of_tomorrow": true },
        "of_tomorrow": true,
    });
    assert_eq!(read(stored), expected);
    let counters: Counters = serde_json::from_value(json!({ "invalid": 3 })).unwrap();
    assert_eq!(counters.invalid, 3);
    let bounds = json!({ "min": [0, 0, 0], "layers": u32::MAX, "max": [1, 1, 1], "group": 0 });
    let query = json!({ "bounds": bounds, "radius": 0.5, "world": 0 });
    assert_eq!(serde_json::from_value::<Query>(query).unwrap().radius, 0.5);
}

#[test]
fn labels_and_stage_times_are_not_stored_with_the_rest() {
    let named = BroadPhaseDescriptor {
        label: Some("mine"),
        pair_filter: Some("fn admits_pair(a: u32, b: u32) -> bool { return true; }"),
        ..descriptor()
    };
    let [stored, expected] = [named, descriptor()].map(|descriptor| serde_json::to_value(descriptor).unwrap());
    assert_eq!(stored, expected);
    let time = StageTime {
        stage: "sort",
        begin: 0.0,
        nanoseconds: 1_500.0,
    };
    let stored = serde_json::to_value(time).unwrap();
    assert_eq!(stored, json!({ "stage": "sort", "begin": 0.0, "nanoseconds": 1_500.0 }));
    let timed = StepResult {
        timings: vec![time],
        ..StepResult::default()
    };
    let read: StepResult = serde_json::from_value(serde_json::to_value(timed).unwrap()).unwrap();
    assert_eq!(read, StepResult::default());
}

#[test]
fn a_made_up_handle_names_no_free_slot() {
    let mut set = ObjectSet::new();
    for _ in 0..2 {
        let handle = set.insert(Aabb::point([0.0; 3]));
        set.remove(handle).unwrap();
        for (slot, generation) in [(0, 0), (0, 2), (0, 4), (1 << 31, 1), (u32::MAX, u32::MAX)] {
            let mut made_up = serde_json::to_value(handle).unwrap();
            (made_up["slot"], made_up["generation"]) = (slot.into(), generation.into());
            let made_up: Handle = serde_json::from_value(made_up).unwrap();
            assert_eq!(set.remove(made_up), Err(StaleHandle(made_up)));
        }
    }
}
