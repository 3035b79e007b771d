//! A GPU broad phase: finds overlapping axis-aligned boxes, the boxes that rays hit, and the objects at or near a
//! position.
//!
//! WGSL compute passes run through wgpu, in your own encoder or standalone. A CPU engine gives the same results.
//!
//! # Quick start
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
//! # Which type to use
//!
//! - [`BroadPhase`] returns vectors. It runs on a hardware GPU, else on the CPU.
//! - [`GpuBroadPhase`] is for renderers and simulations. [`step`](GpuBroadPhase::step) records into your encoder and
//!   returns the buffers that your next pass binds ([`StepOutput`]). It never submits or waits.
//! - [`cpu::step_scene`] runs on the CPU and blocks.
//!
//! Optional components of a [`GpuBroadPhase`]:
//!
//! - [`ObjectSet`] keeps objects across steps, returns handles to them, and uploads only changes.
//! - [`PairEvents`] reports pairs that begin, persist and end. [`PairTracker`] keeps the current pairs on the host.
//! - [`QuerySet`] runs rays and queries with outputs of its own.
//! - [`Culling`] finds the objects that each view sees and writes an indirect draw per view.
//! - [`DispatchArgs`] dispatches your pass over rows whose number only the device knows.
//! - [`TableShader`] lets your own shader search the cell table.
//! - [`DebugDraw`] draws boxes, cells, pairs and the cells that rays visit, as lines.
//!
//! The [`guide`] adds these components to a frame loop: [device](guide#create-the-device),
//! [objects](guide#pass-objects), [frame](guide#record-a-frame), [capacities](guide#size-the-outputs),
//! [culling](guide#cull-views), [results on the host](guide#read-results-on-the-host),
//! [failures](guide#handle-dropped-frames-and-lost-devices), [debugging](guide#profile-and-debug).
//!
//! # Features
//!
//! | feature | default | effect |
//! |---|---|---|
//! | `backends` | on | wgpu's Vulkan, Metal, DX12, GL and WebGPU. Turn it off to choose by wgpu's own features |
//! | `rayon` | off | the CPU engine uses all threads of the calling rayon pool |
//! | `serde` | off | `Serialize` and `Deserialize` for plain data |
//! | `snapshot` | off | `Snapshot`: input of a step as a file for bug reports; `broadphase replay` runs it again |
//!
//! Plain data are boxes, rays, queries, result rows, counters, [`StepResult`], [`Handle`], and the descriptor with its
//! options. Serialized field names are those of this documentation. A format without infinities, such as JSON, cannot
//! store all boxes and hits.
//!
//! # Buffers
//!
//! These types document their layout: [`Aabb`] (objects, static objects, query boxes), [`Ray`], [`SweptRay`],
//! [`Query`], [`Frustum`] (views), [`Pair`] (pairs, excluded pairs), [`PairEvent`], [`RayHit`], [`RayCell`],
//! [`NearestObject`] (`k` per query), [`LineVertex`] (two per line) and [`Counters`] (32 `u32`). All other buffers hold
//! `u32`:
//!
//! - **One per element**: the world of each object; each object that a query finds; 1 or 0 per ray ([`RayMode::Any`]).
//! - **Offsets** of lists (CSR): list `i` is rows `offsets[i]..offsets[i + 1]`. There are `lists + 1` offsets.
//! - **Visible objects**: a bit per object, in [`CullOutput::words`] words per view.
//! - **Indirect draw of a view**: 4 or 5 words: vertex or index count, instance count, then zeros.
//! - **Indirect dispatch**: 4 words: workgroup counts in x, y and z, then the row count.
//! - **Indirect draw of debug lines**: 5 words: vertex count, instance count, first vertex, first instance, vertex
//!   count of all lines.
//!
//! # Guarantees
//!
//! - **Same results** with all schemes, on all devices and the CPU: boxes are compared as integers, and rays by
//!   correctly rounded formulas. Only distances of queries may differ, within 4 ulps.
//! - **Deterministic order**: the order of rows depends only on input and device. With [`ResultOrder::Sorted`], results
//!   are the same bytes everywhere.
//! - **Overflow is reported**: if rows do not fit, the output holds a valid prefix, its 64-bit counter has the exact
//!   number of rows needed, and a status bit is set. Rows that 32-bit indices cannot reach are not written.
//!   [`Growth::Grow`] makes room for a later step; [`BroadPhase`] repeats the step until the result is complete.
//! - **Short dispatches**, however crowded the scene ([`Capacities::rounds`]).
//! - **Robust**: no box, ray, query or descriptor causes a panic, a hang, a lost device or a write out of bounds. Boxes
//!   with a NaN or `min > max` are ignored and counted; infinite and huge boxes pair with everything they overlap.
//!   Invalid calls return typed errors with the value and its limit.
//! - **Device faults** are returned as errors of the call ([`StepError::Device`], [`GpuBroadPhase::mark_lost`]).
//!   Read-backs end after [`OutputOptions::timeout`].
//! - **Dropped encoders** are noticed: read-backs of their steps, and of steps that read them, fail with
//!   [`ReadBackError::NotSubmitted`], calls with [`StepError::Dropped`]. The next step uploads and rebuilds what is
//!   missing.
//!
//! `docs/promises.md` lists the tests of each guarantee. Not guaranteed, so your responsibility:
//!
//! - **Order**: submit encoders in the order in which you record them, and query a step before you record the next.
//! - **One device**: encoders, buffers, sets, components and steps that meet are of one device. wgpu finds most
//!   mistakes, but cannot distinguish objects of two instances.
//! - **Refused encoders**: if the device refuses an encoder because of your own commands, wgpu reports that only to
//!   you. This crate takes the encoder for submitted, so the next read-back returns the results of the step before.
//! - **Crowds**: `n` objects in one cell take time proportional to `n * n`, in short dispatches.
//!
//! # Performance
//!
//! - Bind the outputs on the GPU: a read-back costs more than the search. Read all results in one call, or a frame
//!   later.
//! - Put objects that seldom move into the [static part](Scene::statics): a step then costs about as much as without
//!   them.
//! - Query the table of the last step ([`GpuBroadPhase::query`]) instead of stepping again.
//! - Turn off [`pairs`](BroadPhaseDescriptor::pairs) and [`filters`](BroadPhaseDescriptor::filters) if unused.
//!   [`count_candidates`](BroadPhaseDescriptor::count_candidates) and [`ResultOrder::Sorted`] cost time.
//! - Prefer one step of many [`worlds`](BroadPhaseDescriptor::worlds) to many steps.
//! - Use the CPU engine for a few hundred boxes: it finishes before a GPU would start.
//! - Keep [`Scheme::Hierarchical`]: it needs no tuning, and is nearly always fastest.
//! - Measure with [`timestamps`](OutputOptions::timestamps).
//!
//! # Platforms
//!
//! The crate needs WebGPU's default limits and no optional feature. Tests run on Vulkan and GL in Mesa's software
//! drivers, and on Chromium's WebGPU with a software adapter. They have passed on an NVIDIA H100 (Vulkan). On DX12,
//! only the command-line tool has run, under Wine. Nothing has run on Metal.
//!
//! - **Vulkan, Metal, DX12**: subgroups and timestamps are used if available.
//! - **GL 4.3, ES 3.1**: no timestamps. The driver llvmpipe ends loops after 65,535 iterations, which is handled
//!   ([`Status::CUT`]).
//! - **Browsers**: WebGPU. Read-backs never block. Device errors arrive with the next read-back.
//!
//! Version 0.1 needs Rust 1.88 and wgpu 30. Types of another major version of wgpu are incompatible: use the
//! re-exported [`wgpu`](mod@crate::wgpu) or the same major version.

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
    //! The definition of results, and the compute passes in plain Rust.
    //!
    //! [`cull()`] lists the objects that views see. Brute force tests every box against every other.
    //!
    //! The reference pass of `shaders/pairs/pair_count.wgsl` is `pairs::pair_count` in `pairs/pair_count.rs`, and so on
    //! for each stage's folder. Both produce the same bytes. Tests run each WGSL pass on the output of the reference
    //! passes before it. The CPU engine uses them where results depend on cells.
    //!
    //! Not compared byte for byte: box tests of rays, the order of a ray's hits with
    //! [`Scheme::Uniform`](crate::Scheme::Uniform), the cells of rays (chosen in floating point with a margin), and
    //! words that a pass leaves unwritten.
    #![allow(
        missing_docs,
        reason = "hidden items, for tests and tools; their WGSL explains passes"
    )]

    #[doc(hidden)]
    pub mod brute_force;
    pub(crate) mod builder;
    pub(crate) mod cull;
    pub(crate) mod dispatch;
    pub(crate) mod draw;
    pub(crate) mod events;
    pub(crate) mod host;
    pub(crate) mod input;
    pub(crate) mod order;
    pub(crate) mod outputs;
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
pub use api::counters::{Counters, Output, Status};
pub use api::descriptor::{
    BroadPhaseDescriptor, Capacities, Growth, OutputOptions, RayMode, ResultOrder, Scheme, SortStrategy, Uses,
};
pub use api::error::{
    BroadPhaseError, CreateError, DescriptorError, InputError, PairFilterError, ReadBackError, StepError,
};
pub use api::frustum::{Frustum, Visible};
pub use api::input::{BoxLayout, BoxWords, DeviceSource, Queries, Rays, Source};
pub use api::local_origin::LocalOrigin;
pub use api::memory::MemoryUse;
pub use api::output::{Lists, Page, PairOutput, QueryOutput, RayOutput};
pub use api::queries::{NearestObject, Query, QueryMode, SelfQuery};
pub use api::result::{StageTime, StepResult};
pub use api::scene::{DeviceCount, QueryInput, Scene, Statics};
#[cfg(feature = "snapshot")]
pub use api::snapshot::{Snapshot, SnapshotError};
pub use api::types::{ALL_WORLDS, Aabb, Dimensions, LineVertex, NONE, Pair, PairEvent, Ray, RayCell, RayHit, SweptRay};
pub use broad_phase::BroadPhase;
pub use gpu::adapter::adapters;
pub use gpu::preparation::Preparation;
pub use gpu::readback::Readback;
pub use step::broad_phase::GpuBroadPhase;
pub use step::output::{StepOutput, Table};
pub use step::query_set::QuerySet;
pub use wgpu;

/// Waits for a future on the calling thread and returns its output. Not available in browsers.
///
/// On native targets, the first poll of this crate's futures already waits for the device.
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
    //! For this project's own tests and tools. Any version may change it.

    pub use crate::gpu::work_log::{Work, watch};
    pub use crate::layout::digits::sort_digits;
    pub use crate::layout::{blocks, grid, worlds};

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
        pub use crate::reference::builder::{SortDigit, Table};
        pub use crate::reference::host::HostScene;
        pub use crate::reference::trace::{Trace, trace};

        macro_rules! reference_passes {
            ($($stage:ident)+) => {
                $(pub mod $stage {
                    pub use crate::reference::$stage::*;
                })+
            };
        }
        reference_passes!(table scan sort pairs input rays queries order events draw dispatch cull);
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

/// Runs the README's examples as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
