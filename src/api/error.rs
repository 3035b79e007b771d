//! Errors of the public interface. Messages name no item of this crate, since other interfaces show them, too.

use crate::api::counters::{Counted, Output};
use crate::shared::cancel::is_stopped;

/// A descriptor is invalid: a value is out of range, or the pair filter has an error.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptorError {
    /// The cell size of [`Scheme::Uniform`](crate::Scheme::Uniform) is outside 2^-100 to 2^100.
    #[error("the cell size is {0}: it must be between 2^-100 and 2^100")]
    CellSize(f32),
    /// The smallest scale of [`Scheme::Adaptive`](crate::Scheme::Adaptive) is outside 2^-100 to 2^90.
    #[error("the smallest scale is {0}: it must be between 2^-100 and 2^90")]
    MinScale(f32),
    /// The margin is negative, infinite or not a number.
    #[error("the margin is {0}: it must be finite and not negative")]
    Margin(f32),
    /// The headroom is outside 0 to 16.
    #[error("the headroom is {0}: it must be between 0 and 16")]
    Headroom(f32),
    /// A period is nonzero and outside 2^-100 to 2^90.
    #[error("a period is {0}: it must be 0, or between 2^-100 and 2^90")]
    Period(f32),
    /// The number of worlds is 0.
    #[error("the number of worlds is 0: it must be at least 1")]
    NoWorlds,
    /// A capacity is 0.
    #[error("the capacity for {what} is 0: it must be at least 1")]
    ZeroCapacity {
        /// Name of the output.
        what: &'static str,
    },
    /// There are too many rounds or worlds.
    #[error("{count} {what}: the maximum is {limit}")]
    TooMany {
        /// `rounds` or `worlds`.
        what: &'static str,
        /// Number of rounds or worlds.
        count: u64,
        /// The maximum.
        limit: u64,
    },
    /// The text of [`pair_filter`](crate::BroadPhaseDescriptor::pair_filter) is invalid.
    #[error("invalid pair filter")]
    PairFilter(#[from] PairFilterError),
    /// Even a step without objects exceeds a limit of the device or of the descriptor.
    #[error("even a step without objects does not fit")]
    NoStepFits(#[source] InputError),
}

/// Error in the text of a [`pair_filter`](crate::BroadPhaseDescriptor::pair_filter). The first line has number 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PairFilterError {
    /// The text has no function `admits_pair`.
    #[error("fn admits_pair(a: u32, b: u32) -> bool is missing")]
    Missing,
    /// The text declares something other than a function, struct, constant or alias, or uses attributes.
    #[error(
        "line {line}: {what} is not allowed: declare functions, structs, constants and aliases only, without \
         attributes"
    )]
    Declares {
        /// The line.
        line: u32,
        /// Keyword of the declaration, such as `var`, or `@` for an attribute.
        what: &'static str,
    },
    /// A declared name does not begin with `admits_`, so it may collide with a name in the passes.
    #[error("line {line}: the name {name} must begin with admits_")]
    Name {
        /// Line of the declaration.
        line: u32,
        /// The name.
        name: String,
    },
    /// A brace, a parenthesis or a comment is not closed.
    #[error("line {line}: {what} is not closed")]
    Unclosed {
        /// Line of the opening sign.
        line: u32,
        /// `{`, `(` or `/*`.
        what: &'static str,
    },
    /// A closing brace or parenthesis has no opening one.
    #[error("line {line}: closing bracket without an opening one")]
    Unopened {
        /// Line of the closing sign.
        line: u32,
    },
    /// A called function synchronizes or exchanges values with other invocations.
    #[error(
        "line {line}: {name} is not allowed: the function tests one pair and cannot exchange values with other \
         invocations"
    )]
    Calls {
        /// Line of the name.
        line: u32,
        /// Name of the function, such as `workgroupBarrier`.
        name: String,
    },
    /// The device's compiler rejects the text.
    #[error("line {line}: {message}")]
    Compile {
        /// Line of the error.
        line: u32,
        /// Message of the compiler.
        message: String,
    },
    /// `admits_pair` has another signature.
    #[error("the function must be fn admits_pair(a: u32, b: u32) -> bool: {message}")]
    Signature {
        /// Message of the compiler.
        message: String,
    },
}

/// The input of a step is invalid or exceeds a limit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The radius of [`SelfQuery::Within`](crate::SelfQuery::Within) is negative, infinite or not a number.
    #[error("the radius is {0}: it must be finite and not negative")]
    Radius(f32),
    /// With several worlds, the number of world ids is not the number of objects.
    #[error("{objects} objects have {worlds} world ids: pass one per object")]
    WorldsMissing {
        /// Number of world ids.
        worlds: u64,
        /// Number of objects.
        objects: u64,
    },
    /// A buffer would exceed the largest binding of the device.
    ///
    /// Request [larger bindings](crate::GpuBroadPhase::device_descriptor), or step the world in tiles.
    #[error("{what}: {needed} bytes needed, the device binds at most {limit}")]
    BufferTooLarge {
        /// Contents of the buffer.
        what: &'static str,
        /// Bytes needed.
        needed: u64,
        /// Bytes that the device can bind at most.
        limit: u64,
    },
    /// The buffers of a step, query or page exceed [`max_bytes`](crate::OutputOptions::max_bytes).
    #[error("the step needs {needed} bytes of buffers, the limit is {limit}")]
    MemoryLimit {
        /// Bytes that are needed at least.
        needed: u64,
        /// The value of `max_bytes`.
        limit: u64,
    },
    /// An input of a [`Scene`](crate::Scene) is in a device buffer, but the call needs it on the host.
    ///
    /// Instead of a [`DeviceCount`](crate::DeviceCount), pass only that many elements.
    #[error("the {what} must be on the host: read the buffer back and pass the copy")]
    NotOnHost {
        /// Name of the input.
        what: &'static str,
    },
    /// A [`TableShader`](crate::TableShader) cannot use this prefix for its names.
    #[error(
        "invalid prefix {prefix:?}: use ASCII letters, digits and _, begin with a letter or one _, and avoid names in \
         use"
    )]
    Prefix {
        /// The prefix.
        prefix: String,
    },
    /// The scene has no object with this index.
    #[error("object {index} does not exist: the scene has {count}")]
    NoObject {
        /// The index.
        index: u32,
        /// Number of objects.
        count: u64,
    },
    /// The input has more elements, such as objects, than allowed.
    #[error("{count} {what}: the maximum is {limit}")]
    TooMany {
        /// Name of the elements.
        what: &'static str,
        /// Number of elements.
        count: u64,
        /// The maximum.
        limit: u64,
    },
    /// A number that must be above zero is 0.
    #[error("the number of {what} is 0: it must be at least 1")]
    Zero {
        /// Name of the counted elements.
        what: &'static str,
    },
    /// A buffer of yours lacks the usage [`STORAGE`](wgpu::BufferUsages::STORAGE).
    #[error("the buffer of {what} lacks the usage STORAGE")]
    Usage {
        /// Name of the input.
        what: &'static str,
    },
    /// An offset or a stride in your buffer is not a multiple of 4 bytes.
    #[error("the {of} of {what} is {bytes} bytes: it must be a multiple of 4")]
    Misaligned {
        /// Name of the input.
        what: &'static str,
        /// `offset` or `stride`.
        of: &'static str,
        /// The offset or stride.
        bytes: u64,
    },
    /// An input is a buffer that the same call writes, such as an output of the previous step.
    #[error("the buffer of {what} is {output}, which this call overwrites: copy it first")]
    OwnOutput {
        /// Name of the input.
        what: &'static str,
        /// Name of the buffer, as in the buffer's label.
        output: &'static str,
    },
    /// Excluded pairs, filter data or views are not packed, or their offset is not a multiple of `alignment`.
    #[error("the {what} must be packed, at an offset that is a multiple of {alignment} bytes")]
    NotInPlace {
        /// Name of the input.
        what: &'static str,
        /// Alignment of binding offsets on the device.
        alignment: u32,
    },
    /// The stride in your buffer is smaller than an element.
    #[error("the stride of {what} is {stride} bytes: it must be at least {needed}")]
    Stride {
        /// Name of the input.
        what: &'static str,
        /// The stride in bytes.
        stride: u32,
        /// Bytes of an element.
        needed: u32,
    },
    /// The offset is past the end of your buffer.
    #[error("the offset of {what} is {offset} bytes, the buffer has {available}")]
    Offset {
        /// Name of the input.
        what: &'static str,
        /// Offset of the first element in bytes.
        offset: u64,
        /// Bytes of the buffer.
        available: u64,
    },
    /// Your buffer is too small for its offset, stride and count.
    #[error("the buffer of {what} has {available} bytes: offset, stride and count need {needed}")]
    BufferTooSmall {
        /// Name of the input.
        what: &'static str,
        /// Bytes up to the end of the last element.
        needed: u64,
        /// Bytes of the buffer.
        available: u64,
    },
}

/// A [`GpuBroadPhase`](crate::GpuBroadPhase) could not be created or prepared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The descriptor is invalid.
    #[error(transparent)]
    Descriptor(#[from] DescriptorError),
    /// The device was requested with a limit that is too low.
    ///
    /// Use [`device_descriptor`](crate::GpuBroadPhase::device_descriptor) or
    /// [`required_limits`](crate::GpuBroadPhase::required_limits).
    #[error("the device's limit {limit} is {available}, {needed} is required")]
    Limit {
        /// Name of the limit in `wgpu::Limits`.
        limit: &'static str,
        /// Value that is required.
        needed: u64,
        /// The device's value.
        available: u64,
    },
    /// The device refused the pipelines. In browsers, the next read-back reports this: see [`ReadBackError::Device`].
    #[error("the device refused the pipelines: {0}")]
    Device(String),
    /// The device is lost. Browsers do not report this here, but to the device's lost callback.
    #[error("device lost")]
    DeviceLost,
}

/// A step could not be recorded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// The input is invalid.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The step lacks an output, because neither its descriptor nor its input requests it.
    #[error("the step has no list of {}: request it in its descriptor or input", output.counted().name)]
    NoOutput {
        /// The missing output.
        output: Output,
    },
    /// Pair events need all pairs of a step, but were passed a [`page`](crate::GpuBroadPhase::page).
    #[error("pair events need all pairs of a step, this page begins at pair {first}: pass the step's own output")]
    Page {
        /// Index of the page's first pair.
        first: u32,
    },
    /// A [`TableShader`](crate::TableShader) or [`DebugDraw`](crate::DebugDraw) was created for another scheme, or a
    /// `TableShader` for another choice of filters.
    #[error("created for another scheme or choice of filters: create it from this broad phase's descriptor")]
    OtherTable,
    /// No step was recorded yet.
    #[error("no step recorded: call step first")]
    NoStep,
    /// An encoder that this call depends on was dropped. Record its work again; [`PairEvents`](crate::PairEvents) need
    /// a [`reset`](crate::PairEvents::reset) first.
    #[error("an encoder that this call depends on was dropped: record again; pair events need a reset first")]
    Dropped,
    /// The device refused the recording: a buffer is on another device, or memory is exhausted.
    ///
    /// Drop the encoder, since it may hold parts of the step. In browsers, the next read-back reports this: see
    /// [`ReadBackError::Device`].
    #[error("the device refused the recording: {0}")]
    Device(String),
    /// The device is lost: this call detected it, or [`mark_lost`](crate::GpuBroadPhase::mark_lost) reported it.
    ///
    /// Drop the encoder. Create device and broad phase again.
    #[error("device lost")]
    DeviceLost,
}

/// Results could not be read back.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadBackError {
    /// No step was recorded yet.
    #[error("no step recorded: call step first")]
    NoStep,
    /// The encoder of the recording, or of work that it reads, is still open or was dropped.
    #[error("the last recording, or one that it reads, was not submitted: submit it, or step again")]
    NotSubmitted,
    /// A buffer could not be mapped.
    #[error("cannot read the results back: {0}")]
    Map(String),
    /// The device refused the last recording. In browsers, possibly an earlier one: see [`StepError::Device`].
    #[error("the device refused the recording: {0}")]
    Device(String),
    /// The device is lost. Create it and the broad phase again.
    #[error("device lost")]
    DeviceLost,
    /// The device did not finish within [`timeout`](crate::OutputOptions::timeout).
    #[error("the device did not finish within {0:?}")]
    Timeout(std::time::Duration),
    /// A [`CancelToken`](crate::cpu::CancelToken) ended the wait.
    #[error("cancelled")]
    Cancelled,
}

/// An error of a [`BroadPhase`](crate::BroadPhase) or of the [CPU engine](crate::cpu).
///
/// The same mistake gives the same error on a GPU and on the CPU.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BroadPhaseError {
    /// The descriptor is invalid.
    #[error(transparent)]
    Descriptor(#[from] DescriptorError),
    /// The input is invalid.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The CPU engine cannot run the WGSL of a [`pair_filter`](crate::BroadPhaseDescriptor::pair_filter).
    ///
    /// Pass the same rule as a function to [`step_scene_where`](crate::BroadPhase::step_scene_where).
    #[error("the CPU engine cannot run a WGSL pair filter")]
    PairFilterOnCpu,
    /// A query was made before any step, or after a failed step.
    #[error("no step to query, or the last one failed: call step first")]
    NoStep,
    /// The program was built without any backend of wgpu.
    #[error(
        "no wgpu backend is compiled in: enable the feature `backends` of gpu-broad-phase, or one of wgpu, such \
         as `vulkan`"
    )]
    NoBackend,
    /// No adapter matches the request.
    #[error("no adapter found{wanted}")]
    NoAdapter {
        /// Description of the requested adapter, or empty.
        wanted: String,
    },
    /// The adapter returned no device.
    #[error("the adapter returned no device: {0}")]
    NoDevice(String),
    /// The broad phase could not be created on the device.
    #[error(transparent)]
    Create(CreateError),
    /// The step could not be recorded.
    #[error(transparent)]
    Step(StepError),
    /// The results could not be read back.
    #[error(transparent)]
    ReadBack(ReadBackError),
    /// The device is lost. Create it and the broad phase again.
    #[error("device lost")]
    DeviceLost,
    /// The driver ends shader loops early ([`Status::CUT`](crate::Status::CUT)), even in the shortest rounds.
    #[error("the driver ends loops of shaders early, however short they are")]
    LoopsCut,
    /// The result has more rows than 32-bit offsets can address.
    #[error("{needed} {what}: one result holds at most {limit}")]
    TooManyResults {
        /// Name of the output, such as `pairs`.
        what: &'static str,
        /// Rows of the result.
        needed: u64,
        /// The maximum.
        limit: u64,
    },
    /// A [`CancelToken`](crate::cpu::CancelToken) ended the work.
    #[error("cancelled")]
    Cancelled,
}

/// Returns a pass's output, unless it may be incomplete.
pub(crate) fn completed<T>(output: T) -> Result<T, BroadPhaseError> {
    match is_stopped() {
        true => Err(BroadPhaseError::Cancelled),
        false => Ok(output),
    }
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
            ReadBackError::Cancelled => Self::Cancelled,
            error => Self::ReadBack(error),
        }
    }
}

/// Returns the number of rows as `u32`. Fails with [`BroadPhaseError::TooManyResults`] if 32-bit offsets cannot reach
/// them.
pub(crate) fn checked_row_count(output: &Counted, needed: u64) -> Result<u32, BroadPhaseError> {
    let limit = u32::MAX - 1;
    let fits = u32::try_from(needed).ok().filter(|&needed| needed <= limit);
    fits.ok_or(BroadPhaseError::TooManyResults {
        what: output.name,
        needed,
        limit: limit.into(),
    })
}
