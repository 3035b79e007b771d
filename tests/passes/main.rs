//! Runs every pass on the output of the reference passes before it. It must write the bytes of its own reference pass,
//! and nothing past the end.

#[path = "../common/mod.rs"]
mod common;
mod cull;
mod devices;
mod dispatch;
mod draw;
mod events;
mod harness;
mod input;
mod order;
mod pairs;
mod queries;
mod rays;
mod scan;
mod sort;
mod suite;
mod table;

use std::collections::BTreeSet;

use common::{Scene, scenes};
use devices::{on_each_device, on_parts_of_each_device};
use gpu_broad_phase::shaders::{Pass, passes};
use gpu_broad_phase::wgpu;
use harness::{Bench, variants_of};
use suite::{check_alone, check_scenes};

/// Limits strict WebGPU compliance, which does not depend on the boxes, to a few scenes that run every pass.
fn is_tried(scene: &Scene) -> bool {
    let flags = wgpu::InstanceFlags::from_env_or_default();
    !flags.contains(wgpu::InstanceFlags::STRICT_WEBGPU_COMPLIANCE) || matches!(scene.objects.len(), 256 | 257 | 1921)
}

#[test]
fn every_pass_equals_its_reference() {
    let ran = on_parts_of_each_device(|device, part, parts| {
        let mut bench = Bench::new(device.clone());
        let tried = scenes(42).enumerate().filter(|(_, scene)| is_tried(scene));
        let tried = tried
            .enumerate()
            .filter(|(case, _)| device.runs(*case) && case % parts == part)
            .map(|(_, scene)| scene);
        check_scenes(&mut bench, true, tried);
        if part + 1 == parts {
            check_alone(&mut bench, true);
        }
        (device, bench.run.take())
    });
    for (device, _) in &ran {
        let same = ran.iter().filter(|(other, _)| other.name() == device.name());
        let covered: BTreeSet<_> = same.flat_map(|(_, run)| run).copied().collect();
        let can_run = |pass: &&Pass| device.features().contains(pass.features());
        let table: BTreeSet<_> = passes().filter(can_run).flat_map(variants_of).collect();
        let untested: Vec<_> = table.difference(&covered).collect();
        assert!(untested.is_empty(), "{}: no test runs {untested:?}", device.name());
    }
}

#[test]
fn rays_along_rods_equal_their_reference() {
    on_each_device(rays::check_rods);
}

#[test]
fn sorting_is_stable_at_every_tile_boundary() {
    on_each_device(sort::check_tiles_of_sorts);
}

#[test]
fn long_gaps_of_the_table_are_filled() {
    on_each_device(table::check_gaps);
}

#[test]
fn a_crowd_does_not_choose_the_finest_cell() {
    on_each_device(table::check_crowds);
}

#[test]
fn more_workgroups_than_one_dimension_has_are_all_run() {
    on_each_device(table::check_many_workgroups);
}
