/// Returns whether every adapter runs all cases and slow compilers take each choice of constants, as once a week in CI.
pub fn is_full() -> bool {
    std::env::var("GPU_BROAD_PHASE_FULL").is_ok_and(|value| value == "1")
}

/// Returns `full` where [`is_full`], else `daily`.
pub fn daily_or_full<T>(daily: T, full: T) -> T {
    if is_full() { full } else { daily }
}
