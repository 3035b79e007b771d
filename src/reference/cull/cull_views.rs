//! Twin of `shaders/cull/cull_views.wgsl`.

use crate::api::frustum::Frustum;
use crate::layout::counters::cull_word as word;
use crate::layout::grid::Params;
use crate::shared::wgsl::number;

/// The number of planes of a view that sees nothing.
const NO_VIEW: u32 = number("cull/view", "NO_VIEW");

/// Views as the other passes read them: z out of play in two dimensions, planes that do not count put to zero, and
/// views with a number that is not finite, too many planes or a world that does not exist made invalid and counted.
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
        let has_room = source.plane_count as usize <= Frustum::MOST_PLANES;
        if !is_finite || !has_room || source.world >= params.world_count {
            view.plane_count = NO_VIEW;
            counters[word::INVALID] += 1;
        }
        view
    };
    frusta.iter().map(view).collect()
}
