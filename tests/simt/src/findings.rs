//! What is found to be wrong.

use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Two invocations write a word, and no barrier orders them.
    WriteWrite,
    ReadThenWrite,
    WriteThenRead,
    /// An atomic store beside another one: which of them stays is left to chance.
    AtomicStoreStore,
    AtomicStoreUpdate,
    AtomicStoreLoad,
    AtomicUpdateLoad,
    /// Past all memory that a buffer has.
    OutOfBoundsRead,
    OutOfBoundsWrite,
    /// Past what the test gives, within the padding behind it.
    PastEndRead,
    PastEndWrite,
    /// Past an array whose length the shader says.
    IndexPastArray,
    UnwrittenWorkgroupRead,
    /// A word that nobody wrote since it was filled with poison.
    StaleRead,
    /// Some invocations of a workgroup wait at a barrier that others do not come to.
    DivergentBarrier,
    /// Some invocations of a warp take no part in an operation of its subgroup.
    DivergentSubgroup,
    /// By 32 bits or more.
    LongShift,
    Endless,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Finding {
    pub fault: Fault,
    /// Of the program; [`NONE`](crate::code::NONE) where it is about none.
    pub buffer: u32,
    /// The line of the earlier access; 0 where there is none.
    pub earlier: u32,
    pub line: u32,
    /// Between workgroups.
    pub across: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub count: u64,
    /// How often the word held that value already.
    pub idle: u64,
    pub example: String,
}

pub type Findings = BTreeMap<Finding, Tally>;
