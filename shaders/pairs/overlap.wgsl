// The last word on a pair: closed boxes, compared as ordered integers.

fn overlaps(low_a: vec3<i32>, high_a: vec3<i32>, low_b: vec3<i32>, high_b: vec3<i32>) -> bool {
    return all(low_a <= high_b) && all(low_b <= high_a);
}
