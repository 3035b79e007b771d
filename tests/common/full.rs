/// True in the weekly CI run, which takes every adapter, case and choice of constants.
pub fn is_full() -> bool {
    std::env::var("GPU_BROAD_PHASE_FULL").is_ok_and(|value| value == "1")
}

pub fn daily_or_full<T>(daily: T, full: T) -> T {
    if is_full() { full } else { daily }
}
