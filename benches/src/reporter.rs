use std::io::{self, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

#[derive(Clone, Copy)]
pub struct Reporter {
    pub quiet: bool,
}

impl Reporter {
    pub fn say(self, message: impl AsRef<str>) {
        if !self.quiet {
            print_line(message.as_ref());
        }
    }

    pub fn warn(self, message: impl AsRef<str>) {
        print_line(&format!("broadphase: {}", message.as_ref()));
    }

    /// Drawn on a terminal only. The caller clears the bar.
    pub fn bar(self, length: u64, what: &'static str) -> ProgressBar {
        if self.quiet {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr_with_hz(5));
        bar.set_style(ProgressStyle::with_template(BAR).unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(what);
        bar
    }

    pub fn spinner(self, what: &'static str) -> ProgressBar {
        let spinner = if self.quiet {
            ProgressBar::hidden()
        } else {
            ProgressBar::new_spinner().with_message(what)
        };
        spinner.enable_steady_tick(Duration::from_millis(200));
        spinner
    }
}

fn print_line(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

const BAR: &str = "{msg:<16} {bar:40.cyan/blue} {percent:>3}% {eta}";

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
