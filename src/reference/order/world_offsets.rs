/// Returns the place of each world's first pair, of the first pair of two objects of all worlds, and the number of
/// pairs. `keys` has the world of each row, ascending.
pub fn world_offsets(keys: &[u32], world_count: u32) -> Vec<u32> {
    let first = |world: u32| keys.partition_point(|&key| key < world) as u32;
    (0..world_count + 2).map(first).collect()
}
