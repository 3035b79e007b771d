use crate::api::frustum::Frustum;
use crate::layout::counters::cull_word as word;
use crate::layout::grid::Params;
use crate::shared::wgsl::number;

const NO_VIEW: u32 = number("cull/view", "NO_VIEW");

/// Returns the views for the other passes. Marks and counts invalid views: those with a number that is not finite, too
/// many planes or an unknown world.
pub fn cull_views(params: &Params, frusta: &[Frustum], counters: &mut [u32]) -> Vec<Frustum> {
    let view = |source: &Frustum| {
        let mut view = Frustum { reserved: 0, ..*source };
        for (place, plane) in (0..).zip(&mut view.planes) {
            if place >= source.plane_count {
                *plane = [0.0; 4];
            }
            if params.dimensions == 2 {
                plane[2] = 0.0;
            }
        }
        let is_finite = view.planes.as_flattened().iter().all(|part| part.is_finite());
        let has_room = source.plane_count as usize <= Frustum::MAX_PLANES;
        if !is_finite || !has_room || source.world >= params.world_count {
            view.plane_count = NO_VIEW;
            counters[word::INVALID] += 1;
        }
        view
    };
    frusta.iter().map(view).collect()
}
