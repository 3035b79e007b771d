import type { Counters, PairEvents, QueryResults, RayHits } from "./answers.js";
import type { QueryInput, StepInput } from "./input.js";
import { type CommonOptions, type CpuOptions, type GpuOptions, type QueryOptions, checkedOptions } from "./options.js";
import type { QueryOutput, StepOutput } from "./outputs.js";
import type { CpuBroadPhase } from "./cpu.js";
import type { GpuBroadPhase } from "./gpu.js";
import type { Culling } from "./culling.js";
import { loaded } from "./module.js";
import { webGpu } from "./platform.js";

/** Results that can be read to the CPU. */
export interface Answers {
    /**
     * Returns the hits of the last rays.
     *
     * Rejects with `DisposedError`, `NoResultError`; on the GPU with `DeviceLostError`, `DeviceError`, or
     * `OverflowError` if hits overflowed; on the CPU with `WorkerError`, or `RangeError` beyond 2^32 hits.
     */
    readRayHits(): Promise<RayHits>;
    /** Returns the results of the last queries, neighbours or partners. Rejects like `readRayHits`. */
    readQueryResults(): Promise<QueryResults>;
    /** Returns the counters. Rejects like `readRayHits`, except that overflow is reported in `missing`. */
    readCounters(): Promise<Counters>;
}

/**
 * Rays and queries with their own outputs, on the objects of the last step. Use one set per subsystem, such as picking
 * and sensors, so that neither overwrites the other's results.
 */
export interface QuerySet extends Answers {
    /**
     * Queries the objects of the last step. Later steps do not change the result. Never waits.
     *
     * Your buffers that the step read must still have the same contents.
     *
     * @returns The output buffers, or `undefined` on the CPU.
     * @throws TypeError, RangeError for invalid input, which changes nothing. NoResultError before the first step.
     * DisposedError, DeviceLostError, WorkerError.
     */
    query(input: QueryInput): QueryOutput | undefined;
    /** Frees the memory. Pending promises reject with `DisposedError`. Further calls do nothing. */
    dispose(): void;
}

/**
 * Finds overlapping boxes, boxes hit by rays, and objects in or near a place.
 *
 * ```ts
 * const broadPhase = await BroadPhase.create();
 * broadPhase.step({ objects: new Float32Array([0, 0, 0, 1, 1, 1, 0.5, 0.5, 0.5, 2, 2, 2]) });
 * console.log(await broadPhase.readPairs()); // Uint32Array [0, 1]
 * ```
 */
export abstract class BroadPhase implements Answers {
    /**
     * Creates a broad phase on its own GPU device, or with `cpu: true` on the CPU, in a worker.
     *
     * @throws NoWebGpuError without WebGPU or a device. WorkerError if the worker cannot start. ModuleError.
     * TypeError, RangeError for invalid options.
     */
    static create(options: CpuOptions): Promise<CpuBroadPhase>;
    static create(options?: GpuOptions): Promise<GpuBroadPhase>;
    static create(options: GpuOptions | CpuOptions): Promise<GpuBroadPhase | CpuBroadPhase>;
    static async create(options: GpuOptions | CpuOptions = {}): Promise<GpuBroadPhase | CpuBroadPhase> {
        const given = checkedOptions(options);
        // Both backends extend this class and are loaded on demand, so only their types are imported above.
        if (given.cpu === true) {
            await loaded();
            return (await import("./cpu.js")).createOnCpu(given);
        }
        const gpu = await webGpu(given.device);
        await loaded();
        return (await import("./gpu.js")).createOnGpu(given, gpu);
    }

    /** The GPU device, or `null` on the CPU. */
    abstract readonly device: GPUDevice | null;

    /** The options that were passed to `create`. */
    abstract readonly options: Readonly<CommonOptions>;

    /**
     * Finds pairs, hits and query results. Submits to the device's queue and never waits.
     *
     * @returns The output buffers, or `undefined` on the CPU.
     * @throws TypeError, RangeError for invalid input, which changes nothing. DisposedError, DeviceLostError,
     * WorkerError.
     */
    abstract step(input: StepInput): StepOutput | undefined;

    /** Returns the pairs of the last step: two object indices each, the smaller first. Rejects like `readRayHits`. */
    abstract readPairs(): Promise<Uint32Array>;

    /** Returns the number of pairs in each world, then of two objects of all worlds. Rejects like `readPairs`. */
    abstract readWorldPairs(): Promise<Uint32Array>;

    /**
     * Order `"sorted"`: pairs come by world, and world w has the pairs `offsets[w]` to `offsets[w + 1] - 1`; two more
     * offsets than worlds. Else, or with one world, empty. Rejects like `readPairs`.
     */
    abstract readWorldOffsets(): Promise<Uint32Array>;

    abstract readRayHits(): Promise<RayHits>;

    abstract readQueryResults(): Promise<QueryResults>;

    abstract readCounters(): Promise<Counters>;

    /** Returns the pairs that began or ended with the last step. Needs the option `events`. Rejects like `readPairs`. */
    abstract readEvents(): Promise<PairEvents>;

    /** Creates a query set. It inherits options that are not passed from the broad phase. */
    abstract createQuerySet(options?: QueryOptions): QuerySet;

    /** Creates frustum culling of the objects of a step. */
    abstract createCulling(): Culling;

    /**
     * Frees the broad phase and all that it created. This destroys its device and that device's buffers, so first stop
     * any renderer that uses it; the option `device` is not destroyed. Pending promises reject with `DisposedError`.
     * Further calls do nothing.
     */
    abstract dispose(): void;
}
