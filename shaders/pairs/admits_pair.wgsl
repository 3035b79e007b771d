// True if two objects may be a pair, `a` before `b`. The caller may replace this file.

fn admits_pair(a: u32, b: u32) -> bool {
    return true;
}
