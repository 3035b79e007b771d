import { Output } from "./wasm/gpu_broad_phase.js";

/** Rows in a GPU buffer, for bind groups of your own. The next step may overwrite or replace it. */
export interface RowsOutput {
    /** The rows. Usages: `STORAGE` and `COPY_SRC`. */
    readonly buffer: GPUBuffer;
    /** Capacity in rows. Rows behind the result are undefined. */
    readonly capacity: number;
}

/** Pairs of a step: two `u32` each, the smaller index first. Counter words 10 and 11 hold their number. */
export interface PairOutput extends RowsOutput {
    /** With several worlds: the number of pairs per world, `u32`. */
    readonly perWorld: GPUBuffer | null;
}

/** One list per ray or query, all in one buffer. */
export interface ListOutput extends RowsOutput {
    /** `u32`, length lists + 1: list i has the rows `offsets[i]` to `offsets[i + 1] - 1`. */
    readonly offsets: GPUBuffer | null;
}

/** Events of a step: rows of four `u32`. */
export interface EventOutput {
    /** Pairs that persist, followed by those that begin. */
    readonly rows: GPUBuffer;
    /** Pairs of the previous step that ended. */
    readonly ended: GPUBuffer;
    /** Eight `u32`: word 0 counts pairs that persist, word 4 those that begin, word 6 those that ended. */
    readonly counters: GPUBuffer;
    /** Capacity of `rows`. */
    readonly capacity: number;
    /** Capacity of `ended`. */
    readonly endedCapacity: number;
}

/** Table of the sorted objects, in the layouts of the Rust crate's module `grid`. */
export interface TableOutput {
    /** First entry of each cell, `u32`. */
    readonly starts: GPUBuffer;
    /** Boxes as ordered integers. */
    readonly records: GPUBuffer;
    /** Levels of the grid. */
    readonly grid: GPUBuffer;
    /** Object of each entry in the low 29 bits, `u32`. */
    readonly entries: GPUBuffer | null;
}

/** Results of rays and queries on the GPU. Reading an output that was not requested throws. */
export interface QueryOutput {
    /**
     * 32 `u32`: 0 invalid, 1 excluded, 5 and 29 status. Counts have 64 bits, low word first: 10 pairs, 12 hits, 22
     * results.
     */
    readonly counters: GPUBuffer;
    /**
     * Ray mode `"closest"`: object (`u32`) and `t` (`f32`) per ray. `"all"`: such hits as a list per ray. `"any"`: a
     * `u32` per ray.
     */
    readonly rays: ListOutput;
    /** Objects, `u32`, as a list per query. With `nearest`: object (`u32`) and squared distance (`f32`). */
    readonly queries: ListOutput;
}

/** Results of a step on the GPU. Reading an output that was not requested throws. */
export interface StepOutput extends QueryOutput {
    /** Overlapping pairs. */
    readonly pairs: PairOutput;
    /** Pairs that begin and end. */
    readonly events: EventOutput;
    /** Table of the objects. */
    readonly table: TableOutput;
}

/** Source of the last step's buffers. @internal */
export interface OutputSource {
    output(which: Output): GPUBuffer | undefined;
    capacity(which: Output): number;
}

/** The outputs of a step. @internal */
export class Outputs implements StepOutput {
    readonly #of: Readonly<Record<number, GPUBuffer | undefined>>;
    readonly #capacities: Readonly<Record<number, number>>;

    constructor(source: OutputSource) {
        const buffers: Record<number, GPUBuffer | undefined> = {};
        const capacities: Record<number, number> = {};
        for (let which = Output.Counters as number; which <= (Output.TableEntries as number); which += 1) {
            buffers[which] = source.output(which);
            capacities[which] = source.capacity(which);
        }
        this.#of = buffers;
        this.#capacities = capacities;
    }

    find(which: Output): GPUBuffer | undefined {
        return this.#of[which];
    }

    capacity(which: Output): number {
        return this.#capacities[which] ?? 0;
    }

    #get(which: Output, what: string): GPUBuffer {
        const buffer = this.find(which);
        if (buffer === undefined) {
            throw new Error(`the step has no ${what}: its input or the options do not ask for it`);
        }
        return buffer;
    }

    get counters(): GPUBuffer {
        return this.#get(Output.Counters, "counters");
    }

    get pairs(): PairOutput {
        return {
            buffer: this.#get(Output.Pairs, "pairs"),
            capacity: this.capacity(Output.Pairs),
            perWorld: this.find(Output.WorldPairs) ?? null,
        };
    }

    get rays(): ListOutput {
        const buffer = this.#get(Output.Rays, "rays");
        const offsets = this.find(Output.RayOffsets) ?? null;
        return { buffer, offsets, capacity: this.capacity(Output.Rays) };
    }

    get queries(): ListOutput {
        const buffer = this.#get(Output.Queries, "queries");
        const offsets = this.find(Output.QueryOffsets) ?? null;
        return { buffer, offsets, capacity: this.capacity(Output.Queries) };
    }

    get events(): EventOutput {
        return {
            rows: this.#get(Output.EventRows, "events"),
            ended: this.#get(Output.EventsEnded, "events"),
            counters: this.#get(Output.EventCounters, "events"),
            capacity: this.capacity(Output.EventRows),
            endedCapacity: this.capacity(Output.EventsEnded),
        };
    }

    get table(): TableOutput {
        return {
            starts: this.#get(Output.TableStarts, "table"),
            records: this.#get(Output.TableRecords, "table"),
            grid: this.#get(Output.TableGrid, "table"),
            entries: this.find(Output.TableEntries) ?? null,
        };
    }
}
