//! Worlds of objects.

use crate::api::types::Pair;

/// Worlds of the objects of a step.
#[derive(Clone, Copy, Debug)]
pub struct Worlds<'a> {
    /// Of static objects.
    pub of_statics: &'a [u32],
    /// Of moving objects.
    pub of_moving: &'a [u32],
    /// Number of worlds.
    pub count: u32,
}

impl<'a> Worlds<'a> {
    /// Takes moving objects first.
    pub fn new([of_moving, of_statics]: &'a [Vec<u32>; 2], count: u32) -> Self {
        Self {
            of_statics,
            of_moving,
            count,
        }
    }

    /// Returns the number of worlds for two objects of `ALL_WORLDS`, which is the largest number.
    pub fn of_pair(self, pair: &Pair) -> u32 {
        self.of(pair.a).min(self.of(pair.b)).min(self.count)
    }

    /// World of an object.
    pub fn of(self, object: u32) -> u32 {
        if self.count <= 1 {
            return 0;
        }
        match (object as usize).checked_sub(self.of_statics.len()) {
            Some(moving) => self.of_moving[moving],
            None => self.of_statics[object as usize],
        }
    }
}
