//! What is said to a person, all of it on standard error.

use std::io::{self, Write};
use std::time::Duration;

use gpu_broad_phase::{NONE, StepResult};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Says things unless told to be quiet. Warnings are always said.
#[derive(Clone, Copy)]
pub struct Reporter {
    pub quiet: bool,
}

impl Reporter {
    pub fn say(self, message: impl AsRef<str>) {
        if !self.quiet {
            tell(message.as_ref());
        }
    }

    pub fn warn(self, message: impl AsRef<str>) {
        tell(&format!("broadphase: {}", message.as_ref()));
    }

    /// A bar, drawn on a terminal only; whoever made it clears it.
    pub fn bar(self, length: u64, what: &'static str) -> ProgressBar {
        if self.quiet {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr_with_hz(5));
        bar.set_style(ProgressStyle::with_template(BAR).unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(what);
        bar
    }

    /// For work without a measure of its own, such as a sort.
    pub fn spinner(self, what: &'static str) -> ProgressBar {
        let spinner = if self.quiet {
            ProgressBar::hidden()
        } else {
            ProgressBar::new_spinner().with_message(what)
        };
        spinner.enable_steady_tick(Duration::from_millis(200));
        spinner
    }

    /// Counts, time and, where they were asked for, stage times of a step that looked for pairs.
    pub fn pairs(self, result: &StepResult, duration: Duration) {
        self.line(result, &counted(result.counters.pairs_needed, "pair"), duration);
    }

    /// As [`pairs`](Self::pairs), for so many rays.
    pub fn rays(self, result: &StepResult, rays: usize, duration: Duration) {
        let (rays, hits) = (counted(rays as u64, "ray"), counted(hits(result) as u64, "hit"));
        let invalid = result.counters.rays_invalid;
        self.line(result, &format!("{rays}, {invalid} invalid, {hits}"), duration);
    }

    /// As [`pairs`](Self::pairs), for so many queries, which have these names: of one and of several.
    pub fn queries(self, result: &StepResult, [one, several]: [&str; 2], queries: usize, duration: Duration) {
        let name = if queries == 1 { one } else { several };
        let (invalid, results) = (result.counters.queries_invalid, counted(results(result), "result"));
        self.line(
            result,
            &format!("{queries} {name}, {invalid} invalid, {results}"),
            duration,
        );
    }

    /// As [`pairs`](Self::pairs), of points among themselves, of which so many rows are written.
    pub fn neighbors(self, result: &StepResult, rows: u64, duration: Duration) {
        self.line(result, &counted(rows, "result"), duration);
    }

    /// Says so where stage times were asked for and whoever answered has none.
    pub fn check_timings(self, were_asked_for: bool, result: &StepResult) {
        if were_asked_for && result.timings.is_empty() {
            self.warn("--timings: no stage times here; an adapter with timestamps has them, as with --backend vulkan");
        }
    }

    fn line(self, result: &StepResult, rows: &str, duration: Duration) {
        let counters = &result.counters;
        self.say(format!(
            "{}, {} invalid left out; {rows}; {:.1} ms",
            counted(counters.objects.into(), "object"),
            counters.invalid,
            duration.as_secs_f64() * 1e3
        ));
        for stage in &result.timings {
            self.say(format!("  {:<24} {:>10.3} ms", stage.stage, stage.nanoseconds / 1e6));
        }
    }
}

/// Nobody may be there to be told.
fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

const BAR: &str = "{msg:<16} {bar:40.cyan/blue} {percent:>3}% {eta}";

/// Hits that are hits: a ray that meets nothing has an entry too where one entry a ray is asked for.
pub fn hits(result: &StepResult) -> usize {
    let met = result.ray_any.iter().filter(|&&hit| hit != 0).count();
    let hits = result.ray_hits.iter().filter(|hit| hit.object != NONE).count();
    // Those that there was no room for count, too.
    met + hits.max(result.counters.hits_needed as usize)
}

/// Results of queries, those that there was no room for too.
pub fn results(result: &StepResult) -> u64 {
    let near = result.query_nearest.iter().filter(|row| row.object != NONE).count() as u64;
    result.counters.results_needed.max(near)
}

/// So many of a thing.
pub fn counted(count: u64, what: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {what}{ending}")
}

/// A number with its thousands apart by commas.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(12), "12");
    }

    #[test]
    fn one_of_a_thing_is_no_several() {
        let told = [0, 1, 2].map(|count| counted(count, "pair"));
        assert_eq!(told, ["0 pairs", "1 pair", "2 pairs"]);
    }
}
