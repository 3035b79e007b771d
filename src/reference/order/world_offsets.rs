/// Returns the first row of each world, of two objects of all worlds, and the number of rows, from the sorted `keys`.
pub fn world_offsets(keys: &[u32], world_count: u32) -> Vec<u32> {
    let first = |world: u32| keys.partition_point(|&key| key < world) as u32;
    (0..world_count + 2).map(first).collect()
}
