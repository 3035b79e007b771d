//! The two buffers of keys and values between which the sort goes back and forth.

use crate::gpu::recorder::Bound;
use crate::gpu::upload::Block;

/// Which of the two key and value buffers hold the sorted entries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sorted {
    pub keys: &'static str,
    pub values: &'static str,
}

impl Sorted {
    pub const SIDES: [Self; 2] = [
        Self {
            keys: "keys_0",
            values: "values_0",
        },
        Self {
            keys: "keys_1",
            values: "values_1",
        },
    ];

    /// Those of outputs that are sorted.
    pub const ORDER: [Self; 2] = [
        Self {
            keys: "order_keys_0",
            values: "order_values_0",
        },
        Self {
            keys: "order_keys_1",
            values: "order_values_1",
        },
    ];

    /// Those of rays.
    pub const RAYS: [Self; 2] = [
        Self {
            keys: "ray_keys_0",
            values: "ray_values_0",
        },
        Self {
            keys: "ray_keys_1",
            values: "ray_values_1",
        },
    ];

    /// The two buffers of [`SIDES`](Self::SIDES) that these are not.
    pub fn other_side(self) -> Self {
        Self::SIDES[usize::from(self == Self::SIDES[0])]
    }

    /// How the passes that read entries name them.
    pub fn names(self) -> [(&'static str, Bound<'static>); 2] {
        [
            ("keys", Bound::Buffer(self.keys)),
            ("values", Bound::Buffer(self.values)),
        ]
    }

    /// The same in a round of a walk.
    pub fn names_in(self, round: Block) -> [(&'static str, Bound<'static>); 3] {
        let [keys, values] = self.names();
        [keys, values, ("round", Bound::Block(round))]
    }
}
