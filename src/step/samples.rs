//! Pipelines that steps need: those of the passes of sample steps.

use std::collections::HashSet;
use std::sync::Arc;

use super::plan::{StepInput, StepPlan};
use super::sequence::Engine;
use crate::api::descriptor::{BroadPhaseDescriptor, OutputOptions, Uses};
use crate::api::input::{RAY_STRIDE, SWEPT_STRIDE};
use crate::api::queries::{QueryMode, SelfQuery};
use crate::gpu::adapter::DeviceClass;
use crate::gpu::device_context::DeviceContext;
use crate::gpu::pipelines::Pipelines;
use crate::gpu::preparation::Preparation;
use crate::gpu::shader::{Pass, Variant};
use crate::gpu::upload::Blocks;
use crate::layout::blocks::SourceLayout;
use crate::layout::digits::MAX_COUNTED_AHEAD;
use crate::layout::query_sizes::QuerySizes;
use crate::stages::rays::SORTED_RAYS;
use crate::stages::shape::{Basis, Demand, STEP_COUNTERS};
use crate::stages::table::statics::buffer as fixed;
use crate::stages::{input, order, pairs, queries, rays, scan, sort, table};

/// Any layout that the device must pack.
const STRIDED: SourceLayout = SourceLayout {
    first: 1,
    stride: 8,
    second: 4,
    flags: 0,
};

/// Number of objects from which the device chooses the variant that counts pairs, and histogram passes count the keys.
const MANY: u64 = 2 * MAX_COUNTED_AHEAD;
const _: () = assert!(MANY > pairs::MANY_OBJECTS as u64);

pub(crate) fn passes() -> impl Iterator<Item = &'static Pass> {
    let stages = [
        table::PASSES,
        scan::PASSES,
        sort::PASSES,
        pairs::PASSES,
        input::PASSES,
        rays::PASSES,
        queries::PASSES,
        order::PASSES,
    ];
    stages.into_iter().flatten().copied()
}

/// Returns the variants of passes that every step with `descriptor` dispatches or, with `uses`, all that steps with
/// these inputs may dispatch.
pub(super) fn variants(descriptor: &BroadPhaseDescriptor<'_>, uses: Option<Uses>, limit: u64) -> Vec<Variant> {
    let descriptor = &BroadPhaseDescriptor {
        outputs: OutputOptions {
            max_bytes: None,
            ..descriptor.outputs
        },
        ..*descriptor
    };
    let (inputs, demands) = match uses {
        None => (
            vec![StepInput {
                objects: 1024,
                ..StepInput::default()
            }],
            &demands()[..1],
        ),
        Some(uses) => (inputs(uses), &demands()[..]),
    };
    let mut found = HashSet::new();
    for demand in demands {
        let basis = Basis {
            descriptor,
            demand,
            binding_limit: limit,
            class: DeviceClass::Unknown,
        };
        for input in &inputs {
            let Ok(plan) = StepPlan::new(&basis, input) else {
                debug_assert!(false, "a sample step does not fit into {limit} bytes");
                continue;
            };
            let blocks = plan.write(&mut Blocks::default(), true);
            for (engine, passes) in plan.passes(&blocks, true) {
                let names = names(&plan, engine);
                if let Some((pass, name)) = passes.unbound(|name| names.contains(name)) {
                    panic!("{pass} binds {name}, which {engine:?} has not");
                }
                found.extend(passes.variants().map(Variant::key));
            }
        }
    }
    let all = passes().flat_map(Pass::variants);
    all.filter(|variant| found.contains(&variant.key())).collect()
}

/// Preparation of the pipelines that steps with `uses` may need or, without, that every step needs.
pub(super) fn preparation(
    context: &Arc<DeviceContext>,
    pipelines: &Arc<Pipelines>,
    descriptor: &BroadPhaseDescriptor<'_>,
    uses: Option<Uses>,
) -> Preparation {
    let variants = variants(descriptor, uses, context.binding_limit());
    Preparation::new(context, pipelines, variants)
}

/// Demands of a sparse and of a crowded scene.
fn demands() -> [Demand; 2] {
    let crowded = Demand {
        bit_words: 1,
        is_crowded: Some(true),
        ..Demand::default()
    };
    [Demand::default(), crowded]
}

fn inputs(uses: Uses) -> Vec<StepInput> {
    let with = |is_used: bool| if is_used { &[false, true][..] } else { &[false] };
    let mut inputs = Vec::new();
    for &excludes in with(uses.excluded_pairs) {
        for &is_strided in with(uses.strided) {
            let layouts = [is_strided.then_some(STRIDED); 2];
            inputs.extend(queries_of(uses, layouts[0]).into_iter().map(|queries| StepInput {
                objects: MANY,
                static_objects: uses.statics.into(),
                object_limit: uses.device_counts.then_some(0),
                layouts,
                static_layouts: layouts,
                exclusions: [excludes.into(), 0],
                queries,
            }));
        }
    }
    inputs
}

fn queries_of(uses: Uses, layout: Option<SourceLayout>) -> Vec<QuerySizes> {
    let counted = uses.device_counts.then_some(0);
    let of_rays = |ray_stride| QuerySizes {
        rays: SORTED_RAYS.into(),
        casts: true,
        ray_stride,
        ray_count_word: counted,
        ray_layout: layout,
        ..QuerySizes::default()
    };
    let of_queries = |self_query: Option<SelfQuery>, query_mode| QuerySizes {
        queries: MANY,
        has_queries: true,
        self_query,
        query_mode,
        query_limit: counted.filter(|_| self_query.is_none()),
        query_layout: layout.filter(|_| self_query.is_none()),
        ..QuerySizes::default()
    };
    let partners = Some(SelfQuery::Overlaps { half: false });
    let (all, nearest) = (QueryMode::All, QueryMode::Nearest(1));
    [
        (true, QuerySizes::default()),
        (uses.rays, of_rays(RAY_STRIDE)),
        (uses.swept_rays, of_rays(SWEPT_STRIDE)),
        (uses.queries, of_queries(None, all)),
        (uses.queries, of_queries(partners, all)),
        (uses.nearest, of_queries(None, nearest)),
        (uses.nearest, of_queries(partners, nearest)),
    ]
    .into_iter()
    .filter_map(|(is_used, sizes)| is_used.then_some(sizes))
    .collect()
}

/// Names of buffers that the passes of `engine` may bind: planned ones and inputs.
fn names(plan: &StepPlan, engine: Engine) -> HashSet<&'static str> {
    use pairs::buffer as pair;
    use queries::buffer as query;
    use rays::buffer as ray;
    use table::buffer as moving;

    let sizes = |of: &Engine| match of {
        Engine::Statics => plan.static_sizes(),
        Engine::Table => plan.table_sizes(),
        Engine::Pairs => plan.pair_sizes(),
        Engine::Queries => plan.answers.sizes(),
    };
    let objects = [
        moving::OBJECTS,
        moving::SOURCE_OBJECTS,
        moving::WORLDS,
        moving::SOURCE_WORLDS,
    ];
    let beside = [moving::OBJECT_LIMITS, pair::EXCLUDED, pair::DATA, fixed::COUNTERS];
    let walked = [
        moving::OBJECTS,
        moving::GRID,
        moving::RECORDS,
        moving::STARTS,
        plan.table.sorted().values,
        moving::WORLDS,
        STEP_COUNTERS,
        fixed::GRID,
        fixed::RECORDS,
        fixed::STARTS,
        fixed::VALUES,
        fixed::WORLDS,
    ];
    let rays = [ray::RAYS, ray::SOURCE_RAYS, ray::LIMITS];
    let queries = [query::QUERIES, query::SOURCE_QUERIES, query::LIMITS];
    let inputs = match engine {
        Engine::Statics => objects.to_vec(),
        Engine::Table => [objects, beside].concat(),
        Engine::Pairs => walked.to_vec(),
        Engine::Queries => [&walked[..], &rays, &queries].concat(),
    };
    let planned = engine.searched().iter().flat_map(sizes).map(|(id, _)| id);
    planned.chain(inputs).map(|id| id.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::descriptor::{RayMode, ResultOrder, Scheme, SortStrategy};
    use crate::step::broad_phase::constants;

    /// Each call of `variants` looks up all bindings.
    #[test]
    fn all_bindings_of_all_steps_have_buffers_and_each_pass_has_a_step() {
        let mut met = HashSet::new();
        let schemes = [
            Scheme::Hierarchical,
            Scheme::Adaptive { min_scale: 1.0 },
            Scheme::Uniform { cell_size: 1.0 },
        ];
        for (scheme, ray_mode) in schemes.into_iter().zip([RayMode::Any, RayMode::Closest, RayMode::All]) {
            for sort in [
                SortStrategy::Portable,
                SortStrategy::Subgroups,
                SortStrategy::SerialTiles,
            ] {
                for (filter, worlds, pairs) in [
                    (None, 1, true),
                    (None, 3, true),
                    (Some("text"), 3, true),
                    (None, 3, false),
                ] {
                    let descriptor = BroadPhaseDescriptor {
                        scheme,
                        sort,
                        pairs,
                        pair_filter: filter,
                        worlds,
                        outputs: OutputOptions {
                            ray_mode,
                            ray_cells: worlds == 1,
                            order: ResultOrder::Sorted,
                            ..OutputOptions::default()
                        },
                        ..BroadPhaseDescriptor::default()
                    };
                    for uses in [None, Some(Uses::default()), Some(Uses::ALL)] {
                        met.extend(variants(&descriptor, uses, 128 << 20).into_iter().map(Variant::key));
                    }
                }
            }
        }
        let lacking: Vec<_> = passes()
            .flat_map(Pass::variants)
            .map(Variant::key)
            .filter(|key| !met.contains(key))
            .collect();
        assert_eq!(lacking, []);
    }

    /// Software drivers take half a second for a pipeline. Tests share the descriptors of `wild::is_daily`.
    #[test]
    fn first_steps_and_the_descriptors_of_the_tests_need_few_pipelines() {
        let limit = 128 << 20;
        let default = BroadPhaseDescriptor::default();
        assert!(variants(&default, None, limit).len() <= 12);
        let mut keys = HashSet::new();
        for scheme in [
            Scheme::Hierarchical,
            Scheme::Adaptive { min_scale: 1.0 },
            Scheme::Uniform { cell_size: 1.0 },
        ] {
            for ray_mode in [RayMode::Any, RayMode::Closest, RayMode::All] {
                for (filters, worlds, periods) in [(true, 1, [0.0; 3]), (false, 2, [9.0; 3])] {
                    let descriptor = BroadPhaseDescriptor {
                        scheme,
                        filters,
                        worlds,
                        periods,
                        outputs: OutputOptions {
                            ray_mode,
                            order: ResultOrder::Sorted,
                            ..OutputOptions::default()
                        },
                        ..default
                    };
                    let constants = constants(&descriptor, DeviceClass::Software);
                    let pipelines = Pipelines::new("test", passes(), &constants, None, None);
                    let all = variants(&descriptor, Some(Uses::ALL), limit);
                    keys.extend(all.into_iter().map(|variant| pipelines.key(variant)));
                }
            }
        }
        assert!(keys.len() <= 180, "{} pipelines", keys.len());
    }

    #[test]
    fn a_binding_without_a_buffer_is_found_before_any_device() {
        let descriptor = BroadPhaseDescriptor::default();
        let demand = Demand::default();
        let basis = Basis::of(&descriptor, &demand);
        let input = StepInput {
            objects: 10,
            ..StepInput::default()
        };
        let plan = StepPlan::new(&basis, &input).unwrap();
        let all = plan.passes(&plan.write(&mut Blocks::default(), true), true);
        let unbound = |without: &str| {
            all.iter().find_map(|(engine, passes)| {
                let names = names(&plan, *engine);
                passes.unbound(|name| name != without && names.contains(name))
            })
        };
        assert_eq!(unbound(""), None);
        assert_eq!(unbound("pairs"), Some(("pair_emit_cached", "pairs")));
        assert_eq!(unbound("sample_statistics"), Some(("a clear", "sample_statistics")));
        assert_eq!(unbound("step_counters"), Some(("a copy", "step_counters")));
    }
}
