import type { Counters, PairEvents, QueryResults, RayHits } from "./answers.js";
import type { QueryInput, StepInput } from "./input.js";
import { type CommonOptions, type CpuOptions, type GpuOptions, type QueryOptions, givenOptions } from "./options.js";
import type { QueryOutput, StepOutput } from "./outputs.js";
import type { CpuBroadPhase } from "./cpu.js";
import type { GpuBroadPhase } from "./gpu.js";
import { NoWebGpuError, WorkerError } from "./errors.js";
import { loaded } from "./module.js";

/** Whether this is Node.js, which loads no module by `fetch` from a file and has no `Worker` of the web's kind. */
const isInNode =
    typeof Worker === "undefined" &&
    (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node !== undefined;

const NOT_IN_NODE = "Node.js is not supported: the package runs in browsers";

/** What rays and queries found, on the host. */
export interface Answers {
    /**
     * The hits of the last rays.
     *
     * Promises reject with `DisposedError`; on the GPU also with `DeviceLostError`, `DeviceError`, or `OverflowError`
     * where these hits had no room; on the CPU with `WorkerError`, or `RangeError` where there are more than 2^32.
     */
    readRayHits(): Promise<RayHits>;
    /** The results of the last queries, neighbours or partners. Rejects as `readRayHits`. */
    readQueryResults(): Promise<QueryResults>;
    /** What was counted. Rejects as `readRayHits`, but not for want of room: `missing` tells it. */
    readCounters(): Promise<Counters>;
}

/**
 * Rays and queries that ask the objects of the last step before them, with outputs of their own: so what picking asks
 * does not overwrite what sensors ask.
 */
export interface QuerySet extends Answers {
    /**
     * Asks the objects of the last step. The answer is theirs, whatever steps come before it is read. Never waits.
     *
     * Buffers of your own that the step read have to hold what they held then.
     *
     * @returns The buffers with what is found, or `undefined` on the CPU.
     * @throws TypeError, RangeError for an input that cannot be taken: the last answer stays. Error before the first
     * step. DisposedError, DeviceLostError, WorkerError.
     */
    query(input: QueryInput): QueryOutput | undefined;
    /** Gives its memory back. Promises that are pending reject with `DisposedError`. Further calls do nothing. */
    dispose(): void;
}

/**
 * Finds which boxes overlap, which boxes rays meet, and what lies at or near a place.
 *
 * ```ts
 * const broadPhase = await BroadPhase.create();
 * broadPhase.step({ objects: new Float32Array([0, 0, 0, 1, 1, 1, 0.5, 0.5, 0.5, 2, 2, 2]) });
 * console.log(await broadPhase.readPairs()); // Uint32Array [0, 1]
 * ```
 */
export abstract class BroadPhase implements Answers {
    /**
     * Makes a broad phase on a GPU device of its own, or with `cpu: true` on the CPU, in a worker.
     *
     * @throws NoWebGpuError where the browser has no WebGPU or gives no device. WorkerError where the worker cannot be
     * started. TypeError, RangeError for options that cannot be taken.
     */
    static create(options: CpuOptions): Promise<CpuBroadPhase>;
    static create(options?: GpuOptions): Promise<GpuBroadPhase>;
    static create(options: GpuOptions | CpuOptions): Promise<GpuBroadPhase | CpuBroadPhase>;
    static async create(options: GpuOptions | CpuOptions = {}): Promise<GpuBroadPhase | CpuBroadPhase> {
        const given = givenOptions(options);
        // Both backends extend this class and are loaded when they are needed, so only their types are imported above.
        if (given.cpu === true) {
            if (isInNode) {
                throw new WorkerError(NOT_IN_NODE);
            }
            await loaded();
            return (await import("./cpu.js")).createOnCpu(given);
        }
        if (isInNode) {
            throw new NoWebGpuError(NOT_IN_NODE);
        }
        if (typeof navigator === "undefined" || navigator.gpu === undefined) {
            throw new NoWebGpuError("this browser has no WebGPU, or the page is not loaded by https or from localhost");
        }
        await loaded();
        return (await import("./gpu.js")).createOnGpu(given);
    }

    /** The device, or `null` on the CPU. */
    abstract readonly device: GPUDevice | null;

    /** What the broad phase was made from. */
    abstract readonly options: Readonly<CommonOptions>;

    /**
     * Finds pairs, hits and results of the input. Submits to the queue of the device, and never waits.
     *
     * @returns The buffers with what is found, or `undefined` on the CPU.
     * @throws TypeError, RangeError for an input that cannot be taken: the last step stays, and with it its answers.
     * DisposedError, DeviceLostError, WorkerError.
     */
    abstract step(input: StepInput): StepOutput | undefined;

    /**
     * The pairs of the last step: two words each, the smaller index first.
     *
     * Promises reject with `DisposedError`; on the GPU also with `DeviceLostError`, `DeviceError`, or `OverflowError`
     * where these pairs had no room; on the CPU with `WorkerError`, or `RangeError` where there are more than 2^32.
     */
    abstract readPairs(): Promise<Uint32Array>;

    /** With several worlds: the number of pairs of each. Rejects as `readPairs`. */
    abstract readWorldPairs(): Promise<Uint32Array>;

    abstract readRayHits(): Promise<RayHits>;

    abstract readQueryResults(): Promise<QueryResults>;

    abstract readCounters(): Promise<Counters>;

    /** Which pairs began and ended with the last step; with the option `events`. Rejects as `readPairs`. */
    abstract readEvents(): Promise<PairEvents>;

    /** Makes a set of rays and queries. Options that are left out are those of the broad phase. */
    abstract createQuerySet(options?: QueryOptions): QuerySet;

    /**
     * Ends the broad phase and its sets of queries. On the GPU it destroys the device and all of its buffers: a
     * renderer on that device ends before. Promises that are pending reject with `DisposedError`. Further calls do
     * nothing.
     */
    abstract dispose(): void;
}
