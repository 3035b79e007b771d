//! Finds on the GPU which axis-aligned bounding boxes overlap, which of them each ray meets, and what lies at or near a
//! place.
//!
//! # Quick start
//!
//! [`BroadPhase`] returns vectors. It runs on a GPU if there is one, else on the CPU.
//!
//! ```
//! use gpu_broad_phase::{Aabb, BroadPhase, BroadPhaseDescriptor, Pair, block_on};
//!
//! let mut broad_phase = block_on(BroadPhase::new(&BroadPhaseDescriptor::default()))?;
//! let boxes = [
//!     Aabb::new([0.0; 3], [1.0; 3]),
//!     Aabb::new([0.9; 3], [2.0; 3]),
//!     Aabb::new([5.0; 3], [6.0; 3]),
//! ];
//! let result = block_on(broad_phase.step(&boxes, &[]))?;
//! assert_eq!(result.pairs, [Pair { a: 0, b: 1 }]);
//! # Ok::<(), gpu_broad_phase::BroadPhaseError>(())
//! ```
//!
//! In a renderer or a simulation nothing is read back:
//!
//! - [`GpuBroadPhase::step`] records into the caller's encoder. [`StepOutput`] names the buffers that the next pass
//!   binds. The [`guide`] puts it into a frame loop, step by step. [`GpuBroadPhase::read_back`] reads the buffers,
//!   after the submission.
//! - [`ObjectSet`] keeps objects that live across steps. It hands out handles and uploads only what changed.
//! - [`PairEvents`] finds which pairs begin, persist and end from step to step. [`PairTracker`] keeps the overlapping
//!   pairs on the host by them.
//! - [`Culling`] finds which objects each of several views sees, and makes an indirect draw of each.
//! - [`DispatchArgs`] dispatches a caller's pass over rows that only the device has counted.
//! - [`TableShader`] lets a caller's shader walk the table itself, by queries and by rays.
//! - [`DebugDraw`] shows boxes, cells, pairs and ray walks as lines.
//! - [`cpu::step_scene`] gives the same answer on the CPU, without a future.
//!
//! # Buffers
//!
//! | what | element | layout |
//! |---|---|---|
//! | objects | [`Aabb`], 32 bytes | `min.xyz, layers, max.xyz, owner` |
//! | rays | [`Ray`], 32 bytes | `origin.xyz, t_max, direction.xyz, layers` |
//! | swept rays | [`SweptRay`], 64 bytes | as a [`Ray`], then `half_extents.xyz, t_min, world`, three unused words |
//! | pairs | [`Pair`], 8 bytes | `a, b` with `a < b` |
//! | events | [`PairEvent`], 16 bytes | `a, a_generation, b, b_generation` |
//! | indirect dispatch | 4 `u32` | workgroups in three dimensions, rows |
//! | views | [`Frustum`], 144 bytes | eight planes `normal.xyz, d`, then `plane_count, layers, world`, an unused word |
//! | what views see | `u32` | a bit per object, [`CullOutput::words`] per view; lists with offsets as for hits |
//! | indirect draws of views | 4 or 5 `u32` | vertices or indices, instances, then zeros, one draw per view |
//! | debug lines | [`LineVertex`], 16 bytes | `position.xyz, color`, two per line |
//! | indirect draw | 5 `u32` | vertices, instances, first vertex, first instance, vertices of all lines |
//! | hits | [`RayHit`], 8 bytes | `object, t` |
//! | ray offsets | `u32` | rays + 1, hits of ray `r` at `offsets[r]..offsets[r + 1]` |
//! | rays that meet anything | `u32` | 0 or 1 per ray |
//! | ray cells | [`RayCell`], 16 bytes | `level, x, y, z`, with offsets as for hits |
//! | query boxes | [`Aabb`], 32 bytes | what meets each box |
//! | queries | [`Query`], 48 bytes | a box as [`Aabb`], then `radius, world`, two unused words |
//! | query results | `u32` | objects, with offsets as for hits |
//! | nearest objects | [`NearestObject`], 8 bytes | `object, squared_distance`, as many per query as are wanted |
//! | static objects | [`Aabb`], 32 bytes | as objects; they come first in the numbering |
//! | excluded pairs | [`Pair`], 8 bytes | `a, b`, either first |
//! | worlds | `u32` | the world of each object |
//! | counters | 32 `u32` | see [`Counters`] |
//!
//! # Static objects
//!
//! Objects that seldom change go into [`Scene::statics`] with a generation number, or into the static part of an
//! [`ObjectSet`]. They have a table of their own. It is built when the generation changes, and kept otherwise. So a
//! step costs about what its moving objects cost. The answer is that of one list with [`Aabb::STATIC`] marks.
//!
//! # Overflow
//!
//! An output that proves too small keeps a valid prefix. Its counter goes on to the exact need, and the status word
//! says so. A step brings its counters to the host, and with [`Growth::Grow`] a later step makes room.
//! [`BroadPhase`] repeats until the answer is whole. Needs are 64-bit counts. Places that 32 bits do not name are not
//! written.
//!
//! The work of crowded scenes is bounded in the same way. A dispatch makes a bounded number of box tests.
//! [`Capacities::rounds`] says how many dispatches a walk has, and a step whose walks need more says so.
//!
//! [`OutputOptions::max_bytes`] bounds the buffers. What steps do without goes by itself.
//! [`GpuBroadPhase::trim`] gives all of it back.
//!
//! # Choosing a scheme
//!
//! All schemes give the same answer. `docs/measurements.md` compares them. When in doubt, take
//! [`Scheme::Hierarchical`]: it has nothing to tune, and no bad case among those scenes.
//!
//! # Determinism
//!
//! Pairs, hits and results come in an order that depends on the input and the device alone, not on what ran before.
//! [`PairOrder::Sorted`] gives ascending ones, the same bytes on every device. Boxes are compared as integers, and rays
//! by a formula of correctly rounded steps. So the same ones are found everywhere. Distances of queries may differ
//! within 4 ulps.
//!
//! # Performance
//!
//! - Reading back costs more than finding: bind the outputs. What has to be read, read in one call, or a frame later.
//! - What seldom moves belongs to the [static part](Scene::statics). A step then costs about what its moving
//!   objects cost.
//! - Ask new rays and queries of the table that is there ([`GpuBroadPhase::query`]) instead of stepping again.
//! - [`pairs`](BroadPhaseDescriptor::pairs), [`filters`](BroadPhaseDescriptor::filters) and
//!   [`count_candidates`](BroadPhaseDescriptor::count_candidates) cost what they say where they are on.
//! - [`PairOrder::Sorted`] costs two sorts of the output.
//! - One step of many [`worlds`](BroadPhaseDescriptor::worlds) beats many steps of one.
//! - A few hundred boxes are done on the CPU before a GPU starts.
//! - [`timestamps`](OutputOptions::timestamps) return the GPU time of each stage.
//!
//! # Platforms
//!
//! The crate needs WebGPU's default limits and no feature. The project's tests run Vulkan and GL, both in Mesa's
//! software drivers, and Chromium's WebGPU on a software adapter. They have passed on an NVIDIA H100 (Vulkan). On DX12
//! the command line has run under Wine. Nothing has run on Metal yet.
//!
//! | | |
//! |---|---|
//! | Vulkan, Metal, DX12 | subgroups and timestamps are used where the device has them |
//! | GL 4.3 / ES 3.1 | no timestamps; a limit of 65,535 loop turns in llvmpipe is dealt with ([`Status::CUT`]) |
//! | browsers | WebGPU; read-backs are awaited, never waited for; errors of the device come with the next read-back |
//!
//! | this crate | wgpu | Rust |
//! |---|---|---|
//! | 0.1 | 30 | 1.88 |
//!
//! The types of another version of wgpu are other types. Use the one that is exported as [`wgpu`](mod@crate::wgpu), or
//! the same major version.
//!
//! # Robustness
//!
//! No box, ray, query or descriptor makes a step panic, hang, lose the device or write out of bounds:
//!
//! - What is not a number or is inverted takes no part, and is counted.
//! - What is infinite or huge meets all that it should.
//! - What cannot work is a typed error that names value and limit.
//!
//! A device that refuses a recording or is lost is an error of the call ([`StepError::Device`],
//! [`GpuBroadPhase::mark_lost`]). Read-backs end after [`OutputOptions::timeout`]. An encoder may be dropped, or
//! submitted in another order. Then each answer is that of the step that it was recorded over, or an error says that
//! there is none: [`ReadBackError::NotSubmitted`] for what is read, [`StepError::Dropped`] for the next call of what
//! nobody reads. Things of another device or broad phase are refused ([`StepError::OtherDevice`],
//! [`StepError::OtherBroadPhase`]). `docs/promises.md` says which test holds each promise.
//!
//! Five things are the caller's:
//!
//! - Buffers and layouts of a device of another instance. wgpu itself cannot tell them from its own: their numbers
//!   count within an instance. Devices are told apart, by the errors that each catches.
//! - An encoder of another device: it does not say whose it is.
//! - The encoder that a bind group of [`TableShader::bind`] is used in: nothing of it is known here.
//! - An encoder that the device refuses when it is finished or submitted, because of what else was recorded there. wgpu
//!   reports that to the caller alone. Here it counts as submitted, so the next read-back has the answer of the step
//!   before.
//! - The time that a crowd of `n` objects in one cell takes. It grows with `n * n`, in short dispatches.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `backends` | on | wgpu's backends: Vulkan, Metal, DX12, GL and WebGPU. Turn it off to choose them by wgpu's own features |
//! | `rayon` | off | the CPU engine on all threads of the rayon pool that calls it |
//! | `serde` | off | `Serialize` and `Deserialize` of plain data |
//! | `snapshot` | off | `Snapshot`: descriptor and input of a step as a file, bit for bit, for reports of faults |
//!
//! Plain data are boxes, rays, queries, rows, counters, [`StepResult`], [`Handle`], the descriptor and what it is made
//! of. Fields and variants have their names here. A format without infinities, such as JSON, cannot hold all boxes and
//! hits. `broadphase replay` runs a snapshot again.

#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod addons;
mod api;
mod broad_phase;
pub mod cpu;
mod gpu;
#[doc = include_str!("guide.md")]
pub mod guide {}
mod layout;
pub mod reference {
    //! The definition of an answer, and the compute passes in plain Rust.
    //!
    //! [`cull()`] lists the objects that views see. [`cpu`](crate::cpu) has the answers of a step on the CPU. Brute
    //! force, which tests compare with, tests every box against every other.
    //!
    //! `pairs::pair_count` in `pairs/pair_count.rs` is the reference pass of `shaders/pairs/pair_count.wgsl`, and so on
    //! in the folder of each stage. It returns or fills what the pass writes, with the same bytes. The CPU engine
    //! builds its table with these passes and finds its answers by their walks. A trace runs all of them and keeps
    //! every buffer; tests run each pass on the output of the reference passes before it and compare buffers. Four
    //! things are not compared byte for byte: box tests of rays, the order of a ray's hits under
    //! [`Scheme::Uniform`](crate::Scheme::Uniform), the cells of rays, which are chosen in floating point with a
    //! margin, and words that a pass leaves unwritten.

    #[doc(hidden)]
    pub mod brute_force;
    pub(crate) mod cull;
    pub(crate) mod dispatch;
    pub(crate) mod draw;
    pub(crate) mod events;
    pub(crate) mod host;
    pub(crate) mod input;
    pub(crate) mod order;
    pub(crate) mod pair_rule;
    pub(crate) mod pairs;
    pub(crate) mod params;
    pub(crate) mod queries;
    pub(crate) mod rays;
    pub(crate) mod reads;
    pub(crate) mod rows;
    pub(crate) mod scan;
    pub(crate) mod sort;
    pub(crate) mod source;
    pub(crate) mod table;
    pub(crate) mod trace;

    pub use cull::visible::cull;
    #[doc(hidden)]
    pub use pair_rule::{PairRule, pair_rule};
}
#[doc(hidden)]
pub mod shaders;
mod shared;
mod stages;
mod step;

pub use addons::cull::{CullDraw, CullOptions, CullOutput, Culling};
pub use addons::dispatch::DispatchArgs;
pub use addons::draw::{DebugDraw, DebugLines, DebugOutput};
pub use addons::events::{EventOutput, Events, ObjectNames, PairEvents};
pub use addons::object_set::{Handle, ObjectSet, StaleHandle};
pub use addons::pair_tracker::PairTracker;
pub use addons::table_shader::TableShader;
pub use api::backend::Backend;
pub use api::counters::{Counters, Status};
#[doc(hidden)]
pub use api::descriptor::SortStrategy;
pub use api::descriptor::{BroadPhaseDescriptor, Capacities, Growth, OutputOptions, PairOrder, RayMode, Scheme, Uses};
pub use api::error::{
    BroadPhaseError, CreateError, DescriptorError, InputError, PairFilterError, ReadBackError, StepError,
};
pub use api::frustum::{Frustum, Visible};
pub use api::input::{BoxLayout, BoxWords, Queries, Rays, Source};
pub use api::memory::MemoryUse;
pub use api::output::{Lists, PairOutput, QueryOutput, RayOutput};
pub use api::queries::{NearestObject, Query, QueryMode, SelfQuery};
pub use api::result::{Outputs, StageTime, StepResult};
pub use api::scene::{DeviceCount, QueryInput, Scene, Statics};
#[cfg(feature = "snapshot")]
pub use api::snapshot::{Snapshot, SnapshotError};
pub use api::types::{
    Aabb, Dimensions, LineVertex, NONE, OutputRows, Page, Pair, PairEvent, Ray, RayCell, RayHit, SweptRay,
};
pub use broad_phase::BroadPhase;
pub use gpu::adapter::adapters;
pub use gpu::preparation::Preparation;
pub use gpu::readback::Readback;
pub use step::broad_phase::GpuBroadPhase;
pub use step::output::{StepOutput, Table};
pub use step::query_set::QuerySet;
pub use wgpu;

/// Waits for a future on the calling thread and returns its output. Not in browsers.
///
/// The futures of this crate wait for the device in their first poll, on native targets.
#[cfg(not(target_arch = "wasm32"))]
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    pollster::block_on(future)
}

#[doc(hidden)]
pub mod grid {
    //! The layouts of a [`Table`](crate::Table)'s buffers.

    pub use crate::layout::grid::{Grid, Level, MAX_COVER, MAX_LEVELS, Record};
}

#[doc(hidden)]
#[allow(missing_docs, reason = "for this project's own tests and tools")]
pub mod internals {
    //! For this project's own tests and tools. Nothing here is part of the interface: any version may change it.

    pub use crate::layout::digits::sort_digits;
    pub use crate::layout::{blocks, grid};

    pub mod counters {
        pub use crate::api::counters::word::*;
        pub use crate::layout::counters::{cull_word, event_word};
    }

    pub mod reference {
        pub mod rows {
            pub use crate::reference::rows::*;
        }
        pub mod source {
            pub use crate::reference::source::*;
        }
        pub use crate::reference::host::HostScene;
        pub use crate::reference::trace::{SortDigit, Trace, trace};

        macro_rules! reference_passes {
            ($($stage:ident)+) => {
                $(pub mod $stage {
                    pub use crate::reference::$stage::*;
                })+
            };
        }
        reference_passes!(table scan sort pairs input rays queries order events draw dispatch cull);
    }

    pub mod submission {
        #[cfg(all(panic = "unwind", not(target_arch = "wasm32")))]
        pub use crate::gpu::submission_probe::reports_at_once;
        pub use crate::shared::submission::report_at_once;
    }

    pub mod shaders {
        pub use crate::addons::cull::{CULL_ARGS, CULL_COUNT, CULL_EMIT, CULL_OBJECTS, CULL_VIEWS};
        pub use crate::addons::dispatch::DISPATCH_ARGS;
        pub use crate::addons::draw::*;
        pub use crate::addons::events::*;
        pub use crate::addons::mirror::*;
        pub use crate::stages::input::*;
        pub use crate::stages::order::*;
        pub use crate::stages::pairs::*;
        pub use crate::stages::queries::*;
        pub use crate::stages::rays::*;
        pub use crate::stages::scan::*;
        pub use crate::stages::sort::*;
        pub use crate::stages::table::*;
    }
}

/// Runs the README's example as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
