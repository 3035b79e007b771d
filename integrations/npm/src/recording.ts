import {
    type Counters,
    LACKS,
    type QueryResults,
    type RayHits,
    UNFINISHED,
    countersOf,
    missing,
    split,
} from "./answers.js";
import { DeviceError, NoResultError, OverflowError, calling, translated } from "./errors.js";
import type { DeviceContext } from "./device_context.js";
import type { Parts } from "./input.js";
import type { RayMode } from "./options.js";
import { type OutputSource, Outputs } from "./outputs.js";
import { scoped } from "./scopes.js";
import { Uploads } from "./uploads.js";
import { SelfQueryKind, type Input, Part } from "./wasm/gpu_broad_phase.js";

/** Maximum number of times to record a step until its outputs fit. Known scenes need up to four. */
const MOST_TRIES = 12;

/** Input sizes of the last recording. */
interface RecordedSizes {
    readonly objects: number;
    readonly rays: number;
    readonly queries: number;
    readonly nearest: number | undefined;
    readonly asksItself: boolean;
}

function askedOf(parts: Parts): RecordedSizes {
    const count = (part: Part): number =>
        parts.host.find((rows) => rows.part === part)?.count ??
        parts.device.find((rows) => rows.part === part)?.rows.count ??
        0;
    return {
        objects: parts.objects + parts.statics,
        rays: count(Part.Rays),
        queries: count(Part.Queries),
        nearest: parts.question.nearest,
        asksItself: parts.question.selfQuery === SelfQueryKind.Neighbors || parts.question.selfQuery === SelfQueryKind.Partners,
    };
}

/** Rows to read from an output buffer. */
interface RowsToRead {
    readonly buffer: GPUBuffer;
    /** Words per row. */
    readonly words: number;
    /** Number of rows, if it is known before reading. */
    readonly rows?: number;
    /** If it is unknown: the counter of rows, and the capacity of the buffer in rows. */
    readonly needed?: "pairsNeeded" | "hitsNeeded" | "resultsNeeded";
    readonly capacity?: number;
}

/** Part of the module that records and submits: the broad phase, or a query set. @internal */
export interface Recorder extends OutputSource {
    /** Records an input, or repeats it. */
    record(input: Input, isRepeated: boolean): void;
    submit(): void;
    /** Resolves when the next recording of the same input would have enough capacity. */
    settle(): Promise<void>;
}

/** The last recording of a broad phase or query set: reads its results, and repeats it after overflow. @internal */
export class Recording {
    readonly #uploads: Uploads;
    /** Number of recordings, without repetitions. */
    #step = 0;
    /** Number of recordings, repetitions included. */
    #made = 0;
    #asked: RecordedSizes | undefined;
    #outputs: Outputs | undefined;
    /** Last input, for a repetition. */
    #input: Input | undefined;
    #table = 0;
    #refusal: Promise<DeviceError | undefined> = Promise.resolve(undefined);
    /** Values of the counters at the last reading, as guesses of the next number of rows. */
    readonly #last = new Map<string, number>();

    /** `tableOf` returns the number of the step whose table a query set uses. */
    constructor(
        readonly context: DeviceContext,
        readonly recorder: Recorder,
        readonly rayMode: RayMode,
        readonly what: "step" | "query",
        readonly tableOf: () => number = () => 0,
    ) {
        this.#uploads = new Uploads(context, what === "step" ? "gpu_broad_phase" : "gpu_broad_phase/queries");
    }

    get step(): number {
        return this.#step;
    }

    /** Resolves with the error of the last recording if the device refused it. */
    get refusal(): Promise<DeviceError | undefined> {
        return this.#refusal;
    }

    /** Records and submits a new input. A refused input changes nothing. */
    make(parts: Parts): Outputs {
        return this.#scoped(() => {
            let input: Input | undefined;
            try {
                input = this.#uploads.input(parts);
                this.recorder.record(input, false);
            } catch (error) {
                input?.free();
                this.#uploads.revert();
                throw translated(error);
            }
            this.#uploads.commit();
            this.#input?.free();
            this.#input = input;
            this.#asked = askedOf(parts);
            this.#table = this.tableOf();
            this.#step += 1;
            return this.#submitted();
        });
    }

    #repeat(input: Input): void {
        this.#scoped(() => {
            calling(() => this.recorder.record(input, true));
            this.#submitted();
        });
    }

    #submitted(): Outputs {
        this.recorder.submit();
        this.#made += 1;
        this.#outputs = new Outputs(this.recorder);
        return this.#outputs;
    }

    /** Calls in an error scope and stores the device's error as `#refusal`. */
    #scoped<T>(call: () => T): T {
        const [made, told] = scoped(this.context.device, call);
        this.#refusal = told.then((error) => {
            if (error === undefined) {
                return undefined;
            }
            // The device may not have written the uploaded rows, so the next step uploads them again.
            this.#uploads.forget();
            return new DeviceError(`the device refused the ${this.what}: ${error.message}`);
        });
        return made;
    }

    last(): { asked: RecordedSizes; outputs: Outputs } {
        if (this.#asked === undefined || this.#outputs === undefined) {
            throw new NoResultError(`there was no ${this.what} yet`);
        }
        return { asked: this.#asked, outputs: this.#outputs };
    }

    /** Reads output rows and counters. Repeats the step until no status bit of `lacks` is set and no row is missing. */
    async read(lacks: number, want: () => RowsToRead[]): Promise<{ rows: Uint32Array[]; counters: Counters }> {
        const step = this.#step;
        let before = "";
        for (let tries = 1; ; tries += 1) {
            const made = this.#made;
            const { asked, outputs } = this.last();
            const { reader } = this.context;
            const wanted = want();
            const guesses = wanted.map(({ rows, needed, capacity = 0 }) => {
                if (rows !== undefined || needed === undefined) {
                    return rows ?? 0;
                }
                const last = this.#last.get(needed);
                return last === undefined ? capacity : Math.min(capacity, Math.ceil(1.25 * last) + 8192);
            });
            const copies = wanted.map(({ buffer, words }, index) => ({ buffer, bytes: 4 * words * guesses[index]! }));
            const refusal = this.#refusal;
            const reading = reader.read([{ buffer: outputs.counters, bytes: 128 }, ...copies]);
            const found = await reading.catch(async (error: unknown) => {
                throw (await refusal) ?? error;
            });
            const refused = await refusal;
            if (refused !== undefined) {
                throw refused;
            }
            const { status: whole, ...counters } = countersOf(found[0]!, asked.objects);
            const status = whole & lacks;
            const rows: Uint32Array[] = [];
            let isRead = true;
            for (const [index, { words, needed, capacity = 0 }] of wanted.entries()) {
                let held = guesses[index]!;
                if (needed !== undefined) {
                    this.#last.set(needed, counters[needed]);
                    held = Math.min(counters[needed], capacity);
                }
                isRead &&= held <= guesses[index]!;
                rows.push(held === guesses[index] ? found[index + 1]! : found[index + 1]!.slice(0, words * held));
            }
            if (isRead && status === 0) {
                return { rows, counters };
            }
            const what = status === 0 ? "rows" : missing(status).join(", ");
            if (status !== 0 && this.#step === step) {
                await this.recorder.settle();
            }
            if (this.#step !== step || this.#table !== this.tableOf() || this.#input === undefined) {
                const later = this.#step === step ? "step" : this.what;
                throw new OverflowError(
                    `there was no room for all ${what}, and a later ${later} has taken the place of this one`,
                );
            }
            if (status !== 0 && this.#made === made) {
                const state = JSON.stringify([counters, wanted.map(({ capacity }) => capacity)]);
                if (tries === MOST_TRIES || (state === before && (status & UNFINISHED) === 0)) {
                    throw new OverflowError(`there is no room for all ${what}: a buffer holds no more`);
                }
                before = state;
                this.#repeat(this.#input);
            }
        }
    }

    async rays(): Promise<RayHits> {
        const empty = {
            objects: new Uint32Array(),
            t: new Float32Array(),
            offsets: new Uint32Array(),
            any: new Uint32Array(),
        };
        const { asked } = this.last();
        if (asked.rays === 0) {
            return empty;
        }
        const { rayMode } = this;
        const { rows } = await this.read(LACKS.hits, () => {
            const { asked, outputs } = this.last();
            const { buffer, offsets, capacity } = outputs.rays;
            return rayMode === "all"
                ? [
                      { buffer, words: 2, needed: "hitsNeeded", capacity },
                      { buffer: offsets!, words: 1, rows: asked.rays + 1 },
                  ]
                : [{ buffer, words: rayMode === "any" ? 1 : 2, rows: asked.rays }];
        });
        if (rayMode === "any") {
            return { ...empty, any: rows[0]! };
        }
        const [objects, t] = split(rows[0]!);
        return { ...empty, objects, t, offsets: rows[1] ?? empty.offsets };
    }

    async queries(): Promise<QueryResults> {
        const empty = { objects: new Uint32Array(), offsets: new Uint32Array(), squaredDistances: new Float32Array() };
        const { asked } = this.last();
        const queries = asked.asksItself ? asked.objects : asked.queries;
        if (queries === 0) {
            return empty;
        }
        const { rows } = await this.read(LACKS.results, () => {
            const { buffer, offsets, capacity } = this.last().outputs.queries;
            if (asked.nearest !== undefined) {
                return [{ buffer, words: 2, rows: asked.nearest * queries }];
            }
            return [
                { buffer, words: 1, needed: "resultsNeeded", capacity },
                { buffer: offsets!, words: 1, rows: queries + 1 },
            ];
        });
        if (asked.nearest !== undefined) {
            const [objects, squaredDistances] = split(rows[0]!);
            return { ...empty, objects, squaredDistances };
        }
        return { ...empty, objects: rows[0]!, offsets: rows[1]! };
    }

    async counters(): Promise<Counters> {
        return (await this.read(LACKS.nothing, () => [])).counters;
    }

    dispose(): void {
        this.#uploads.dispose();
        this.#input?.free();
        this.#input = undefined;
        this.#outputs = undefined;
        this.#asked = undefined;
    }
}
