use std::any::Any;
use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

const VARIABLE: &str = "GPU_BROAD_PHASE_WILD";
/// In characters. A failed check may print whole lists.
const LONGEST_MESSAGE: usize = 300;

/// Returns the scenes that `GPU_BROAD_PHASE_WILD` names: `20000` the first ones, `7123..7124` a range. Without it, the
/// first `default`.
pub fn selected(default: u64) -> Range<u64> {
    let Ok(text) = std::env::var(VARIABLE) else {
        return 0..default;
    };
    let number = |text: &str| text.trim().parse().unwrap_or_else(|_| panic!("{VARIABLE}: {text}"));
    match text.split_once("..") {
        Some((first, end)) => number(first)..number(end),
        None => 0..number(&text),
    }
}

/// True if the scenes are not those of daily runs.
pub fn is_selected() -> bool {
    std::env::var(VARIABLE).is_ok()
}

/// Returns the command line that runs one scene again in a test program.
pub fn again(number: u64, test: &str) -> String {
    format!("{VARIABLE}={number}..{} tests/run.sh --test {test} wild", number + 1)
}

thread_local! {
    static IS_CHECKING: Cell<bool> = const { Cell::new(false) };
}

/// Runs `check` without printing its panic.
///
/// # Errors
/// The panic's message in one line, cut to 300 characters.
pub fn caught<T>(check: impl FnOnce() -> T) -> Result<T, String> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let print = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_CHECKING.get() {
                print(panic);
            }
        }));
    });
    let was_checking = IS_CHECKING.replace(true);
    let checked = catch_unwind(AssertUnwindSafe(check));
    IS_CHECKING.set(was_checking);
    checked.map_err(|panic| {
        let words: Vec<_> = panic_text(&*panic).split_whitespace().collect();
        words.join(" ").chars().take(LONGEST_MESSAGE).collect()
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}
