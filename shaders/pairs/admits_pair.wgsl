// Returns true if objects `a < b` may be a pair. The caller may replace this file.

fn admits_pair(a: u32, b: u32) -> bool {
    return true;
}
