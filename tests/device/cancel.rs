use crate::common::pool::opened;
use crate::common::{Rng, adapters, uniform};
use gpu_broad_phase::cpu::{self, CancelToken};
use gpu_broad_phase::{
    BroadPhaseDescriptor, BroadPhaseError, Capacities, OutputOptions, Queries, Query, QueryInput, Source,
};
use pollster::block_on;
use wild::answers::sorted;

/// Rounds recorded per step, enough for several submissions.
const ROUNDS: u32 = 1024;

#[test]
fn a_cancel_token_ends_work_between_two_submissions() {
    let objects = uniform(2000, &mut Rng(19));
    let queries = objects.iter().map(|&aabb| Query::overlaps(aabb)).collect::<Vec<_>>();
    let input = QueryInput {
        queries: Queries::General(Source::Host(&queries)),
        ..QueryInput::default()
    };
    let descriptor = BroadPhaseDescriptor {
        outputs: OutputOptions {
            capacities: Capacities {
                rounds: Some(ROUNDS),
                ..Capacities::default()
            },
            ..Default::default()
        },
        ..BroadPhaseDescriptor::default()
    };
    let expected = sorted(cpu::step(&descriptor, &objects, &[]).unwrap().pairs);
    assert!(expected.len() > 500, "{}", expected.len());
    for adapter in adapters() {
        let mut headless = opened(&adapter, &descriptor);
        let name = &adapter.name;
        // On a busy machine, a step may end before its progress is seen.
        let mut attempts = 0..100;
        let token = loop {
            assert!(attempts.next().is_some(), "no step was ended on {name}");
            let token = CancelToken::default();
            let result = std::thread::scope(|scope| {
                let step = || block_on(headless.step(&objects, &[]));
                let work = scope.spawn(|| token.run(step));
                while token.progress().0 == 0 && !work.is_finished() {
                    std::thread::yield_now();
                }
                token.stop();
                work.join().unwrap()
            });
            match result {
                Ok(result) => assert_eq!(sorted(result.pairs), expected, "{name}"),
                Err(error) => {
                    assert_eq!(error, BroadPhaseError::Cancelled, "{name}");
                    break token;
                }
            }
        };
        let (done, total) = token.progress();
        assert!(total == ROUNDS && done < total, "{done} of {total} rounds on {name}");
        let refused = block_on(headless.query(&input)).unwrap_err();
        assert_eq!(refused, BroadPhaseError::NoStep, "{name}");
        let result = block_on(headless.step(&objects, &[])).expect("a step");
        assert_eq!(sorted(result.pairs), expected, "{name}");
        let cancelled = token.run(|| block_on(headless.query(&input)));
        assert_eq!(cancelled.unwrap_err(), BroadPhaseError::Cancelled, "{name}");
        let found = block_on(headless.query(&input)).expect("an answer");
        assert_eq!(found.query_objects.len(), 2 * expected.len() + objects.len(), "{name}");
    }
}
