import { type Counters, LACKS, type PairEvents, type QueryResults, type RayHits } from "./answers.js";
import { BroadPhase, type QuerySet } from "./broad_phase.js";
import { GpuCulling } from "./culling.js";
import { DisposedError, OverflowError, calling, demandMade, translated } from "./errors.js";
import { DeviceContext } from "./device_context.js";
import { type QueryInput, type StepInput, partsOfQuery, partsOfStep } from "./input.js";
import { Life } from "./life.js";
import {
    type CommonOptions,
    type GpuOptions,
    type QueryOptions,
    demandNames,
    optionsOfSet,
    settingsOf,
} from "./options.js";
import type { QueryOutput, StepOutput } from "./outputs.js";
import { instanceOf } from "./platform.js";
import { type Recorder, Recording } from "./recording.js";
import { TableShader, type TableShaderOptions } from "./table_shader.js";
import { ROWS_USAGE } from "./uploads.js";
import { Gpu, type Set as WasmSet, open } from "./wasm/gpu_broad_phase.js";

/** Size of a buffer in bytes, or its initial contents. */
export type BufferContents = number | ArrayBuffer | ArrayBufferView;

/** Options of `createBuffer`. */
export interface BufferOptions {
    /** Bits of `GPUBufferUsage` to add to `STORAGE`, `COPY_SRC` and `COPY_DST`. */
    readonly usage?: GPUBufferUsageFlags;
    /** Label for debugging tools. */
    readonly label?: string;
}

/** A broad phase on its own GPU device. Created by `BroadPhase.create`. */
export class GpuBroadPhase extends BroadPhase {
    readonly #gpu: Gpu;
    readonly #context: DeviceContext;
    readonly #options: Readonly<GpuOptions>;
    readonly #recording: Recording;
    /** Query sets and culling. */
    readonly #parts = new Set<{ dispose(): void }>();
    #isDisposed = false;

    /** @internal */
    constructor(gpu: Gpu, options: GpuOptions) {
        super();
        this.#gpu = gpu;
        this.#options = options;
        this.#context = new DeviceContext(gpu);
        this.#recording = new Recording(this.#context, gpu, options.rayMode ?? "closest", "step");
    }

    /** The GPU device. A renderer may use it, too. */
    get device(): GPUDevice {
        return this.#context.device;
    }

    /** The browser's information about the GPU. */
    get adapter(): GPUAdapterInfo {
        return this.#context.device.adapterInfo;
    }

    get options(): Readonly<GpuOptions> {
        return this.#options;
    }

    /** Size of all buffers of the broad phase, in bytes. Inputs and buffers of `createBuffer` are not included. */
    get memory(): number {
        this.#context.check();
        return this.#gpu.memory();
    }

    /**
     * Creates a buffer on the device. Inputs in such a buffer are read in place. The buffer exists until you call its
     * `destroy`, or dispose of the broad phase.
     *
     * @throws DeviceLostError, DisposedError.
     */
    createBuffer(contents: BufferContents, options: BufferOptions = {}): GPUBuffer {
        this.#context.check();
        demandNames("the second argument", "option ", options, ["usage", "label"]);
        const { usage = 0, label = "rows" } = options;
        const bytes = typeof contents === "number" ? contents : contents.byteLength;
        if (!Number.isInteger(bytes) || bytes <= 0 || bytes % 4 !== 0) {
            throw new TypeError(`a buffer of ${bytes} bytes cannot be made: a multiple of 4 above 0 is needed`);
        }
        const limit = this.device.limits.maxBufferSize;
        if (bytes > limit) {
            throw new RangeError(`a buffer of ${bytes} bytes cannot be made: the device allows ${limit}`);
        }
        const { buffers } = this.#context;
        const buffer = calling(() => this.#gpu.create_buffer(label, bytes, ROWS_USAGE | usage));
        const js = buffer.js();
        buffers.set(js, buffer);
        // The WebAssembly module holds a reference to the buffer, which must be released, too.
        js.destroy = () => {
            buffers.get(js)?.free();
            buffers.delete(js);
            GPUBuffer.prototype.destroy.call(js);
        };
        if (typeof contents !== "number") {
            const [data, offset] = ArrayBuffer.isView(contents)
                ? [contents.buffer, contents.byteOffset]
                : [contents, 0];
            this.device.queue.writeBuffer(js, 0, data, offset, bytes);
        }
        return js;
    }

    step(input: StepInput): StepOutput {
        this.#context.check();
        return this.#recording.make(partsOfStep(input, this.#options.worlds));
    }

    readPairs(): Promise<Uint32Array> {
        return this.#context.promised(async () => {
            const { rows } = await this.#recording.read(LACKS.pairs, () => {
                const { buffer, capacity } = this.#recording.last().outputs.pairs;
                return [{ buffer, words: 2, needed: "pairsNeeded", capacity }];
            });
            return rows[0]!;
        });
    }

    readWorldPairs(): Promise<Uint32Array> {
        return this.#context.promised(async () => {
            const { rows } = await this.#recording.read(LACKS.worldPairs, () => {
                const { perWorld } = this.#recording.last().outputs.pairs;
                return perWorld === null ? [] : [{ buffer: perWorld, words: 1, rows: this.#options.worlds! + 1 }];
            });
            return rows[0] ?? new Uint32Array();
        });
    }

    readWorldOffsets(): Promise<Uint32Array> {
        return this.#context.promised(async () => {
            const { rows } = await this.#recording.read(LACKS.pairs, () => {
                const { worldOffsets } = this.#recording.last().outputs.pairs;
                const rows = this.#options.worlds! + 2;
                return worldOffsets === null ? [] : [{ buffer: worldOffsets, words: 1, rows }];
            });
            return rows[0] ?? new Uint32Array();
        });
    }

    readRayHits(): Promise<RayHits> {
        return this.#context.promised(() => this.#recording.rays());
    }

    readQueryResults(): Promise<QueryResults> {
        return this.#context.promised(() => this.#recording.queries());
    }

    readCounters(): Promise<Counters> {
        return this.#context.promised(() => this.#recording.counters());
    }

    readEvents(): Promise<PairEvents> {
        return this.#context.promised(async () => {
            const { step, refusal } = this.#recording;
            // Recorded directly after the step, before a later step can overwrite the events.
            const { events } = this.#recording.last().outputs;
            const answer = await this.#gpu.read_events();
            try {
                const error = await refusal;
                if (error !== undefined) {
                    throw error;
                }
                // After an overflow, missing pairs would be reported as ended, and later as begun.
                if (answer.status() !== 0) {
                    throw new OverflowError("the step had no room for all of its pairs, so its events are not known");
                }
                if (answer.unread() === 0) {
                    return { begun: answer.begun(), ended: answer.ended() };
                }
            } finally {
                answer.free();
            }
            // A later step has already overwritten the event buffers.
            if (this.#recording.step > step) {
                throw new OverflowError(
                    "more pairs began or ended than were copied, and later steps have taken their place",
                );
            }
            const [counters, rows, ended] = await this.#context.reader.read([
                { buffer: events.counters, bytes: 32 },
                { buffer: events.rows, bytes: 16 * events.capacity },
                { buffer: events.ended, bytes: 16 * events.endedCapacity },
            ]);
            const persisting = counters![0]!;
            return {
                begun: rows!.slice(4 * persisting, 4 * (persisting + counters![4]!)),
                ended: ended!.slice(0, 4 * counters![6]!),
            };
        });
    }

    createQuerySet(options: QueryOptions = {}): GpuQuerySet {
        this.#context.check();
        const merged = optionsOfSet(this.#options, options);
        const settings = settingsOf(merged);
        const set: GpuQuerySet = new GpuQuerySet(
            this.#gpu,
            this.#gpu.query_set(settings),
            this.#context,
            merged,
            () => this.#recording.step,
            () => this.#parts.delete(set),
        );
        settings.free();
        this.#parts.add(set);
        return set;
    }

    createCulling(): GpuCulling {
        this.#context.check();
        const culling: GpuCulling = new GpuCulling(
            this.#context,
            () => this.#recording.step > 0,
            () => this.#parts.delete(culling),
        );
        this.#parts.add(culling);
        return culling;
    }

    /** Creates WGSL that searches the table of a step. Throws RangeError for a prefix that cannot begin names. */
    createTableShader(options: TableShaderOptions = {}): TableShader {
        this.#context.check();
        return TableShader.create(this.#context, this.#options, options);
    }

    dispose(): void {
        if (this.#isDisposed) {
            return;
        }
        this.#isDisposed = true;
        this.#context.end(new DisposedError("the broad phase was disposed of"));
        for (const part of this.#parts) {
            part.dispose();
        }
        this.#recording.dispose();
        for (const buffer of [...this.#context.buffers.keys()]) {
            buffer.destroy();
        }
        this.#gpu.free();
        if (this.#options.device === undefined) {
            this.#context.device.destroy();
        }
    }
}

/** Rays and queries on the GPU, with their own outputs. Created by `createQuerySet`. */
export class GpuQuerySet implements QuerySet {
    readonly #context: DeviceContext;
    readonly #life = new Life();
    readonly #set: WasmSet;
    readonly #recording: Recording;
    readonly #worlds: number | undefined;
    readonly #forget: () => void;

    /** @internal */
    constructor(gpu: Gpu, set: WasmSet, context: DeviceContext, options: CommonOptions, stepOf: () => number, forget: () => void) {
        this.#context = context;
        this.#set = set;
        this.#worlds = options.worlds;
        this.#forget = forget;
        const recorder: Recorder = {
            record: (input) => set.record(gpu, input),
            submit: () => set.submit(),
            settle: () => set.settle(),
            output: (which) => set.output(which),
            capacity: (which) => set.capacity(which),
        };
        this.#recording = new Recording(context, recorder, options.rayMode ?? "closest", "query", stepOf);
    }

    query(input: QueryInput): QueryOutput {
        this.#context.check();
        this.#life.check();
        demandMade("step", this.#recording.tableOf() !== 0);
        return this.#recording.make(partsOfQuery(input, this.#worlds));
    }

    readRayHits(): Promise<RayHits> {
        return this.#promised(() => this.#recording.rays());
    }

    readQueryResults(): Promise<QueryResults> {
        return this.#promised(() => this.#recording.queries());
    }

    readCounters(): Promise<Counters> {
        return this.#promised(() => this.#recording.counters());
    }

    #promised<T>(make: () => Promise<T>): Promise<T> {
        return this.#context.promised(() => this.#life.promised(make));
    }

    dispose(): void {
        if (this.#life.hasEnded) {
            return;
        }
        this.#life.end(new DisposedError("the set of queries was disposed of"));
        this.#forget();
        this.#recording.dispose();
        this.#set.free();
    }
}

/** Opens a device of `gpu` and creates a broad phase on it. @internal */
export async function createOnGpu(options: GpuOptions, gpu: GPU): Promise<GpuBroadPhase> {
    const settings = settingsOf(options);
    try {
        const limits = Object.entries(options.requiredLimits ?? {}).filter(([, value]) => value !== undefined);
        const opened = await open(
            instanceOf(gpu),
            options.powerPreference,
            [...(options.requiredFeatures ?? [])],
            limits.map(([name]) => name),
            Float64Array.from(limits, ([, value]) => value),
        );
        const isOwned = options.device === undefined;
        return new GpuBroadPhase(new Gpu(opened, isOwned, settings, options.events ?? false), options);
    } catch (error) {
        throw translated(error);
    } finally {
        settings.free();
    }
}
