use crate::api::types::{ALL_WORLDS, Aabb};
use crate::layout::grid::{Class, Params, classify, flush, grown, unordered};
use crate::reference::queries::query::periods;
use crate::shared::runs::map;

fn wrapped(value: f32, period: f32) -> f32 {
    let rest = flush(value).abs() % period;
    let image = if value < 0.0 { period - rest } else { rest };
    if rest == 0.0 || image >= period { 0.0 } else { image }
}

pub fn prepare(params: &Params, source_objects: &[Aabb], object_limits: &[u32], worlds: &[u32]) -> Vec<Aabb> {
    let limit = match params.object_limit {
        0 => u32::MAX,
        place => object_limits[place as usize - 1],
    };
    let count = params.object_count.min(source_objects.len() as u32);
    let prepared = |index: u32| {
        let mut object = source_objects[index as usize];
        let flatten = |object: &mut Aabb| {
            if params.dimensions == 2 {
                (object.min[2], object.max[2]) = (0.0, 0.0);
            }
        };
        flatten(&mut object);
        let has_place = matches!(classify(&object), Class::Finite | Class::Infinite);
        if params.margin > 0.0 && has_place {
            object.min = object.min.map(|low| unordered(grown(low, params.margin, -1)));
            object.max = object.max.map(|high| unordered(grown(high, params.margin, 1)));
            flatten(&mut object);
        }
        for (axis, period) in periods(params).into_iter().enumerate() {
            let is_finite = object.min[axis].is_finite() && object.max[axis].is_finite();
            if period > 0.0 && is_finite && has_place {
                let edge = flush(flush(object.max[axis]) - flush(object.min[axis])).min(f32::MAX);
                object.min[axis] = wrapped(object.min[axis], period);
                object.max[axis] = object.min[axis] + edge;
            }
        }
        let world = params.world_of(worlds, index as usize);
        if world >= params.world_count && world != ALL_WORLDS {
            object.min[0] = f32::from_bits(0x7fc0_0000);
        }
        if index >= limit {
            object.group = Aabb::EXCLUDED;
        }
        if params.first_object + index < params.static_count {
            object.group |= Aabb::STATIC;
        }
        object
    };
    map(count, prepared)
}
