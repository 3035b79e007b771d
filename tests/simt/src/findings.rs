use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Two invocations write a word without a barrier.
    WriteWrite,
    ReadThenWrite,
    WriteThenRead,
    /// Two invocations store an atomic, so its value is random.
    AtomicStoreStore,
    AtomicStoreUpdate,
    AtomicStoreLoad,
    AtomicUpdateLoad,
    /// Access past the memory of a buffer.
    OutOfBoundsRead,
    OutOfBoundsWrite,
    /// Access past the supplied words, within their padding.
    PastEndRead,
    PastEndWrite,
    IndexPastArray,
    UnwrittenWorkgroupRead,
    /// Read of a word that still holds its initial poison.
    StaleRead,
    /// Some invocations do not reach the barrier.
    DivergentBarrier,
    DivergentSubgroup,
    LongShift,
    Endless,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Finding {
    pub fault: Fault,
    /// [`NONE`](crate::code::NONE) if no buffer is concerned.
    pub buffer: u32,
    /// Line of the earlier access, or 0.
    pub earlier: u32,
    pub line: u32,
    /// True if the accesses are by different workgroups.
    pub across: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub count: u64,
    /// Number of conflicts that left the word's value unchanged.
    pub idle: u64,
    pub example: String,
}

pub type Findings = BTreeMap<Finding, Tally>;
