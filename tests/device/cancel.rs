use crate::common::pool::pooled;
use crate::common::steps::{descriptor, queries_of, sorted};
use crate::common::{Rng, daily_adapters, uniform};
use gpu_broad_phase::BroadPhaseError;
use gpu_broad_phase::cpu::{self, CancelToken};
use pollster::block_on;

/// Rounds recorded per step, enough for several submissions.
const ROUNDS: u32 = 1024;

#[test]
fn a_cancel_token_ends_work_between_two_submissions() {
    let objects = uniform(2000, &mut Rng(19));
    let input = queries_of(&objects);
    let descriptor = descriptor(|all| all.outputs.capacities.rounds = Some(ROUNDS));
    let expected = sorted(cpu::step(&descriptor, &objects, &[]).unwrap().pairs);
    for adapter in daily_adapters() {
        let mut broad_phase = pooled(&adapter, &descriptor);
        // On a busy machine, a step may end before its progress is seen.
        let mut attempts = 0..100;
        let token = loop {
            assert!(attempts.next().is_some(), "no step was ended on {}", adapter.name);
            let token = CancelToken::default();
            let result = std::thread::scope(|scope| {
                let step = || block_on(broad_phase.step(&objects, &[]));
                let work = scope.spawn(|| token.run(step));
                while token.progress().0 == 0 && !work.is_finished() {
                    std::thread::yield_now();
                }
                token.stop();
                work.join().unwrap()
            });
            match result {
                Ok(result) => assert_eq!(sorted(result.pairs), expected),
                Err(error) => {
                    assert_eq!(error, BroadPhaseError::Cancelled);
                    break token;
                }
            }
        };
        let (done, total) = token.progress();
        assert!(total == ROUNDS && done < total, "{done} of {total} rounds");
        assert_eq!(block_on(broad_phase.query(&input)), Err(BroadPhaseError::NoStep));
        let result = block_on(broad_phase.step(&objects, &[])).expect("a step");
        assert_eq!(sorted(result.pairs), expected);
        let cancelled = token.run(|| block_on(broad_phase.query(&input)));
        assert_eq!(cancelled, Err(BroadPhaseError::Cancelled));
        let found = block_on(broad_phase.query(&input)).expect("an answer");
        assert_eq!(found.query_objects.len(), 2 * expected.len() + objects.len());
    }
}
