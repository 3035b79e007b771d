// Nothing parts pairs beside filters.

const EXCLUDES: bool = false;

fn is_excluded(a: u32, b: u32) -> bool {
    return false;
}
