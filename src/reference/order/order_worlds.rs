use crate::api::types::Pair;

#[derive(Clone, Copy, Debug)]
pub struct Worlds<'a> {
    pub of_statics: &'a [u32],
    pub of_moving: &'a [u32],
    pub count: u32,
}

impl<'a> Worlds<'a> {
    /// Of the moving, then the static objects.
    pub fn new([of_moving, of_statics]: &'a [Vec<u32>; 2], count: u32) -> Self {
        Self {
            of_statics,
            of_moving,
            count,
        }
    }

    /// Returns the number of worlds for two objects of `ALL_WORLDS`, which is the largest number.
    pub fn of_pair(&self, pair: &Pair) -> u32 {
        self.of(pair.a).min(self.of(pair.b)).min(self.count)
    }

    fn of(&self, object: u32) -> u32 {
        match (object as usize).checked_sub(self.of_statics.len()) {
            Some(moving) => self.of_moving[moving],
            None => self.of_statics[object as usize],
        }
    }
}

/// Returns the world of each pair. `values` holds the row indices, sorted by both objects.
pub fn order_worlds(pairs: &[Pair], values: &[u32], worlds: Worlds<'_>) -> Vec<u32> {
    values.iter().map(|&row| worlds.of_pair(&pairs[row as usize])).collect()
}
