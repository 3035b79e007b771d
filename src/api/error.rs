//! What can go wrong.

use crate::api::types::OutputRows;

/// A descriptor that cannot work.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptorError {
    /// The cell size of [`Scheme::Uniform`](crate::Scheme::Uniform) is not a usable length.
    #[error("cell size {0} is not between 2^-100 and 2^100")]
    CellSize(f32),
    /// The smallest scale of [`Scheme::Adaptive`](crate::Scheme::Adaptive) is not a usable length.
    #[error("smallest scale {0} is not between 2^-100 and 2^90")]
    MinScale(f32),
    /// The margin is negative, infinite or not a number.
    #[error("the margin {0} is not a finite length")]
    Margin(f32),
    /// The headroom is negative, too large or not a number.
    #[error("the headroom {0} is not between 0 and 16")]
    Headroom(f32),
    /// A period is negative, infinite, not a number or out of range.
    #[error("the period {0} is neither 0 nor between 2^-100 and 2^90")]
    Period(f32),
    /// A descriptor of no worlds.
    #[error("the number of worlds is 0")]
    NoWorlds,
    /// A fixed capacity of zero.
    #[error("the capacity for {what} is 0")]
    ZeroCapacity {
        /// What the capacity is for.
        what: &'static str,
    },
    /// More rounds or worlds than there can be.
    #[error("{count} {what}, at most {limit} are possible")]
    TooMany {
        /// Rounds or worlds.
        what: &'static str,
        /// How many there are.
        count: u64,
        /// How many there may be.
        limit: u64,
    },
    /// The text of [`pair_filter`](crate::BroadPhaseDescriptor::pair_filter) cannot be used.
    #[error("the pair filter cannot be used")]
    PairFilter(#[from] PairFilterError),
    /// Not even a step without objects fits the device or the limits of the descriptor.
    #[error("not even a step without objects fits")]
    NoStepFits(#[source] InputError),
}

/// Why the text of a [`pair_filter`](crate::BroadPhaseDescriptor::pair_filter) cannot be used. Lines are those of the
/// text, from 1 on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PairFilterError {
    /// It declares no function `admits_pair`.
    #[error("it declares no function admits_pair: fn admits_pair(a: u32, b: u32) -> bool is needed")]
    Missing,
    /// It declares something else than functions, structs, constants and aliases without attributes.
    #[error(
        "line {line}: {what} is not allowed: it may declare functions, structs, constants and aliases, but no variables \
         of the module, bindings, overrides or entry points"
    )]
    Declares {
        /// The line.
        line: u32,
        /// The word or sign that the declaration begins with.
        what: &'static str,
    },
    /// It declares a name that may be one of the passes' own.
    #[error("line {line}: the name {name} does not begin with admits_")]
    Name {
        /// The line.
        line: u32,
        /// The name.
        name: String,
    },
    /// A brace, a parenthesis or a comment has no end.
    #[error("line {line}: {what} is not closed")]
    Unclosed {
        /// The line where it is opened.
        line: u32,
        /// What is opened.
        what: &'static str,
    },
    /// A brace or a parenthesis has no beginning.
    #[error("line {line}: something is closed that was not opened")]
    Unopened {
        /// The line.
        line: u32,
    },
    /// It calls a function that waits for other invocations or looks at them.
    #[error(
        "line {line}: {name} is not allowed: pairs are tested one by one, and nothing is known of the invocations that \
         test others"
    )]
    Calls {
        /// The line.
        line: u32,
        /// The function, such as `workgroupBarrier`.
        name: String,
    },
    /// The device's compiler refuses it.
    #[error("line {line}: {message}")]
    Compile {
        /// The line.
        line: u32,
        /// What the compiler says.
        message: String,
    },
    /// `admits_pair` takes or returns something else.
    #[error("it has to declare fn admits_pair(a: u32, b: u32) -> bool: {message}")]
    Signature {
        /// What the compiler says of a call.
        message: String,
    },
}

/// The input of a step that the device, the descriptor or the crate cannot take.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The radius of [`SelfQuery::Within`](crate::SelfQuery::Within) is negative, infinite or not a number.
    #[error("the radius {0} is not a finite length")]
    Radius(f32),
    /// With several worlds every object needs one.
    #[error("{worlds} worlds are given for {objects} objects")]
    WorldsMissing {
        /// World ids of the step.
        worlds: u64,
        /// Objects of the step.
        objects: u64,
    },
    /// A buffer would be larger than the device can bind.
    #[error(
        "{what}: {needed} bytes are needed, the device binds at most {limit}: GpuBroadPhase::device_descriptor asks \
         for \
         all that an adapter has, and larger worlds are stepped in tiles"
    )]
    BufferTooLarge {
        /// Which buffer.
        what: &'static str,
        /// Bytes the step needs.
        needed: u64,
        /// Bytes the device allows.
        limit: u64,
    },
    /// The buffers of a step would take more than [`max_bytes`](crate::OutputOptions::max_bytes), even with the
    /// smallest outputs.
    #[error("{needed} bytes of buffers are needed, at most {limit} are allowed")]
    MemoryLimit {
        /// Bytes the step needs.
        needed: u64,
        /// Bytes the descriptor allows.
        limit: u64,
    },
    /// Part of a [`Scene`](crate::Scene) is on a device, and the host needs it. Read it back, and give a copy on the
    /// host in its place. In place of a count on the device, give sources of that length.
    #[error(
        "the host needs the {what} of the step, which only the device has: read it back and give a copy on the host"
    )]
    NotOnHost {
        /// The part.
        what: &'static str,
    },
    /// A prefix that a [`TableShader`](crate::TableShader) cannot begin its names with.
    #[error(
        "{prefix:?} cannot begin the names of a table: ASCII letters, digits and _ can, with a letter or one _ at the \
         front, where no name comes out that is used already"
    )]
    Prefix {
        /// The prefix.
        prefix: String,
    },
    /// No object of the scene has this index.
    #[error("there is no object {index}: the scene has {count}")]
    NoObject {
        /// The index.
        index: u32,
        /// Number of objects.
        count: u64,
    },
    /// More objects or rays than an index can name.
    #[error("{count} {what}, at most {limit} are possible")]
    TooMany {
        /// Objects or rays.
        what: &'static str,
        /// How many there are.
        count: u64,
        /// How many there may be.
        limit: u64,
    },
    /// A number that has to be above zero.
    #[error("the number of {what} is 0")]
    Zero {
        /// What there are none of.
        what: &'static str,
    },
    /// A buffer of the caller cannot be bound.
    #[error("the buffer of {what} lacks the usage STORAGE: create it with wgpu::BufferUsages::STORAGE")]
    Usage {
        /// Objects or rays.
        what: &'static str,
    },
    /// Elements in a buffer of the caller that do not begin at whole words.
    #[error("the {of} of {what} is {bytes} bytes, which is not a multiple of 4")]
    Misaligned {
        /// Objects or rays.
        what: &'static str,
        /// The offset or the stride.
        of: &'static str,
        /// What it is.
        bytes: u64,
    },
    /// An input is a buffer that the call itself writes: an output of the step before, which may be another one in the
    /// next step, or one of its other buffers.
    #[error("the buffer of {what} is the {output} of what is recorded, which is written anew: copy it first")]
    OwnOutput {
        /// Objects or rays.
        what: &'static str,
        /// The name of the buffer, as in its label.
        output: &'static str,
    },
    /// Elements that are bound as they lie, and do not lie as the passes read them.
    #[error("the {what} have to lie one behind the other, from a multiple of {alignment} bytes on")]
    NotInPlace {
        /// Pairs or views.
        what: &'static str,
        /// What the device asks of offsets of bindings.
        alignment: u32,
    },
    /// Elements in a buffer of the caller that would overlap.
    #[error("the stride of {what} is {stride} bytes, each takes {needed}")]
    Stride {
        /// Objects or rays.
        what: &'static str,
        /// Bytes from each to the next.
        stride: u32,
        /// Bytes of an element.
        needed: u32,
    },
    /// Elements that begin past the end of a buffer of the caller.
    #[error("the offset of {what} is {offset} bytes, the buffer has {available}")]
    Offset {
        /// Objects or rays.
        what: &'static str,
        /// Byte of the first element.
        offset: u64,
        /// Bytes the buffer has.
        available: u64,
    },
    /// A buffer of the caller is shorter than its count says.
    #[error("the buffer of {what} has {available} bytes, {needed} are needed")]
    BufferTooSmall {
        /// Objects or rays.
        what: &'static str,
        /// Bytes that offset, stride and count ask for.
        needed: u64,
        /// Bytes the buffer has.
        available: u64,
    },
}

/// Why a [`GpuBroadPhase`](crate::GpuBroadPhase) could not be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The descriptor cannot work.
    #[error(transparent)]
    Descriptor(#[from] DescriptorError),
    /// The device was requested with a limit below what the passes need.
    #[error(
        "the device's limit {limit} is {available}, {needed} is needed: request the device with \
         GpuBroadPhase::device_descriptor or \
         required_limits"
    )]
    Limit {
        /// Name of the limit in `wgpu::Limits`.
        limit: &'static str,
        /// What is needed.
        needed: u64,
        /// What the device has.
        available: u64,
    },
    /// The device refused the pipelines. Browsers tell later: see [`ReadBackError::Device`].
    #[error("the device refused the pipelines: {0}")]
    Device(String),
    /// The device is lost. Browsers do not tell it here: ask the device itself.
    #[error("the device is lost")]
    DeviceLost,
    /// What is prepared was used or prepared for another device before.
    #[error("this was made for another device: each device needs things of its own")]
    OtherDevice,
}

/// Why a step could not be recorded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// The input cannot be taken.
    #[error(transparent)]
    Input(#[from] InputError),
    /// Something was asked of an output that the step does not have: its descriptor or its input does not ask for it.
    #[error("the step has no {rows:?}: its descriptor or its input does not ask for them")]
    NoOutput {
        /// The output.
        rows: OutputRows,
    },
    /// Pair events were asked of a [`page`](crate::GpuBroadPhase::page), which does not show all pairs of its step.
    #[error("pair events need a step's own output; this one shows its pairs from place {first} on")]
    Page {
        /// The first place that the output shows.
        first: u32,
    },
    /// A [`TableShader`](crate::TableShader) met the table of another scheme or of another choice of filters, or a
    /// [`DebugDraw`](crate::DebugDraw) that of another scheme.
    #[error("this was made for another scheme or choice of filters: make it from the descriptor of this broad phase")]
    OtherTable,
    /// A further page was asked for before any step was recorded.
    #[error("no step has been recorded yet")]
    NoStep,
    /// What this builds on will never be there: its encoder was dropped instead of submitted, or was not submitted in
    /// the order of the recordings. A step after that is right again; [`PairEvents`](crate::PairEvents) need a
    /// [`reset`](crate::PairEvents::reset) first.
    ///
    /// Or the last call of this was submitted over something else than it was recorded over: behind a later step, or
    /// ahead of its own. What it wrote is wrong then. A submission cannot say so, and what nobody reads is never told
    /// otherwise. So the next call returns this, once and without recording anything. The call after it is right again.
    #[error(
        "what this builds on was recorded into an encoder that was dropped, or submitted in another order: record it \
         again; pair events need a reset first"
    )]
    Dropped,
    /// What is given is of another device than this, or than the first one that this was recorded over.
    #[error("the step is of another device than before: each device needs things of its own")]
    OtherDevice,
    /// A [`QuerySet`](crate::QuerySet) was asked of another broad phase than the one that made it, or
    /// [`PairEvents`](crate::PairEvents) got a step of another one than before without a
    /// [`reset`](crate::PairEvents::reset).
    #[error(
        "this is of another broad phase: query sets belong to the one that made them, and pair events to that of their \
         first step until a reset"
    )]
    OtherBroadPhase,
    /// The device refused the recording: a buffer belongs to another device, or its memory is used up. The encoder may
    /// hold parts of the step and has to be dropped. Browsers tell this later: see [`ReadBackError::Device`].
    #[error("the device refused the recording: {0}")]
    Device(String),
    /// The device is lost, as [`mark_lost`](crate::GpuBroadPhase::mark_lost) said or the call has found. The encoder
    /// may hold parts of the step and has to be dropped.
    #[error("the device is lost")]
    DeviceLost,
}

/// Why results could not be read back.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadBackError {
    /// No step was recorded.
    #[error("no step has been recorded yet")]
    NoStep,
    /// What was recorded last has not run, or not over what it was recorded over. Its encoder is still open or was
    /// dropped. Or something that it builds on was not submitted before it, or was overwritten by then: by a later
    /// step, or by a later upload of an [`ObjectSet`](crate::ObjectSet). Or an earlier step was submitted after it, and
    /// has overwritten its answer. Submit in the order of recording, and step again.
    #[error("what was recorded last was not submitted, or not in the order of the recordings")]
    NotSubmitted,
    /// A buffer could not be mapped.
    #[error("the results could not be mapped: {0}")]
    Map(String),
    /// The device refused the last recording: see [`StepError::Device`].
    #[error("the device refused the recording: {0}")]
    Device(String),
    /// The device is lost.
    #[error("the device is lost")]
    DeviceLost,
    /// The device did not finish within [`timeout`](crate::OutputOptions::timeout).
    #[error("the device did not finish within {0:?}")]
    Timeout(std::time::Duration),
}

/// An error of a [`BroadPhase`](crate::BroadPhase) or of the [CPU engine](crate::cpu). The same mistake is the same
/// error on a GPU and on the CPU.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BroadPhaseError {
    /// The descriptor cannot work.
    #[error(transparent)]
    Descriptor(#[from] DescriptorError),
    /// The input cannot be taken.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The CPU engine cannot run the WGSL of a [`pair_filter`](crate::BroadPhaseDescriptor::pair_filter).
    #[error("the CPU engine cannot run a pair filter: give the same rule as a function to step_scene_where")]
    PairFilterOnCpu,
    /// Rays or queries without a step before them.
    #[error("there is no step yet, or the last one failed")]
    NoStep,
    /// The program was built without any backend of wgpu.
    #[error(
        "no backend of wgpu is compiled in: turn on the feature `backends` of gpu-broad-phase, or one of wgpu's own, \
         such as `vulkan`"
    )]
    NoBackend,
    /// No adapter of the wanted kind exists.
    #[error("no adapter found{wanted}")]
    NoAdapter {
        /// What was asked for, as a clause that follows the sentence; may be empty.
        wanted: String,
    },
    /// The adapter gave no device.
    #[error("the adapter gave no device: {0}")]
    NoDevice(String),
    /// The broad phase could not be made on the device.
    #[error(transparent)]
    Create(CreateError),
    /// The step could not be recorded.
    #[error(transparent)]
    Step(StepError),
    /// The results could not be read.
    #[error(transparent)]
    ReadBack(ReadBackError),
    /// The device is lost.
    #[error("the device is lost")]
    DeviceLost,
    /// The driver ends the loops of walks early, however short they are.
    #[error("the driver ends loops of shaders early, however short they are")]
    LoopsCut,
    /// The answer has more rows than offsets can name.
    #[error("{needed} {what} are more than the {limit} that can be returned")]
    TooManyResults {
        /// Name of the output, such as `pairs`.
        what: &'static str,
        /// Rows of the answer.
        needed: u64,
        /// Rows that can be returned.
        limit: u64,
    },
}

impl From<CreateError> for BroadPhaseError {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::Descriptor(error) => Self::Descriptor(error),
            CreateError::DeviceLost => Self::DeviceLost,
            error => Self::Create(error),
        }
    }
}

impl From<StepError> for BroadPhaseError {
    fn from(error: StepError) -> Self {
        match error {
            StepError::Input(error) => Self::Input(error),
            StepError::NoStep => Self::NoStep,
            StepError::DeviceLost => Self::DeviceLost,
            error => Self::Step(error),
        }
    }
}

impl From<ReadBackError> for BroadPhaseError {
    fn from(error: ReadBackError) -> Self {
        match error {
            ReadBackError::NoStep => Self::NoStep,
            ReadBackError::DeviceLost => Self::DeviceLost,
            error => Self::ReadBack(error),
        }
    }
}
