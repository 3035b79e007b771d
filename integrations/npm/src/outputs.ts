import { NoResultError } from "./errors.js";
import { Output } from "./wasm/gpu_broad_phase.js";

/** Rows in a GPU buffer, for your own bind groups. The next step may overwrite or replace the buffer. */
export interface RowsOutput {
    /** The buffer. It has the usages `STORAGE` and `COPY_SRC`. */
    readonly buffer: GPUBuffer;
    /** Capacity in rows. Rows after the last result are undefined. */
    readonly capacity: number;
}

/** Pairs of a step, as two `u32` object indices, the smaller one first. Counter words 10 and 11: number of pairs. */
export interface PairOutput extends RowsOutput {
    /** Pairs in each world, then of two objects of all worlds, as `u32`. `null` with one world. */
    readonly perWorld: GPUBuffer | null;
    /** World w has the rows `worldOffsets[w]` to `worldOffsets[w + 1] - 1`. `null` if unsorted or with one world. */
    readonly worldOffsets: GPUBuffer | null;
}

/** One list of rows per ray or query, all in one buffer. */
export interface ListOutput extends RowsOutput {
    /** Array of `u32`, of length lists + 1. List i has the rows `offsets[i]` to `offsets[i + 1] - 1`. */
    readonly offsets: GPUBuffer | null;
}

/** Pair events of a step. A row has four `u32`. */
export interface EventOutput {
    /** Pairs that already existed in the previous step, then pairs that began. */
    readonly rows: GPUBuffer;
    /** Pairs of the previous step that ended. */
    readonly ended: GPUBuffer;
    /** Eight `u32`. Word 0: number of pairs that persist, word 4: that began, word 6: that ended. */
    readonly counters: GPUBuffer;
    /** Capacity of `rows`, in rows. */
    readonly capacity: number;
    /** Capacity of `ended`, in rows. */
    readonly endedCapacity: number;
}

/** Cell table of the objects. The Rust crate's module `grid` describes the layouts. */
export interface TableOutput {
    /** First entry of each cell, as `u32`. */
    readonly starts: GPUBuffer;
    /** Boxes, with coordinates as integers in the order of the floats. */
    readonly records: GPUBuffer;
    /** Levels of the grid. */
    readonly grid: GPUBuffer;
    /** Object index of each entry, in the low 29 bits of a `u32`. */
    readonly entries: GPUBuffer | null;
}

/** Results of rays and queries on the GPU. Reading a property that the input or options did not request throws. */
export interface QueryOutput {
    /**
     * 32 `u32`. Word 0: invalid objects, 1: excluded objects, 5 and 29: status. The words 10, 12 and 22 begin
     * 64-bit counts, low word first: pairs, hits, query results.
     */
    readonly counters: GPUBuffer;
    /**
     * Ray mode `"closest"`: object (`u32`) and `t` (`f32`) per ray. `"all"`: the same per hit, one list per ray.
     * `"any"`: a `u32` per ray, 1 for a hit.
     */
    readonly rays: ListOutput;
    /** Object indices (`u32`), one list per query. With `nearest`: object (`u32`) and squared distance (`f32`). */
    readonly queries: ListOutput;
}

/** Results of a step on the GPU. Reading a property that the input or options did not request throws. */
export interface StepOutput extends QueryOutput {
    /** Overlapping pairs. */
    readonly pairs: PairOutput;
    /** Pairs that begin and end. */
    readonly events: EventOutput;
    /** Table of the objects. */
    readonly table: TableOutput;
}

/** Source of the buffers of the last step. @internal */
export interface OutputSource {
    output(which: Output): GPUBuffer | undefined;
    capacity(which: Output): number;
}

/** The output buffers of a step. @internal */
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
            throw new NoResultError(`the step has no ${what}: its input or the options do not ask for it`);
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
            worldOffsets: this.find(Output.WorldOffsets) ?? null,
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
