// Returns true if the objects `a < b` may form a pair. The caller can supply another function instead.

fn admits_pair(a: u32, b: u32) -> bool {
    return true;
}
