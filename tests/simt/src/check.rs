//! Runs every pass with warps of several sizes, executed in order and in random order.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use gpu_broad_phase::shaders::passes;

use crate::common::{Rng, Scene, scene, scenes};
use crate::devices::Warps;
use crate::harness::{Bench, variants_of};
use crate::{rays, recordings, sort, suite, table};

/// A few small scenes: more boxes only add workgroups.
pub fn few() -> impl Iterator<Item = (usize, Scene)> {
    let mut rng = Rng(44);
    [(5, 0), (5, 60), (4, 40), (0, 258), (6, 45)]
        .into_iter()
        .map(move |(kind, count)| scene(kind, count, 20, &mut rng))
        .enumerate()
}

pub fn check_every_pass(warps: &Arc<Warps>, thoroughly: bool, scenes: impl Iterator<Item = (usize, Scene)>) {
    let mut bench = Bench::new(warps.clone());
    suite::check_scenes(&mut bench, thoroughly, scenes);
    suite::check_alone(&mut bench, thoroughly);
    let covered = bench.run.borrow().clone();
    let all: BTreeSet<_> = passes().flat_map(variants_of).collect();
    let untested: Vec<_> = all.difference(&covered).collect();
    assert!(untested.is_empty(), "no scene runs {untested:?}");
}

pub fn check(lanes: &[usize], orders: &[bool], scene: Option<usize>) {
    println!("| warps | passes | dispatches | invocations | seconds |\n|---|--:|--:|--:|--:|");
    for &lanes in lanes {
        for &by_chance in orders {
            let began = Instant::now();
            let warps = Arc::new(Warps::new(lanes, by_chance));
            let all = scenes(42).enumerate();
            match scene {
                Some(scene) => suite::check_scenes(
                    &mut Bench::new(warps.clone()),
                    true,
                    all.filter(|(index, _)| *index == scene),
                ),
                None => {
                    check_every_pass(&warps, true, all);
                    rays::check_rods(warps.clone());
                    sort::check_tiles_of_sorts(warps.clone());
                    table::check_gaps(warps.clone());
                    table::check_crowds(warps.clone());
                    table::check_many_workgroups(warps.clone());
                    let (adapter, log) = recordings::device(lanes, by_chance);
                    recordings::check_wild(&adapter, 0..1000);
                    recordings::check_used(&adapter, 0..1000);
                    recordings::check_all(&adapter);
                    let recorded = log.dispatches();
                    let (count, dispatches) = (recorded.len(), recorded.values().sum::<u64>());
                    println!("| {}, whole steps | {count} | {dispatches} | | |", adapter.name);
                }
            }
            let log = warps.log.lock().unwrap_or_else(PoisonError::into_inner);
            println!(
                "| {} | {} | {} | {} | {:.1} |",
                crate::harness::Device::name(&*warps),
                log.len(),
                log.values().map(|of| of.dispatches).sum::<u64>(),
                log.values().map(|of| of.invocations).sum::<u64>(),
                began.elapsed().as_secs_f64(),
            );
        }
    }
}
