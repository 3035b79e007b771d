//! What `reference::why` says about two objects, a ray or a query: each reason once, and random scenes against brute
//! force. Knows no device.

use std::collections::BTreeSet;

use gpu_broad_phase::cpu::step_scene;
use gpu_broad_phase::internals::reference::{Trace, trace};
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::reference::why::{Fault, Party, Placed, Question, Reason, Seat, Spot, Why, why};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, Dimensions, Growth, Neighbors, Pair, Partners, Queries, Query, QueryMode,
    Ray, RayHit, RayMode, Rays, ReferenceError, Scene, Scheme, Source, Statics, Status, SweptRay,
};

const SCHEMES: [Scheme; 3] = [
    Scheme::Hierarchical,
    Scheme::Uniform { cell_size: 1.5 },
    Scheme::Adaptive { min_scale: 0.5 },
];

fn with(scheme: Scheme) -> BroadPhaseDescriptor<'static> {
    BroadPhaseDescriptor {
        scheme,
        ..BroadPhaseDescriptor::default()
    }
}

/// A cube of side 1 with its lower corner at x.
fn cube(x: f32) -> Aabb {
    Aabb::new([x, 0.0, 0.0], [x + 1.0, 1.0, 1.0])
}

fn boxes(objects: &[Aabb]) -> Scene<'_> {
    Scene {
        objects: Source::Host(objects),
        ..Scene::default()
    }
}

/// What is said in each scheme, which has to be the same but for cells.
fn said(descriptor: BroadPhaseDescriptor<'_>, scene: &Scene<'_>, question: Question) -> Why {
    let all = SCHEMES.map(|scheme| {
        let why = why(&BroadPhaseDescriptor { scheme, ..descriptor }, scene, question).unwrap();
        assert!(!why.is_fault, "{scheme:?}: {why}");
        assert_eq!(why.is_found, why.reasons.is_empty(), "{scheme:?}: {why}");
        assert_eq!(why.meets, !why.reasons.iter().any(Reason::parts), "{scheme:?}: {why}");
        why
    });
    for why in &all[1..] {
        assert_eq!(why.reasons, all[0].reasons);
        assert_eq!(
            (why.meets, why.is_found, why.overlap),
            (all[0].meets, all[0].is_found, all[0].overlap)
        );
    }
    let [first, ..] = all;
    first
}

fn pair(objects: &[Aabb]) -> Why {
    said(BroadPhaseDescriptor::default(), &boxes(objects), Question::Pair(0, 1))
}

fn ray_at(ray: SweptRay, objects: &[Aabb]) -> Why {
    let rays = [ray];
    let scene = Scene {
        rays: Rays::Swept(Source::Host(&rays)),
        ..boxes(objects)
    };
    let descriptor = BroadPhaseDescriptor {
        ray_mode: RayMode::All,
        ..BroadPhaseDescriptor::default()
    };
    said(descriptor, &scene, Question::Ray { ray: 0, object: 0 })
}

fn query_of(query: Query, objects: &[Aabb]) -> Why {
    let queries = [query];
    let scene = Scene {
        queries: Queries::Spheres(Source::Host(&queries)),
        ..boxes(objects)
    };
    let question = Question::Query { query: 0, object: 0 };
    said(BroadPhaseDescriptor::default(), &scene, question)
}

const A: Party = Party::Object(0);
const B: Party = Party::Object(1);

#[test]
fn a_pair_is_told_with_its_overlap_and_the_place_where_a_walk_finds_it() {
    let objects = [cube(0.0), cube(0.5)];
    for scheme in SCHEMES {
        let why = why(&with(scheme), &boxes(&objects), Question::Pair(1, 0)).unwrap();
        assert!(why.meets && why.is_found && !why.is_fault);
        assert_eq!((&why.reasons[..], why.overlap), (&[][..], Some([0.5, 1.0, 1.0])));
        assert_eq!(why.place, Some(0));
        assert_eq!((why.first, why.second), (B, A));
        let text = why.to_string();
        assert!(
            text.starts_with("Object 1 and object 0 are a pair. The boxes overlap by 0.5 on x, 1 on y and 1 on z.")
        );
        assert!(text.contains("The walk of object"), "{text}");
        assert!(!text.contains('\n'));
    }
}

#[test]
fn boxes_are_apart_on_each_axis_with_the_margin_counted() {
    let objects = [cube(0.0), Aabb::new([3.0, -4.0, 0.5], [4.0, -2.0, 1.0])];
    let why = pair(&objects);
    let expected = [
        Reason::Apart {
            axis: 0,
            gap: 2.0,
            below: A,
        },
        Reason::Apart {
            axis: 1,
            gap: 2.0,
            below: B,
        },
    ];
    assert_eq!(why.reasons, expected);
    let margin = BroadPhaseDescriptor {
        margin: 0.5,
        ..BroadPhaseDescriptor::default()
    };
    let why = said(margin, &boxes(&objects), Question::Pair(0, 1));
    // Rounded outward.
    let gap = f64::from(2.5f32.next_down()) - f64::from(1.5f32.next_up());
    assert_eq!(why.reasons[0], Reason::Apart { axis: 0, gap, below: A });
    assert!(
        why.to_string()
            .contains("after the margin of 0.5 on every side: object 0 ends before object 1 begins")
    );
    let near = said(
        BroadPhaseDescriptor { margin: 1.0, ..margin },
        &boxes(&objects),
        Question::Pair(0, 1),
    );
    assert!(near.is_found && near.to_string().contains("margin included"));
}

#[test]
fn z_parts_nothing_in_two_dimensions() {
    let objects = [cube(0.0), Aabb::new([0.0, 0.0, 8.0], [1.0, 1.0, f32::NAN])];
    let flat = BroadPhaseDescriptor {
        dimensions: Dimensions::Two,
        ..BroadPhaseDescriptor::default()
    };
    let why = said(flat, &boxes(&objects), Question::Pair(0, 1));
    assert!(why.is_found, "{why}");
    let text = why.to_string();
    assert!(text.contains("The boxes overlap by 1 on x and 1 on y."), "{text}");
    assert!(!pair(&objects).is_found);
}

#[test]
fn invalid_objects_are_told_in_what_way() {
    let not_a_number = Aabb::new([0.0, f32::NAN, 0.0], [1.0; 3]);
    let inverted = Aabb::new([0.0, 0.0, 2.0], [1.0; 3]);
    let why = pair(&[not_a_number, inverted]);
    let expected = [
        Reason::Invalid {
            who: A,
            fault: Fault::NotANumber { what: "min.y" },
        },
        Reason::Invalid {
            who: B,
            fault: Fault::Inverted {
                axis: 2,
                min: 2.0,
                max: 1.0,
            },
        },
    ];
    assert_eq!(why.reasons, expected);
    let placed: Vec<_> = why.placed.iter().map(|placed| placed.seat).collect();
    assert_eq!(placed, [Seat::Nowhere; 2]);
    assert!(
        why.to_string()
            .contains("Object 1 is invalid and takes no part: min.z (2) is above max.z (1).")
    );
    let excluded = pair(&[cube(0.0), cube(0.0).with_owner(Aabb::EXCLUDED)]);
    assert_eq!(excluded.reasons, [Reason::Excluded { who: B }]);
}

#[test]
fn filters_are_told_one_by_one() {
    let owner = pair(&[cube(0.0).with_owner(7), cube(0.0).with_owner(7 | Aabb::STATIC)]);
    assert_eq!(owner.reasons, [Reason::SameOwner { owner: 7 }]);
    let fixed = pair(&[cube(0.0).with_owner(Aabb::STATIC), cube(0.0).with_owner(Aabb::STATIC)]);
    assert_eq!(fixed.reasons, [Reason::BothStatic]);
    let layers = pair(&[
        cube(0.0).with_layers(0b1001, 0b0100),
        cube(0.0).with_layers(0b0100, 0b0010),
    ]);
    let expected = Reason::Layers {
        of: A,
        members: 0b1001,
        by: B,
        mask: 0b0010,
    };
    assert_eq!(layers.reasons, [expected]);
    let text = layers.to_string();
    assert!(
        text.contains("object 0 is a member of layers 0 and 3 (0x0009), and object 1 meets layer 1 alone (0x0002)")
    );
    let unfiltered = BroadPhaseDescriptor {
        filters: false,
        ..BroadPhaseDescriptor::default()
    };
    let objects = [cube(0.0).with_owner(7), cube(0.0).with_owner(7)];
    assert!(said(unfiltered, &boxes(&objects), Question::Pair(0, 1)).is_found);
}

#[test]
fn a_list_of_the_callers_is_told() {
    let objects = [cube(0.0); 3];
    let (excluded, statics) = ([Pair { a: 2, b: 1 }], [cube(0.5)]);
    for scheme in SCHEMES {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            ..BroadPhaseDescriptor::default()
        };
        let plain = Scene {
            excluded_pairs: Source::Host(&excluded),
            ..boxes(&objects)
        };
        let with_statics = Scene {
            statics: Statics {
                objects: Source::Host(&statics),
                ..Statics::default()
            },
            excluded_pairs: Source::Host(&[Pair { a: 0, b: 3 }, Pair { a: 1, b: 2 }]),
            ..boxes(&objects)
        };
        for (scene, listed, other) in [(plain, (1, 2), (0, 1)), (with_statics, (3, 0), (2, 3))] {
            let why = said(descriptor, &scene, Question::Pair(listed.0, listed.1));
            assert_eq!(why.reasons, [Reason::Listed]);
            assert!(!why.meets && !why.is_found);
            assert!(why.to_string().contains("The list of excluded pairs names them."));
            assert!(said(descriptor, &scene, Question::Pair(other.0, other.1)).is_found);
            let asks = Scene {
                queries: Queries::Partners(Partners::default()),
                ..scene
            };
            let ask = |(query, object)| said(descriptor, &asks, Question::Query { query, object });
            assert_eq!(ask(listed).reasons, [Reason::Listed]);
            assert!(ask(other).is_found);
        }
    }
}

#[test]
fn static_objects_come_first_and_have_a_table_of_their_own() {
    let (still, moving) = ([cube(0.0), cube(0.5)], [cube(0.75)]);
    let scene = Scene {
        statics: Statics {
            objects: Source::Host(&still),
            ..Statics::default()
        },
        ..boxes(&moving)
    };
    let unfiltered = BroadPhaseDescriptor {
        filters: false,
        ..BroadPhaseDescriptor::default()
    };
    for descriptor in [BroadPhaseDescriptor::default(), unfiltered] {
        let both = said(descriptor, &scene, Question::Pair(0, 1));
        assert_eq!(both.reasons, [Reason::BothStatic]);
        let why = said(descriptor, &scene, Question::Pair(2, 1));
        assert!(why.is_found);
        assert_eq!(
            why.placed.iter().map(|of| of.is_static).collect::<Vec<_>>(),
            [false, true]
        );
        let meeting = why.meeting.as_ref().unwrap();
        assert_eq!((meeting.walker, meeting.in_static_table), (Party::Object(2), true));
        assert!(why.to_string().contains("of the table of static objects"));
    }
}

#[test]
fn worlds_part_and_those_that_do_not_exist_are_told() {
    let objects = [cube(0.0); 3];
    let worlds = [0, 1, 5];
    let scene = Scene {
        worlds: Source::Host(&worlds),
        ..boxes(&objects)
    };
    let two = BroadPhaseDescriptor {
        worlds: 2,
        ..BroadPhaseDescriptor::default()
    };
    let why = said(two, &scene, Question::Pair(0, 1));
    assert_eq!(why.reasons, [Reason::Worlds { first: 0, second: 1 }]);
    let why = said(two, &scene, Question::Pair(0, 2));
    let fault = Fault::NoSuchWorld { world: 5, worlds: 2 };
    let who = Party::Object(2);
    assert_eq!(why.reasons, [Reason::Invalid { who, fault }]);
}

#[test]
fn no_object_meets_itself() {
    assert_eq!(
        said(Default::default(), &boxes(&[cube(0.0)]), Question::Pair(0, 0)).reasons,
        [Reason::Same]
    );
}

#[test]
fn what_is_past_a_capacity_is_told_with_its_place() {
    let objects = [cube(0.0); 4];
    let fixed = BroadPhaseDescriptor {
        growth: Growth::Fixed,
        capacities: Capacities {
            pairs: Some(4),
            ..Capacities::default()
        },
        ..BroadPhaseDescriptor::default()
    };
    for scheme in SCHEMES {
        let fixed = BroadPhaseDescriptor { scheme, ..fixed };
        let mut places = BTreeSet::new();
        for (a, b) in (0..4).flat_map(|a| (a + 1..4).map(move |b| (a, b))) {
            let why = why(&fixed, &boxes(&objects), Question::Pair(a, b)).unwrap();
            assert!(why.meets && !why.is_fault, "{why}");
            let place = why.place.unwrap();
            places.insert(place);
            assert_eq!(why.is_found, place < 4);
            let expected = Reason::NoRoom {
                what: "pairs",
                place,
                capacity: 4,
            };
            assert_eq!(why.reasons, if place < 4 { vec![] } else { vec![expected] });
        }
        assert_eq!(places, (0..6).collect());
    }
    let none = BroadPhaseDescriptor {
        pairs: false,
        ..BroadPhaseDescriptor::default()
    };
    assert_eq!(
        said(none, &boxes(&objects), Question::Pair(0, 1)).reasons,
        [Reason::NotAsked]
    );
}

#[test]
fn objects_without_room_for_their_entries_are_told() {
    let objects = [cube(0.0), cube(0.5)];
    let short = BroadPhaseDescriptor {
        growth: Growth::Fixed,
        capacities: Capacities {
            entries: Some(1),
            ..Capacities::default()
        },
        ..with(Scheme::Uniform { cell_size: 4.0 })
    };
    let why = why(&short, &boxes(&objects), Question::Pair(0, 1)).unwrap();
    assert!(why.meets && !why.is_found && !why.is_fault);
    let expected = Reason::NoEntries { needed: 2, capacity: 1 };
    assert_eq!(why.reasons, [expected]);
}

#[test]
fn rays_are_told_by_where_they_go() {
    let along_x = |origin: [f32; 3], t_max: f32| SweptRay::new(Ray::new(origin, [1.0, 0.0, 0.0], t_max));
    let target = [cube(4.0)];
    let hit = ray_at(along_x([0.0, 0.5, 0.5], 9.0), &target);
    assert_eq!(
        (hit.is_found, hit.t, hit.starts_inside, hit.place),
        (true, Some(4.0), false, Some(0))
    );
    assert!(hit.to_string().starts_with("Ray 0 hits object 0 at t = 4."), "{hit}");
    let inside = ray_at(along_x([4.5, 0.5, 0.5], 9.0), &target);
    assert_eq!((inside.t, inside.starts_inside), (Some(0.0), true));

    let reasons = |ray: SweptRay| ray_at(ray, &target).reasons;
    assert_eq!(
        reasons(along_x([0.0, 0.5, 0.5], 3.0)),
        [Reason::PastEnd { t: 4.0, t_max: 3.0 }]
    );
    assert_eq!(
        reasons(along_x([0.0, 0.5, 0.5], 9.0).with_t_min(6.0)),
        [Reason::BeforeStart {
            leaves: 5.0,
            t_min: 6.0
        }]
    );
    assert_eq!(
        reasons(along_x([0.0, 0.5, 0.5], 9.0).with_t_min(10.0)),
        [Reason::EmptyRay {
            t_min: 10.0,
            t_max: 9.0
        }]
    );
    assert_eq!(
        reasons(along_x([0.0, 3.0, 0.5], 9.0)),
        [Reason::Beside { axis: 1, gap: 2.0 }]
    );
    assert_eq!(
        reasons(along_x([7.0, 0.5, 0.5], 9.0)),
        [Reason::Behind { axis: 0, gap: 2.0 }]
    );
    assert_eq!(
        reasons(SweptRay::new(Ray::new([0.0, -1.0, 0.5], [1.0, 1.0, 0.0], 99.0))),
        [Reason::PassesBy {
            enters_axis: 0,
            enters: 4.0,
            leaves_axis: 1,
            leaves: 2.0
        }]
    );
    // Wide enough to touch what it would pass by.
    let wide = SweptRay::new(Ray::new([0.0, -1.0, 0.5], [1.0, 1.0, 0.0], 99.0)).with_half_extents([2.0; 3]);
    assert!(ray_at(wide, &target).is_found);
    let far = [Aabb::new([f32::INFINITY, 0.0, 0.0], [f32::INFINITY, 1.0, 1.0])];
    let why = ray_at(along_x([0.0, 0.5, 0.5], f32::INFINITY), &far);
    assert_eq!(why.reasons, [Reason::Unreachable]);
}

#[test]
fn rays_that_are_invalid_are_told_in_what_way() {
    let good = Ray::new([0.0, 0.5, 0.5], [1.0, 0.0, 0.0], 9.0);
    let reasons = |ray: SweptRay| ray_at(ray, &[cube(4.0)]).reasons;
    let invalid = |fault: Fault| {
        let who = Party::Ray(0);
        [Reason::Invalid { who, fault }]
    };
    let mut ray = good;
    ray.origin[1] = f32::NAN;
    assert_eq!(reasons(ray.into()), invalid(Fault::NotANumber { what: "origin.y" }));
    let mut ray = good;
    ray.direction[2] = f32::INFINITY;
    assert_eq!(reasons(ray.into()), invalid(Fault::Infinite { what: "direction.z" }));
    let mut ray = good;
    ray.direction[0] = 1e38;
    let (what, value) = ("direction.x", 1e38);
    assert_eq!(reasons(ray.into()), invalid(Fault::TooLarge { what, value }));
    let (what, value) = ("half_extents.z", -1.0);
    assert_eq!(
        reasons(SweptRay::new(good).with_half_extents([0.0, 0.0, -1.0])),
        invalid(Fault::Negative { what, value })
    );
    assert_eq!(
        reasons(SweptRay::new(good).with_world(3)),
        invalid(Fault::NoSuchWorld { world: 3, worlds: 1 })
    );
    let mut ray = good;
    ray.t_max = -1.0;
    let why = ray_at(ray.into(), &[cube(4.0)]);
    let expected = Reason::EmptyRay {
        t_min: 0.0,
        t_max: -1.0,
    };
    assert_eq!(why.reasons, [expected]);
}

#[test]
fn what_an_answer_of_rays_leaves_out_is_told() {
    let objects = [cube(4.0), cube(2.0)];
    let rays = [Ray::new([0.0, 0.5, 0.5], [1.0, 0.0, 0.0], 9.0)];
    let scene = Scene {
        rays: Rays::Plain(Source::Host(&rays)),
        ..boxes(&objects)
    };
    let of = |ray_mode: RayMode, object: u32| {
        let descriptor = BroadPhaseDescriptor {
            ray_mode,
            growth: Growth::Fixed,
            capacities: Capacities {
                hits: Some(1),
                ..Capacities::default()
            },
            ..BroadPhaseDescriptor::default()
        };
        why(&descriptor, &scene, Question::Ray { ray: 0, object }).unwrap()
    };
    let closest = RayHit { object: 1, t: 2.0 };
    assert_eq!(of(RayMode::Closest, 0).reasons, [Reason::NotClosest { closest }]);
    assert!(of(RayMode::Closest, 1).is_found);
    assert_eq!(of(RayMode::Any, 0).reasons, [Reason::OnlyWhether]);
    let all = [0, 1].map(|object| of(RayMode::All, object));
    let mut places = all.each_ref().map(|why| why.place.unwrap());
    let last = all.iter().find(|why| why.place == Some(1)).unwrap();
    let expected = Reason::NoRoom {
        what: "hits",
        place: 1,
        capacity: 1,
    };
    assert_eq!(last.reasons, [expected]);
    places.sort_unstable();
    assert_eq!(places, [0, 1]);
    let layered = [rays[0].with_layers(1, 1)];
    let objects = [cube(4.0).with_layers(2, 1)];
    let scene = Scene {
        rays: Rays::Plain(Source::Host(&layered)),
        ..boxes(&objects)
    };
    let question = Question::Ray { ray: 0, object: 0 };
    let why = said(BroadPhaseDescriptor::default(), &scene, question);
    let expected = Reason::Layers {
        of: A,
        members: 2,
        by: Party::Ray(0),
        mask: 1,
    };
    assert_eq!(why.reasons, [expected]);
}

#[test]
fn queries_are_told_by_box_and_by_distance() {
    let target = [cube(4.0)];
    let found = query_of(Query::overlaps(cube(3.0)), &target);
    assert_eq!((found.is_found, found.overlap), (true, Some([0.0, 1.0, 1.0])));
    let apart = query_of(Query::overlaps(cube(1.0)), &target);
    let expected = Reason::Apart {
        axis: 0,
        gap: 2.0,
        below: Party::Query(0),
    };
    assert_eq!(apart.reasons, [expected]);
    let far = query_of(Query::sphere([1.0, 5.0, 0.5], 4.0), &target);
    assert_eq!(far.distance, Some(5.0));
    let expected = Reason::TooFar {
        distance: 5.0,
        radius: 4.0,
    };
    assert_eq!(far.reasons, [expected]);
    let near = query_of(Query::sphere([1.0, 5.0, 0.5], 6.0), &target);
    assert!(near.is_found && near.to_string().contains("The distance is 5."));
    let border = query_of(Query::sphere([1.0, 5.0, 0.5], 5.0), &target);
    assert!(border.is_on_border && border.to_string().contains("devices may differ"));
    let negative = query_of(Query::sphere([1.0, 5.0, 0.5], -1.0), &target);
    let (what, value) = ("radius", -1.0);
    let expected = Reason::Invalid {
        who: Party::Query(0),
        fault: Fault::Negative { what, value },
    };
    assert_eq!(negative.reasons, [expected]);
    let owned = query_of(Query::overlaps(cube(4.0).with_owner(2)), &[cube(4.0).with_owner(2)]);
    assert_eq!(owned.reasons, [Reason::SameOwner { owner: 2 }]);
}

#[test]
fn what_an_answer_of_queries_leaves_out_is_told() {
    let objects = [cube(4.0), cube(2.0)];
    let queries = [Query::sphere([0.0, 0.5, 0.5], 9.0)];
    let scene = Scene {
        queries: Queries::Spheres(Source::Host(&queries)),
        query_mode: QueryMode::Nearest(1),
        ..boxes(&objects)
    };
    let of = |object: u32| said(Default::default(), &scene, Question::Query { query: 0, object });
    assert_eq!(of(0).reasons, [Reason::Ranked { rank: 1, wanted: 1 }]);
    assert_eq!((of(1).is_found, of(1).rank), (true, Some(0)));
    let fixed = BroadPhaseDescriptor {
        growth: Growth::Fixed,
        capacities: Capacities {
            results: Some(1),
            ..Capacities::default()
        },
        ..BroadPhaseDescriptor::default()
    };
    let scene = Scene {
        query_mode: QueryMode::All,
        ..scene
    };
    let both = [0, 1].map(|object| why(&fixed, &scene, Question::Query { query: 0, object }).unwrap());
    let last = both.iter().find(|why| why.place == Some(1)).unwrap();
    let expected = Reason::NoRoom {
        what: "results",
        place: 1,
        capacity: 1,
    };
    assert_eq!(last.reasons, [expected]);
}

#[test]
fn objects_that_ask_are_told_across_periods() {
    let points = [0.5, 9.5, 5.0, f32::INFINITY].map(|x| Aabb::point([x, 0.0, 0.0]));
    let scene = Scene {
        queries: Neighbors::within(2.0).into(),
        ..boxes(&points)
    };
    let periodic = BroadPhaseDescriptor {
        periods: [10.0, 0.0, 0.0],
        ..BroadPhaseDescriptor::default()
    };
    let ask = |query: u32, object: u32| said(periodic, &scene, Question::Query { query, object });
    let across = ask(0, 1);
    assert_eq!((across.is_found, across.distance), (true, Some(1.0)));
    let expected = Reason::TooFar {
        distance: 4.5,
        radius: 2.0,
    };
    assert_eq!(ask(2, 0).reasons, [expected]);
    let who = Party::Object(3);
    assert_eq!(ask(0, 3).reasons, [Reason::NoPosition { who }]);
    assert_eq!(ask(1, 1).reasons, [Reason::Same]);
    let once = Scene {
        queries: Neighbors {
            radius: 2.0,
            half: true,
        }
        .into(),
        ..scene
    };
    let question = Question::Query { query: 1, object: 0 };
    assert_eq!(said(periodic, &once, question).reasons, [Reason::Once]);

    let cubes = [cube(0.0), cube(0.5), cube(8.0)];
    let partners = Scene {
        queries: Partners { half: false }.into(),
        ..boxes(&cubes)
    };
    let ask = |query: u32, object: u32| said(Default::default(), &partners, Question::Query { query, object });
    assert!(ask(1, 0).is_found);
    let expected = Reason::Apart {
        axis: 0,
        gap: 7.0,
        below: A,
    };
    assert_eq!(ask(2, 0).reasons, [expected]);
}

#[test]
fn what_the_scene_does_not_have_is_an_error() {
    let objects = [cube(0.0), cube(0.0)];
    let of = |question: Question| why(&BroadPhaseDescriptor::default(), &boxes(&objects), question);
    let none = |what: &'static str, index: u32, count: u64| Err(ReferenceError::NoSuch { what, index, count });
    assert_eq!(of(Question::Pair(0, 2)), none("object", 2, 2));
    assert_eq!(of(Question::Ray { ray: 0, object: 0 }), none("ray", 0, 0));
    assert_eq!(of(Question::Query { query: 4, object: 0 }), none("query", 4, 0));
    let error = of(Question::Pair(0, 2)).unwrap_err();
    assert_eq!(error.to_string(), "there is no object 2: the scene has 2");
}

#[test]
fn a_fault_of_the_crate_is_said_loudly() {
    let mut why = pair(&[cube(0.0), cube(0.5)]);
    (why.is_found, why.is_fault) = (false, true);
    assert!(
        why.to_string()
            .contains("THIS IS A FAULT OF gpu-broad-phase: by the definition the two meet")
    );
    assert!(why.to_string().contains("report it with a snapshot"));
}

#[test]
fn names_are_the_callers() {
    let why = pair(&[cube(0.0), cube(4.0)]);
    let told = why.told(&|party| match party {
        Party::Object(object) => format!("face {}", object + 100),
        other => other.to_string(),
    });
    assert!(told.starts_with("Face 100 and face 101 are not a pair. On x the boxes are 3 apart"));
}

/// Both objects stand where the table says, by the records and keys of the trace.
fn check_placed(trace: &Trace, placed: &Placed, is_whole: bool) {
    let table = if placed.is_static {
        trace.statics.as_deref().unwrap()
    } else {
        trace
    };
    let is_uniform = table.params.scheme == 1;
    let object_at = |entry: u32| match is_uniform {
        true => table.records[(table.values[entry as usize] & 0x1fff_ffff) as usize].object,
        false => table.records[entry as usize].object,
    };
    match placed.seat {
        Seat::Cell { slot, level, .. } => {
            let level = &table.grid.levels[level as usize];
            assert!((level.table_base..level.table_base + level.table_size).contains(&slot));
            let mut entries = table.starts[slot as usize]..table.starts[slot as usize + 1];
            assert!(entries.any(|entry| object_at(entry) == placed.object));
        }
        Seat::Cells { first, last, .. } => {
            let cells: i64 = (0..3).map(|axis| i64::from(last[axis] - first[axis]) + 1).product();
            let entries = (0..table.grid.entry_count).filter(|&entry| object_at(entry) == placed.object);
            let entries = entries.count() as i64;
            assert!(table.grid.entry_count < table.params.entry_capacity.max(1) + 1);
            assert!(entries <= cells);
            // An object has an entry in each of its cells, unless there is no room for them.
            if is_whole {
                assert_eq!(entries, cells);
            }
        }
        _ => {}
    }
}

/// The row that is named holds the one who is met, and the other one has a place that reaches it.
fn check_meeting(trace: &Trace, why: &Why, is_whole: bool) {
    why.placed
        .iter()
        .for_each(|placed| check_placed(trace, placed, is_whole));
    let Some(meeting) = &why.meeting else {
        return;
    };
    let table = if meeting.in_static_table {
        trace.statics.as_deref().unwrap()
    } else {
        trace
    };
    let is_uniform = table.params.scheme == 1;
    let names = |entry: u32, party: Party| {
        let object = match is_uniform {
            true => table.records[(table.values[entry as usize] & 0x1fff_ffff) as usize].object,
            false => table.records[entry as usize].object,
        };
        party == Party::Object(object)
    };
    let look = &meeting.look;
    assert!(look.entries.clone().any(|entry| names(entry, meeting.met)), "{why}");
    let slots = table.starts[look.slots.start as usize]..table.starts[look.slots.end as usize];
    assert!(
        slots.start <= look.entries.start && look.entries.end <= slots.end,
        "{why}: {look:?}"
    );
    // In one and the same cell both have an entry.
    if let (Spot::Row { first, last, .. }, true) = (look.spot, is_uniform && matches!(why.question, Question::Pair(..)))
        && !meeting.in_static_table
    {
        assert_eq!(first, last);
        assert!(slots.clone().any(|entry| names(entry, meeting.walker)), "{why}");
    }
}

/// All questions that a scene has, against brute force, for which the margin and so on are seen to.
fn check_scene(number: u64, descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> usize {
    let count = (scene.objects.len() + scene.statics.objects.len()) as u32;
    let what = |why: &Why| format!("scene {number}: {why} {why:?}");
    let ask = |question: Question| {
        let why = why(descriptor, scene, question).unwrap();
        assert!(!why.is_fault, "{}", what(&why));
        assert_eq!(why.meets, !why.reasons.iter().any(Reason::parts), "{}", what(&why));
        assert_eq!(why.is_found, why.reasons.is_empty(), "{}", what(&why));
        why
    };
    let answer = step_scene(descriptor, scene).unwrap();
    // The definition of all but neighbours knows no periods.
    let is_defined = descriptor.periods == [0.0; 3];
    let mut asked = 0;
    let pairs: BTreeSet<_> = brute_force::scene_pairs(descriptor, scene)
        .unwrap()
        .into_iter()
        .collect();
    let bare = Scene {
        rays: Rays::default(),
        queries: Queries::None,
        ..*scene
    };
    let trace = trace(descriptor, &bare).unwrap();
    // What has no room for its entries has fewer of them.
    let is_whole = !answer.counters.status.has(Status::ENTRIES);
    for (a, b) in (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b))) {
        let why = ask(Question::Pair(a, b));
        if is_defined {
            assert_eq!(why.meets, pairs.contains(&Pair { a, b }), "{}", what(&why));
        }
        assert_eq!(why.is_found, answer.pairs.contains(&Pair { a, b }), "{}", what(&why));
        if descriptor.pairs {
            assert!(!why.meets || why.meeting.is_some(), "{}", what(&why));
            check_meeting(&trace, &why, is_whole);
        }
        asked += 1;
    }
    for (ray, hits) in (0..).zip(brute_force::scene_rays(descriptor, scene).unwrap()) {
        for object in 0..count {
            let why = ask(Question::Ray { ray, object });
            if is_defined {
                let hit = hits.iter().find(|hit| hit.object == object);
                assert_eq!(why.meets, hit.is_some(), "{}", what(&why));
                assert_eq!(why.t, hit.map(|hit| hit.t), "{}", what(&why));
            }
            check_meeting(&trace, &why, is_whole);
            asked += 1;
        }
    }
    let objects_ask = matches!(scene.queries, Queries::Neighbors(_));
    for (query, found) in (0..).zip(brute_force::scene_queries(descriptor, scene).unwrap()) {
        for object in 0..count {
            let why = ask(Question::Query { query, object });
            let is_in = |list: &[(u32, f64)]| list.iter().any(|&(of, _)| of == object);
            if !is_in(&found.perhaps) && (is_defined || objects_ask) {
                assert_eq!(why.meets, is_in(&found.surely), "{}", what(&why));
            }
            check_meeting(&trace, &why, is_whole);
            asked += 1;
        }
    }
    asked
}

/// Scenes of wild structure: lattices, giants, statics, worlds, margins, capacities; every scheme in turn.
#[test]
fn what_is_said_is_what_brute_force_says() {
    let mut asked = 0;
    let mut number = 0;
    while asked < 20_000 {
        let descriptor = crate::wild::descriptor(number);
        let wild = crate::wild::scene(number, &descriptor);
        if wild.objects.len() <= 24 {
            asked += check_scene(number, &descriptor, &wild.scene(number));
        }
        number += 1;
    }
    assert!(number > 40, "{number}");
}
