/// Returns whether every adapter runs all cases and slow compilers take each choice of constants, as once a week in CI.
pub fn is_full() -> bool {
    std::env::var("GPU_BROAD_PHASE_FULL").is_ok_and(|value| value == "1")
}

/// Returns the length of a list of random cases: `all` where [`is_full`], else the first `daily` of them.
pub fn cases<T>(daily: T, all: T) -> T {
    if is_full() { all } else { daily }
}
