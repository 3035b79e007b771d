//! Reference of `shaders/common/source.wgsl`.

use crate::api::types::Aabb;
use crate::layout::blocks::{CENTER_HALF, SourceLayout, UNFILTERED};
use crate::shared::outward::bound_around;

/// Words of an element, converted to the packed layout.
pub fn element_words(layout: &SourceLayout, words: &[u32], element: usize, count: usize) -> Vec<u32> {
    let place = layout.first as usize + layout.stride as usize * element;
    if layout.flags == 0 {
        return words[place..][..count].to_vec();
    }
    let corner = |is_upper: bool| {
        let bounds = (0..3).map(move |axis| {
            let [low, high] = [0, layout.second as usize].map(|corner| words[place + corner + axis]);
            match is_upper {
                _ if layout.flags & CENTER_HALF != 0 => bound_around(low, high, is_upper),
                false => low,
                true => high,
            }
        });
        let filter = match is_upper {
            _ if layout.flags & UNFILTERED == 0 => words[place + 3 + 4 * usize::from(is_upper)],
            false => Aabb::ALL_LAYERS,
            true => 0,
        };
        bounds.chain([filter])
    };
    corner(false).chain(corner(true)).collect()
}

pub fn boxes(layout: &SourceLayout, words: &[u32], count: usize) -> Vec<Aabb> {
    let row = |element| element_words(layout, words, element, 8);
    (0..count)
        .map(|element| bytemuck::pod_read_unaligned(bytemuck::cast_slice(&row(element))))
        .collect()
}
