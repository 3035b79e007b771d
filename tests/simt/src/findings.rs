use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Without a barrier between.
    WriteWrite,
    ReadThenWrite,
    WriteThenRead,
    /// The remaining value is random.
    AtomicStoreStore,
    AtomicStoreUpdate,
    AtomicStoreLoad,
    AtomicUpdateLoad,
    /// Past the memory of a buffer.
    OutOfBoundsRead,
    OutOfBoundsWrite,
    /// Past the supplied words, within their padding.
    PastEndRead,
    PastEndWrite,
    /// The array's length is in the shader.
    IndexPastArray,
    UnwrittenWorkgroupRead,
    /// Not written since it was filled with poison.
    StaleRead,
    /// Others do not reach the barrier.
    DivergentBarrier,
    /// Some invocations of the warp are inactive.
    DivergentSubgroup,
    /// By 32 bits or more.
    LongShift,
    Endless,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Finding {
    pub fault: Fault,
    /// [`NONE`](crate::code::NONE) without a buffer.
    pub buffer: u32,
    /// Line of the earlier access, or 0.
    pub earlier: u32,
    pub line: u32,
    /// Between workgroups.
    pub across: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub count: u64,
    /// Writes of the value that the word had.
    pub idle: u64,
    pub example: String,
}

pub type Findings = BTreeMap<Finding, Tally>;
