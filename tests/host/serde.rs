use std::fmt::Debug;
use std::time::Duration;

use bytemuck::Pod;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, Counters, Dimensions, Events, Frustum, Growth, Handle, MemoryUse,
    NearestObject, ObjectSet, OutputOptions, Pair, PairEvent, Query, QueryMode, Ray, RayCell, RayHit, RayMode,
    ResultOrder, Scheme, SelfQuery, SortStrategy, StageTime, StaleHandle, Status, StepResult, SweptRay, Visible,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

fn through_both<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T) {
    let text = serde_json::to_string(&value).unwrap();
    assert_eq!(serde_json::from_str::<T>(&text).unwrap(), value, "{text}");
    let bytes = postcard::to_allocvec(&value).unwrap();
    assert_eq!(postcard::from_bytes::<T>(&bytes).unwrap(), value);
}

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

fn handles() -> [Handle; 2] {
    let mut set = ObjectSet::new();
    [
        set.insert(Aabb::point([0.0; 3])),
        set.insert_static(Aabb::point([1.0; 3])),
    ]
}

#[test]
fn finite_values_come_back_from_text_and_bytes() {
    let bounds = Aabb::new([-0.1, 1e-40, -0.0], [f32::MAX, 0.3, 16_777_217.0]).with_group(Aabb::EXCLUDED | 7);
    let ray = Ray::new([0.1; 3], [1.0, -2.0, 3.0], 9.5).with_layers(1, 2);
    through_both(bounds);
    through_both(ray);
    through_both(
        SweptRay::new(ray)
            .with_half_extents([0.5; 3])
            .with_t_min(0.25)
            .with_world(4),
    );
    through_both(Query::sphere([1.0, 2.0, 3.0], 0.7).in_world(2));
    through_both(
        Frustum::new([[0.6, -0.0, 0.8, 1e-40]; 5])
            .with_layers(3, 1)
            .with_world(2),
    );
    through_both(Visible {
        objects: vec![vec![], vec![0, 7]],
        invalid: 1,
    });
    through_both((Pair { a: 1, b: u32::MAX }, RayHit { object: 3, t: 0.1 }));
    let neighbor = NearestObject {
        object: 9,
        squared_distance: 0.2,
    };
    through_both((neighbor, [QueryMode::All, QueryMode::Nearest(1_024)]));
    let neighbors = SelfQuery::Within {
        radius: 0.1,
        half: true,
    };
    through_both((neighbors, SelfQuery::Overlaps { half: true }));
    let cell = RayCell {
        level: 33,
        x: i32::MIN,
        y: -1,
        z: i32::MAX,
    };
    let event = PairEvent::from(handles());
    through_both((cell, event));
    through_both(Events {
        begun: vec![event],
        status: Status::PAIRS,
        ..Events::default()
    });
    through_both(handles());
    through_both([descriptor(), BroadPhaseDescriptor::default()]);
    for scheme in [Scheme::Hierarchical, Scheme::Adaptive { min_scale: 0.125 }] {
        through_both(scheme);
    }
    let counters = Counters {
        pairs_needed: u64::MAX,
        status: Status::from_bits(127),
        ..Counters::default()
    };
    through_both(counters);
    through_both(MemoryUse {
        order: 1 << 50,
        ..MemoryUse::default()
    });
    through_both(StepResult {
        pairs: vec![Pair { a: 0, b: 1 }],
        ray_hits: vec![RayHit { object: 3, t: 0.1 }],
        ray_offsets: vec![0, 1],
        ray_any: vec![1],
        ray_cells: vec![cell],
        ray_cell_offsets: vec![0, 1],
        query_objects: vec![5],
        query_offsets: vec![0, 1],
        query_nearest: vec![neighbor],
        world_pairs: vec![1, 0],
        counters,
        timings: Vec::new(),
    });
}

#[test]
fn bytes_keep_every_bit() {
    fn check<T: Pod + Serialize + DeserializeOwned>(value: T) {
        let stored = postcard::to_allocvec(&value).unwrap();
        let read: T = postcard::from_bytes(&stored).unwrap();
        assert_eq!(bytemuck::bytes_of(&read), bytemuck::bytes_of(&value));
    }
    // Bits of floats: NaNs of both kinds and signs, infinities, zeros and denormals.
    let words = [
        0x7fc0_0001,
        0xffc1_2345,
        0x7f80_0001,
        0xffbf_ffff,
        0x7f80_0000,
        0xff80_0000,
        0x8000_0000,
        0,
        0x8000_0001,
        0x007f_ffff,
        0xdead_beef,
    ];
    for first in 0..words.len() {
        let rolled: [u32; 16] = std::array::from_fn(|place| words[(first + place) % words.len()]);
        check::<Aabb>(bytemuck::pod_read_unaligned(bytemuck::cast_slice(&rolled[..8])));
        check::<Ray>(bytemuck::pod_read_unaligned(bytemuck::cast_slice(&rolled[..8])));
        check::<SweptRay>(bytemuck::pod_read_unaligned(bytemuck::cast_slice(&rolled)));
        check::<Query>(bytemuck::pod_read_unaligned(bytemuck::cast_slice(&rolled[..12])));
        check::<RayHit>(bytemuck::pod_read_unaligned(bytemuck::cast_slice(&rolled[..2])));
        check::<NearestObject>(bytemuck::pod_read_unaligned(bytemuck::cast_slice(&rolled[..2])));
    }
}

#[test]
fn what_an_older_descriptor_lacks_has_its_default() {
    let read = |value| serde_json::from_value::<BroadPhaseDescriptor<'_>>(value).unwrap();
    assert_eq!(read(json!({})), BroadPhaseDescriptor::default());
    let expected = BroadPhaseDescriptor {
        scheme: Scheme::Uniform { cell_size: 2.0 },
        outputs: OutputOptions {
            ray_mode: RayMode::Any,
            capacities: Capacities {
                pairs: Some(9),
                ..Capacities::default()
            },
            ..Default::default()
        },
        ..BroadPhaseDescriptor::default()
    };
    // Fields of a newer version are ignored.
    let stored = json!({
        "scheme": { "Uniform": { "cell_size": 2.0 } },
        "outputs": { "ray_mode": "Any", "capacities": { "pairs": 9 }, "of_tomorrow": true },
        "of_tomorrow": true,
    });
    assert_eq!(read(stored), expected);
    let counters: Counters = serde_json::from_value(json!({ "invalid": 3 })).unwrap();
    assert_eq!(counters.invalid, 3);
    let query = json!({
        "bounds": { "min": [0, 0, 0], "layers": u32::MAX, "max": [1, 1, 1], "group": 0 },
        "radius": 0.5,
        "world": 0,
    });
    assert_eq!(serde_json::from_value::<Query>(query).unwrap().radius, 0.5);
}

#[test]
fn labels_and_stage_times_are_not_stored_with_the_rest() {
    let named = BroadPhaseDescriptor {
        label: Some("mine"),
        pair_filter: Some("fn admits_pair(a: u32, b: u32) -> bool { return true; }"),
        ..descriptor()
    };
    let stored = serde_json::to_value(named).unwrap();
    assert_eq!(stored, serde_json::to_value(descriptor()).unwrap());
    let time = StageTime {
        stage: "sort",
        begin: 0.0,
        nanoseconds: 1_500.0,
    };
    assert_eq!(
        serde_json::to_value(time).unwrap(),
        json!({ "stage": "sort", "begin": 0.0, "nanoseconds": 1_500.0 })
    );
    let timed = StepResult {
        timings: vec![time],
        ..StepResult::default()
    };
    let stored = serde_json::to_value(&timed).unwrap();
    assert_eq!(
        serde_json::from_value::<StepResult>(stored).unwrap(),
        StepResult::default()
    );
}

#[test]
fn a_made_up_handle_names_no_free_slot() {
    let mut set = ObjectSet::new();
    for object in [Aabb::point([0.0; 3]), Aabb::point([1.0; 3])] {
        let handle = set.insert(object);
        set.remove(handle).unwrap();
        let stored = serde_json::to_value(handle).unwrap();
        for (slot, generation) in [(0, 0), (0, 2), (0, 4), (1 << 31, 1), (u32::MAX, u32::MAX)] {
            let mut made_up = stored.clone();
            made_up["slot"] = slot.into();
            made_up["generation"] = generation.into();
            let made_up: Handle = serde_json::from_value(made_up).unwrap();
            assert_eq!(set.remove(made_up), Err(StaleHandle(made_up)));
        }
    }
}
