/**
 * Finds overlapping axis-aligned boxes, boxes hit by rays, and visible boxes, on the GPU with WebGPU.
 *
 * @packageDocumentation
 */
export {
    type Counters,
    type Missing,
    type PairEvents,
    type QueryResults,
    type RayHits,
    STATIC_NAME,
    type Visible,
} from "./answers.js";
export { type Answers, BroadPhase, type QuerySet } from "./broad_phase.js";
export type { CpuBroadPhase, CpuCulling, CpuQuerySet } from "./cpu.js";
export type {
    CullOptions,
    CullOutput,
    Culling,
    GpuCulling,
    View,
    ViewFilter,
    ViewMatrix,
    ViewPlanes,
    Views,
} from "./culling.js";
export {
    DeviceError,
    DeviceLostError,
    DisposedError,
    ModuleError,
    NoResultError,
    NoWebGpuError,
    OverflowError,
    WorkerError,
} from "./errors.js";
export type { BufferContents, BufferOptions, GpuBroadPhase, GpuQuerySet } from "./gpu.js";
export {
    type ArrayBoxes,
    type ArrayRays,
    type BoxQueries,
    type Boxes,
    type BufferBoxes,
    type BufferRays,
    type BufferRows,
    type DeviceCount,
    EXCLUDED_OBJECT,
    NO_OBJECT,
    type NeighborQuery,
    type PartnerQuery,
    type Queries,
    type QueryInput,
    type Rays,
    STATIC_OBJECT,
    type SphereQueries,
    type Statics,
    type StepInput,
    type WordRows,
} from "./input.js";
export type {
    Capacities,
    CommonOptions,
    CpuOptions,
    GpuOptions,
    ResultOrder,
    QueryOptions,
    RayMode,
    Scheme,
} from "./options.js";
export type {
    EventOutput,
    ListOutput,
    PairOutput,
    QueryOutput,
    RowsOutput,
    StepOutput,
    TableOutput,
} from "./outputs.js";
export type { TableShader, TableShaderOptions } from "./table_shader.js";
