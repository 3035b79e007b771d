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

    /// Counts, time and, where they were asked for, stage times of a step.
    pub fn step(self, result: &StepResult, rays: usize, duration: Duration) {
        let mut rows = format!("{} pairs", result.counters.pairs_needed);
        if rays > 0 {
            let invalid = result.counters.rays_invalid;
            rows = format!("{rays} rays, {invalid} invalid, {} hits", hits(result));
        }
        self.line(result, &rows, duration);
    }

    /// As [`step`](Self::step), for so many queries.
    pub fn queries(self, result: &StepResult, queries: usize, duration: Duration) {
        let counters = &result.counters;
        let near = result.query_nearest.iter().filter(|row| row.object != NONE).count() as u64;
        let results = counters.results_needed.max(near);
        let invalid = counters.queries_invalid;
        self.line(
            result,
            &format!("{queries} queries, {invalid} invalid, {results} results"),
            duration,
        );
    }

    fn line(self, result: &StepResult, rows: &str, duration: Duration) {
        let counters = &result.counters;
        self.say(format!(
            "{} objects, {} invalid left out; {rows}; {:.1} ms",
            counters.objects,
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
}
