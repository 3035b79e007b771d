//! Sorted pairs of several worlds, and their offsets.

use crate::common::steps::{
    SCHEMES, broad_phase, descriptor, download, encoder, page, poll, read, record, submit, upload, whole,
};
use crate::common::{Rng, adapters, daily_adapters, daily_or_full};
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::{
    ALL_WORLDS, Aabb, BroadPhaseDescriptor, Growth, Output, Pair, ResultOrder, Scene, Scheme, Source, Status,
    StepResult, cpu, wgpu,
};
use pollster::block_on;

struct Worlds {
    /// Static ones first.
    objects: Vec<Aabb>,
    worlds: Vec<u32>,
    statics: usize,
}

impl Worlds {
    /// Some worlds have many objects, some none. Some objects are in a nonexistent one.
    fn new(count: usize, world_count: u32, rng: &mut Rng) -> Self {
        let side = rng.one_of(&[1.0, 2.0, 4.0]);
        let object = |rng: &mut Rng| {
            let low = rng.point(side);
            Aabb::new(low, low.map(|low| low + 0.2 + rng.unit()))
        };
        let world = |rng: &mut Rng| {
            if rng.once_in(20) {
                return ALL_WORLDS;
            }
            let share = rng.unit() * rng.unit() * rng.unit();
            (share * world_count as f32 * 1.02) as u32
        };
        Self {
            objects: (0..count).map(|_| object(rng)).collect(),
            worlds: (0..count).map(|_| world(rng)).collect(),
            statics: rng.one_of(&[0, count / 3, count * 9 / 10]),
        }
    }

    fn scene(&self, generation: u64) -> Scene<'_> {
        wild::scene_of(&self.objects, &self.worlds, self.statics, generation)
    }

    /// Pairs by brute force, by world.
    fn expected(&self, descriptor: &BroadPhaseDescriptor<'_>) -> Vec<Vec<Pair>> {
        let mut expected = vec![Vec::new(); descriptor.worlds as usize + 1];
        for pair in brute_force::scene_pairs(descriptor, &self.scene(0)).unwrap() {
            expected[wild::world_of(descriptor.worlds, &self.worlds, &pair) as usize].push(pair);
        }
        expected
    }

    /// Panics unless `result` has pairs of `expected`, by world, with exact offsets and incomplete worlds.
    fn check_part(&self, expected: &[Vec<Pair>], result: &StepResult, what: &str) {
        let counts: Vec<_> = expected.iter().map(|pairs| pairs.len() as u32).collect();
        assert_eq!(result.world_pairs, counts, "{what}: counts");
        let mut offsets = vec![0];
        let mut incomplete = Vec::new();
        let mut rest = &result.pairs[..];
        for (world, pairs) in (0..).zip(expected) {
            let of_world = |pair: &&Pair| wild::world_of(expected.len() as u32 - 1, &self.worlds, pair) == world;
            let (own, later) = rest.split_at(rest.iter().take_while(of_world).count());
            assert!(own.is_sorted_by(|a, b| a < b), "{what}: world {world}");
            let is_part = own.iter().all(|pair| pairs.binary_search(pair).is_ok());
            assert!(is_part, "{what}: world {world}");
            if own.len() < pairs.len() {
                incomplete.push(world);
            }
            offsets.push((result.pairs.len() - later.len()) as u32);
            rest = later;
        }
        assert!(rest.is_empty(), "{what}: a world comes twice");
        assert!(result.world_offsets == offsets, "{what}: offsets");
        let found: Vec<u32> = result.incomplete_worlds().collect();
        assert_eq!(found, incomplete, "{what}: incomplete worlds");
    }

    fn check(&self, expected: &[Vec<Pair>], result: &StepResult, what: &str) {
        assert!(result.pairs == expected.concat(), "{what}: pairs or their order");
        self.check_part(expected, result, what);
    }
}

fn sorted_worlds<'t>(scheme: Scheme, worlds: u32) -> BroadPhaseDescriptor<'t> {
    descriptor(|all| (all.scheme, all.worlds, all.outputs.order) = (scheme, worlds, ResultOrder::Sorted))
}

#[test]
fn sorted_pairs_come_by_world_on_each_device_and_the_cpu() {
    let mut rng = Rng(71);
    for (adapter, scheme) in adapters()
        .iter()
        .flat_map(|adapter| SCHEMES.map(|scheme| (adapter, scheme)))
    {
        if !adapter.is_first() && scheme != SCHEMES[0] {
            continue;
        }
        let mut gpu = broad_phase(adapter, &sorted_worlds(scheme, 2));
        let [mut pairs, mut of_all] = [0; 2];
        for scene in 0..daily_or_full(12, 60) {
            let descriptor = sorted_worlds(scheme, rng.one_of(&[2, 3, 17, 300, 5_000]));
            let count = rng.one_of(&[0, 1, 70, 300, 900]);
            let mut worlds = Worlds::new(count, descriptor.worlds, &mut rng);
            let what = format!(
                "scene {scene}, {scheme:?}, {} worlds on {}",
                descriptor.worlds, adapter.name
            );
            gpu.set_descriptor(&descriptor).unwrap();
            // The second step reuses the static table.
            for _ in 0..2 {
                let expected = worlds.expected(&descriptor);
                let result = whole(adapter, &mut gpu, worlds.scene(scene as u64));
                worlds.check(&expected, &result, &what);
                worlds.check(
                    &expected,
                    &cpu::step_scene(&descriptor, &worlds.scene(0)).unwrap(),
                    &what,
                );
                pairs += result.pairs.len();
                of_all += expected.last().map_or(0, Vec::len);
                let moving = Worlds::new(count, descriptor.worlds, &mut rng);
                let statics = worlds.statics;
                worlds.objects[statics..].copy_from_slice(&moving.objects[statics..]);
                worlds.worlds[statics..].copy_from_slice(&moving.worlds[statics..]);
            }
        }
        assert!(pairs > 5_000 && of_all > 20, "{pairs} pairs, {of_all} of all worlds");
    }
}

#[test]
fn an_overflow_names_the_incomplete_worlds() {
    let mut rng = Rng(72);
    for (adapter, scheme) in daily_adapters()
        .iter()
        .flat_map(|adapter| SCHEMES.map(|scheme| (adapter, scheme)))
    {
        let mut gpu = broad_phase(adapter, &sorted_worlds(scheme, 2));
        let mut incomplete = [0; 2];
        for scene in 0..daily_or_full(8, 40) {
            let mut descriptor = sorted_worlds(scheme, rng.one_of(&[2, 5, 40, 5_000]));
            let worlds = Worlds::new(300, descriptor.worlds, &mut rng);
            let expected = worlds.expected(&descriptor);
            let needed = expected.iter().map(Vec::len).sum::<usize>();
            let capacity = 1 + rng.below(needed + needed / 4);
            descriptor.outputs.growth = Growth::Fixed;
            descriptor.outputs.capacities.pairs = Some(capacity as u32);
            let what = format!(
                "scene {scene}, {capacity} of {needed} pairs, {scheme:?} on {}",
                adapter.name
            );
            gpu.set_descriptor(&descriptor).unwrap();
            submit(adapter, &mut gpu, worlds.scene(scene as u64));
            let found = read(&mut gpu);
            let on_cpu = cpu::step_scene(&descriptor, &worlds.scene(0)).unwrap();
            for (result, where_) in [(&found, "device"), (&on_cpu, "CPU")] {
                let what = format!("{what}, {where_}");
                assert_eq!(result.pairs.len(), needed.min(capacity), "{what}");
                assert_eq!(result.counters.status.has(Status::PAIRS), capacity < needed, "{what}");
                worlds.check_part(&expected, result, &what);
            }
            incomplete[0] += found.incomplete_worlds().count();
            incomplete[1] += expected.iter().filter(|pairs| !pairs.is_empty()).count();
            let (mut joined, mut first) = (found.pairs, capacity);
            while first < needed && capacity > needed / 8 {
                let part = page(adapter, &mut gpu, first as u32);
                worlds.check_part(&expected, &part, &format!("{what}, page from {first}"));
                first += part.pairs.len();
                joined.extend(part.pairs);
            }
            if capacity > needed / 8 {
                joined.sort_unstable_by_key(|pair| (wild::world_of(descriptor.worlds, &worlds.worlds, pair), *pair));
                assert!(joined == expected.concat(), "{what}: joined pages");
            }
        }
        let [some, all] = incomplete;
        assert!(some > 10 && some < all, "{some} of {all} worlds are incomplete");
    }
}

#[test]
fn offsets_are_on_the_device_with_worlds_and_order_only() {
    let mut rng = Rng(74);
    for adapter in daily_adapters() {
        for (worlds, order, pairs) in [
            (6, ResultOrder::Sorted, true),
            (6, ResultOrder::Deterministic, true),
            (1, ResultOrder::Sorted, true),
            (6, ResultOrder::Sorted, false),
        ] {
            let mut descriptor = sorted_worlds(Scheme::Hierarchical, worlds);
            (descriptor.outputs.order, descriptor.pairs) = (order, pairs);
            let mut case = Worlds::new(200, worlds, &mut rng);
            if worlds == 1 {
                case.worlds.fill(0);
            }
            let mut gpu = broad_phase(&adapter, &descriptor);
            whole(&adapter, &mut gpu, case.scene(1));
            let mut encoder = encoder(&adapter);
            let output = record(&mut gpu, &mut encoder, case.scene(1));
            adapter.queue.submit([encoder.finish()]);
            let result = read(&mut gpu);
            let has_offsets = worlds > 1 && order == ResultOrder::Sorted && pairs;
            assert_eq!(result.world_offsets.len(), if has_offsets { 8 } else { 0 });
            let on_device = output
                .pairs
                .and_then(|pairs| Some((pairs.world_offsets?, pairs.per_world?)));
            assert_eq!(on_device.is_some(), has_offsets);
            if let Some((offsets, counts)) = on_device {
                let words = |buffer, count: u64| download::<u32>(&adapter.device, &adapter.queue, buffer, 4 * count);
                assert_eq!(words(&offsets, 8), result.world_offsets);
                assert_eq!(words(&counts, 7), result.world_pairs);
            }
            if !has_offsets {
                assert_eq!(result.incomplete_worlds().count(), 0);
            }
        }
    }
}

/// Worlds of static objects are read when their table is built, and kept for later steps.
#[test]
fn worlds_of_static_objects_may_change_after_the_table_is_built() {
    let mut rng = Rng(75);
    let usages = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
    for adapter in adapters() {
        let descriptor = sorted_worlds(Scheme::Hierarchical, 30);
        let mut case = Worlds::new(600, 30, &mut rng);
        case.statics = 300;
        let mut gpu = broad_phase(&adapter, &descriptor);
        let expected = case.expected(&descriptor);
        let buffer = upload(&adapter.device, &case.worlds[..300], usages);
        for step in 0..3 {
            let mut scene = case.scene(7);
            scene.statics.worlds = Source::device(&buffer, 300);
            let result = whole(&adapter, &mut gpu, scene);
            case.check(&expected, &result, &format!("step {step} on {}", adapter.name));
            adapter
                .queue
                .write_buffer(&buffer, 0, bytemuck::cast_slice(&[29 - step; 300]));
        }
    }
}

/// The first recorded copy has room for 64 KiB, which are 8,192 pairs.
#[test]
fn a_read_back_with_too_little_room_has_the_offsets_of_its_pairs() {
    for adapter in adapters() {
        let mut descriptor = sorted_worlds(Scheme::Hierarchical, 4);
        descriptor.outputs.capacities.pairs = Some(1 << 16);
        let crowd = Worlds {
            objects: vec![Aabb::new([0.0; 3], [1.0; 3]); 320],
            worlds: (0..320).map(|object| object % 4).collect(),
            statics: 0,
        };
        let mut gpu = broad_phase(&adapter, &descriptor);
        let mut encoder = encoder(&adapter);
        record(&mut gpu, &mut encoder, crowd.scene(0));
        let arriving = gpu.record_read_back(&mut encoder, &[Output::Pairs]).unwrap();
        adapter.queue.submit([encoder.finish()]);
        poll(&adapter.device);
        let result = block_on(arriving).unwrap();
        assert_eq!(result.pairs.len(), 8_192, "{}", adapter.name);
        assert_eq!(
            result.world_offsets,
            [0, 3_160, 6_320, 8_192, 8_192, 8_192],
            "{}",
            adapter.name
        );
        assert_eq!(
            result.incomplete_worlds().collect::<Vec<_>>(),
            [2, 3],
            "{}",
            adapter.name
        );
        crowd.check_part(&crowd.expected(&descriptor), &result, &adapter.name);
    }
}
