use bevy::camera::primitives::Aabb;
use bevy::prelude::*;
use bevy::shape::Aabb3d;
use bevy_gpu_broad_phase::{
    BroadPhaseObject, BroadPhaseQuery, BroadPhaseQueryResults, OverlapGroup, OverlapLayers, StaticObject, world_aabb,
};

use crate::common::{Random, alone, frame, minimal, rendered, unit_box};

#[derive(Resource, Default)]
struct Answered(Vec<Entity>);

fn record_results(app: &mut App) {
    app.init_resource::<Answered>().add_observer(
        |answer: On<Insert<BroadPhaseQueryResults>>, mut answered: ResMut<Answered>| answered.0.push(answer.entity),
    );
}

/// Returns entities with new results.
fn answered(app: &mut App) -> Vec<Entity> {
    app.world_mut().resource_mut::<Answered>().0.clear();
    for _ in 0..10 {
        frame(app);
    }
    std::mem::take(&mut app.world_mut().resource_mut::<Answered>().0)
}

fn results(app: &App, query: Entity) -> Option<&[Entity]> {
    let results = app.world().get::<BroadPhaseQueryResults>(query);
    results.map(|results| &results.entities[..])
}

fn filters(entity: &mut EntityWorldMut, random: &mut Random) {
    match random.below(6) {
        0 => drop(entity.insert(StaticObject)),
        1 => drop(entity.insert(OverlapLayers {
            membership: 1,
            mask: 0b110,
        })),
        2 => drop(entity.insert(OverlapLayers {
            membership: 0b10,
            mask: !0,
        })),
        3 => drop(entity.insert(OverlapGroup(1 + random.below(3) as u32))),
        _ => {}
    }
}

fn query(random: &mut Random) -> BroadPhaseQuery {
    let (at, size) = (random.position(9.0), 0.1 + random.position(3.0));
    match random.below(5) {
        0 => BroadPhaseQuery::point(at),
        1 => BroadPhaseQuery::sphere(at, random.unit() * 4.0),
        2 => BroadPhaseQuery {
            radius: random.unit(),
            ..BroadPhaseQuery::overlaps(Aabb3d::new(at, size))
        },
        3 => BroadPhaseQuery::sphere(at, f32::INFINITY),
        _ => BroadPhaseQuery::overlaps(Aabb3d::new(at, size)),
    }
}

/// Entities that a query may find, and those that it must find. They differ near the radius.
fn brute_force(world: &mut World, querier: Entity) -> [Vec<Entity>; 2] {
    let query = *world.get::<BroadPhaseQuery>(querier).unwrap();
    let own = |world: &World, entity| {
        let layers = world.get::<OverlapLayers>(entity).copied().unwrap_or_default();
        (layers, world.get::<OverlapGroup>(entity).map_or(0, |group| group.0))
    };
    let (querier_layers, querier_group) = own(world, querier);
    let (mut may, mut must) = (Vec::new(), Vec::new());
    let mut objects = world.query_filtered::<(Entity, &Aabb, &GlobalTransform), With<BroadPhaseObject>>();
    for (entity, bounds, transform) in objects.iter(world) {
        let bounds = world_aabb(bounds, transform).unwrap();
        let square = |axis| {
            let below = f64::from(query.bounds.min[axis]) - f64::from(bounds.max[axis]);
            let above = f64::from(bounds.min[axis]) - f64::from(query.bounds.max[axis]);
            below.max(above).max(0.0).powi(2)
        };
        let distance = [0, 1, 2].map(square).iter().sum::<f64>().sqrt();
        let (layers, group) = own(world, entity);
        let admits = layers.membership & querier_layers.mask != 0
            && querier_layers.membership & layers.mask != 0
            && (group == 0 || group != querier_group)
            && entity != querier;
        let radius = f64::from(query.radius);
        let slack = if radius == 0.0 { 0.0 } else { 1e-5 };
        if admits && distance <= radius + slack {
            may.push(entity);
        }
        if admits && distance <= radius - slack {
            must.push(entity);
        }
    }
    [may, must]
}

/// Returns the number of entities found.
fn check(app: &mut App) -> usize {
    let mut queriers = app.world_mut().query_filtered::<Entity, With<BroadPhaseQuery>>();
    let queriers: Vec<_> = queriers.iter(app.world()).collect();
    let mut found = 0;
    for querier in queriers {
        let [may, must] = brute_force(app.world_mut(), querier);
        let results = results(app, querier).expect("an answer");
        assert!(results.is_sorted());
        assert!(results.iter().all(|entity| may.contains(entity)), "{querier}");
        assert!(must.iter().all(|entity| results.contains(entity)), "{querier}");
        found += results.len();
    }
    found
}

fn queries_find_what_is_there(mut app: App) {
    record_results(&mut app);
    let (mut random, mut all) = (Random(31), Vec::new());
    for index in 0..160 {
        let at = Transform::from_translation(random.position(9.0)).with_rotation(Quat::from_rotation_x(random.unit()));
        let mut entity = app.world_mut().spawn((at, unit_box()));
        filters(&mut entity, &mut random);
        if index % 4 != 0 {
            entity.insert(BroadPhaseObject);
        }
        if index % 4 == 0 || index % 16 == 1 {
            entity.insert(query(&mut random));
        }
        all.push(entity.id());
    }
    let mut found = 0;
    for _ in 0..6 {
        answered(&mut app);
        found += check(&mut app);
        for _ in 0..40 {
            let mut entity = app.world_mut().entity_mut(all[random.below(all.len())]);
            match entity.get_mut::<BroadPhaseQuery>() {
                Some(mut its) if random.below(2) == 0 => *its = query(&mut random),
                _ => entity.get_mut::<Transform>().unwrap().translation = random.position(9.0),
            }
        }
    }
    assert!(found > 1000, "{found}");
    answered(&mut app);
    assert_eq!(answered(&mut app), []);
}

#[test]
fn queries_find_what_is_there_on_a_device_of_its_own() {
    let _alone = alone();
    queries_find_what_is_there(minimal(false));
}

#[test]
fn queries_find_what_is_there_on_the_renderers_device() {
    let _alone = alone();
    queries_find_what_is_there(rendered(true, false));
}

#[test]
fn queries_find_what_is_there_on_the_cpu() {
    queries_find_what_is_there(minimal(true));
}

fn results_come_and_go_with_the_query(mut app: App) {
    record_results(&mut app);
    let here = BroadPhaseQuery::point(Vec3::ZERO);
    let query = app.world_mut().spawn(here).id();
    assert_eq!(answered(&mut app), [query]);
    assert_eq!(results(&app, query), Some(&[][..]));
    let object = app.world_mut().spawn((BroadPhaseObject, unit_box())).id();
    assert_eq!(answered(&mut app), [query]);
    assert_eq!(results(&app, query), Some(&[object][..]));
    // A query that is added again must not get the old result.
    app.world_mut().entity_mut(query).remove::<BroadPhaseQuery>();
    assert_eq!(results(&app, query), None);
    assert_eq!(answered(&mut app), []);
    app.world_mut().entity_mut(query).insert(here);
    app.update();
    app.world_mut().entity_mut(query).remove::<BroadPhaseQuery>();
    app.world_mut()
        .entity_mut(query)
        .insert(BroadPhaseQuery::point(Vec3::splat(9.0)));
    for _ in 0..10 {
        frame(&mut app);
        assert!(results(&app, query).is_none_or(<[_]>::is_empty));
    }
    assert_eq!(results(&app, query), Some(&[][..]));
    *app.world_mut().get_mut(query).unwrap() = here;
    app.update();
    app.world_mut().despawn(query);
    assert_eq!(answered(&mut app), []);
    let invalid = [
        BroadPhaseQuery::point(Vec3::NAN),
        BroadPhaseQuery::sphere(Vec3::ZERO, -1.0),
        BroadPhaseQuery::overlaps(Aabb3d {
            min: Vec3::ONE.into(),
            max: Vec3::NEG_ONE.into(),
        }),
    ];
    let invalid = invalid.map(|query| app.world_mut().spawn(query).id());
    answered(&mut app);
    assert_eq!(invalid.map(|query| results(&app, query)), [Some(&[][..]); 3]);
}

#[test]
fn results_come_and_go_with_the_query_on_the_device() {
    let _alone = alone();
    results_come_and_go_with_the_query(minimal(false));
}

#[test]
fn results_come_and_go_with_the_query_on_the_cpu() {
    results_come_and_go_with_the_query(minimal(true));
}

#[test]
fn all_of_a_crowd_is_found() {
    let _alone = alone();
    let mut app = minimal(false);
    record_results(&mut app);
    let mut random = Random(33);
    for _ in 0..5000 {
        let at = Transform::from_translation(random.position(40.0));
        app.world_mut().spawn((BroadPhaseObject, unit_box(), at));
    }
    let everywhere = BroadPhaseQuery::sphere(Vec3::ZERO, f32::INFINITY);
    let queries = [(); 20].map(|()| app.world_mut().spawn(everywhere).id());
    answered(&mut app);
    for query in queries {
        assert_eq!(results(&app, query).map(<[_]>::len), Some(5000));
    }
}
