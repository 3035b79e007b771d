//! Twin of `shaders/table/size_statistics.wgsl`.

use super::size::size_class;
use crate::api::types::Aabb;
use crate::shared::grid::{Class, Params, classify};

/// Histogram of the longest sides in quarter octaves, and the largest coordinate, of a sample of the objects: what the
/// finest cell is chosen from.
///
/// Returns 1025 words: 1024 size classes, then the bits of the largest magnitude of a coordinate.
pub fn size_statistics(params: &Params, objects: &[Aabb]) -> Vec<u32> {
    let mut statistics = vec![0u32; 1025];
    let objects = params.objects(objects);
    for object in params.sampled_objects().map(|index| &objects[index]) {
        if classify(object) == Class::Finite {
            statistics[size_class(object)] += 1;
            for bound in object.min.into_iter().chain(object.max) {
                statistics[1024] = statistics[1024].max(bound.abs().to_bits());
            }
        }
    }
    statistics
}
