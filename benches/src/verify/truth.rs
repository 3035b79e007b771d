use gpu_broad_phase::{BroadPhaseDescriptor, BroadPhaseError, Queries, Scene, SelfQuery, StepResult, cpu};
use wild::answers::lists;
use wild::{Expected, caught, check_definition, check_reference};

/// Most box tests of brute force. Larger scenes are compared with the CPU engine alone.
const BRUTE_FORCE_TESTS: usize = 20_000 * 20_000;

/// Results of a step by the CPU engine and by brute force.
pub struct Truth<'a> {
    descriptor: &'a BroadPhaseDescriptor<'a>,
    scene: &'a Scene<'a>,
    expected: Option<Expected>,
    pub on_cpu: StepResult,
    /// The reason why brute force checks only part of the results, or none.
    pub limit: Option<&'static str>,
}

impl<'a> Truth<'a> {
    /// `scene` must be on the host.
    ///
    /// # Errors
    /// As [`cpu::step_scene`].
    pub fn of(descriptor: &'a BroadPhaseDescriptor<'a>, scene: &'a Scene<'a>) -> Result<Self, BroadPhaseError> {
        let on_cpu = cpu::step_scene(descriptor, scene)?;
        let objects = object_count(scene);
        let searches = if descriptor.pairs { objects } else { 0 };
        let searches = searches.max(scene.query.rays.len()).max(query_count(scene));
        let is_large = objects.saturating_mul(searches) > BRUTE_FORCE_TESTS;
        let has_neighbors = matches!(scene.query.queries, Queries::Objects(SelfQuery::Within { .. }));
        let (limit, is_defined) = match (is_large, descriptor.periods != [0.0; 3]) {
            (true, _) => (Some("above the size limit"), false),
            (_, true) => (Some("with periods"), has_neighbors),
            _ => (None, true),
        };
        Ok(Self {
            descriptor,
            scene,
            expected: is_defined.then(|| Expected::of(descriptor, scene)),
            on_cpu,
            limit,
        })
    }

    /// Returns differences of the CPU engine from brute force, or `None` if brute force checks nothing.
    pub fn of_cpu(&self) -> Option<Vec<String>> {
        let expected = self.expected.as_ref()?;
        Some(self.by_definition(expected, &self.on_cpu).into_iter().collect())
    }

    /// Returns differences of `result` from brute force and from the CPU engine.
    pub fn of_adapter(&self, result: &StepResult) -> Vec<String> {
        let by_definition = self.expected.as_ref();
        let by_definition = by_definition.and_then(|expected| self.by_definition(expected, result));
        let by_cpu = failure(|| {
            check_reference(self.descriptor, self.scene, result, &self.on_cpu);
            if result.counters.is_complete() && self.on_cpu.counters.is_complete() {
                // Without brute force, rounding may put an object at exactly the radius on either side.
                let is_alike = self.expected.is_some() || lists(result) == lists(&self.on_cpu);
                assert!(is_alike, "results of queries");
            }
        });
        let by_cpu = by_cpu.map(|message| format!("against the CPU engine: {message}"));
        by_definition.into_iter().chain(by_cpu).collect()
    }

    fn by_definition(&self, expected: &Expected, result: &StepResult) -> Option<String> {
        failure(|| check_definition(self.descriptor, self.scene, expected, result, "against brute force"))
    }
}

/// Returns the number of queries. A self-query counts once per object.
pub fn query_count(scene: &Scene<'_>) -> usize {
    match scene.query.queries {
        Queries::Boxes(boxes) => boxes.len(),
        Queries::General(queries) => queries.len(),
        Queries::Objects(_) => object_count(scene),
        _ => 0,
    }
}

pub(super) fn object_count(scene: &Scene<'_>) -> usize {
    scene.objects.len() + scene.statics.objects.len()
}

/// Returns the message of the panic of `check` in one line.
pub(super) fn failure(check: impl FnOnce()) -> Option<String> {
    caught(check).err()
}
