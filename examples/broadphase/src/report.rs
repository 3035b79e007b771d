use std::time::Duration;

use gpu_broad_phase::{NONE, StepResult};
pub use measure::Reporter;

pub fn pairs(reporter: Reporter, result: &StepResult, duration: Duration) {
    summary(
        reporter,
        result,
        &counted(result.counters.pairs_needed, "pair"),
        duration,
    );
}

pub fn rays(reporter: Reporter, result: &StepResult, rays: usize, duration: Duration) {
    let (rays, hits) = (counted(rays as u64, "ray"), counted(hits(result) as u64, "hit"));
    let invalid = result.counters.rays_invalid;
    summary(
        reporter,
        result,
        &format!("{rays}, {invalid} invalid, {hits}"),
        duration,
    );
}

pub fn queries(reporter: Reporter, result: &StepResult, queries: usize, duration: Duration) {
    let name = if queries == 1 { "query" } else { "queries" };
    let (invalid, results) = (result.counters.queries_invalid, counted(results(result), "result"));
    summary(
        reporter,
        result,
        &format!("{queries} {name}, {invalid} invalid, {results}"),
        duration,
    );
}

pub fn neighbors(reporter: Reporter, result: &StepResult, rows: u64, duration: Duration) {
    summary(reporter, result, &counted(rows, "result"), duration);
}

pub fn check_timings(reporter: Reporter, were_asked_for: bool, result: &StepResult) {
    if were_asked_for && result.timings.is_empty() {
        reporter.warn("--timings: no adapter with timestamps; try --backend vulkan");
    }
}

fn summary(reporter: Reporter, result: &StepResult, rows: &str, duration: Duration) {
    let counters = &result.counters;
    reporter.say(format!(
        "{}, {} invalid ignored; {rows}; {:.1} ms",
        counted(counters.objects.into(), "object"),
        counters.invalid,
        duration.as_secs_f64() * 1e3
    ));
    for stage in &result.timings {
        reporter.say(format!("  {:<24} {:>10.3} ms", stage.stage, stage.nanoseconds / 1e6));
    }
}

pub fn hits(result: &StepResult) -> usize {
    let met = result.ray_any.iter().filter(|&&hit| hit != 0).count();
    let hits = result.ray_hits.iter().filter(|hit| hit.object != NONE).count();
    met + hits.max(result.counters.hits_needed as usize)
}

pub fn results(result: &StepResult) -> u64 {
    let near = result.query_nearest.iter().filter(|row| row.object != NONE).count() as u64;
    result.counters.results_needed.max(near)
}

pub fn counted(count: u64, what: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {what}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        let texts = [0, 1, 2].map(|count| counted(count, "pair"));
        assert_eq!(texts, ["0 pairs", "1 pair", "2 pairs"]);
    }
}
