import { type Counters, type QueryResults, type RayHits, UNFINISHED, countersOf, split } from "./answers.js";
import { DeviceError, OverflowError, calling } from "./errors.js";
import type { Home } from "./home.js";
import type { Parts } from "./input.js";
import type { RayMode } from "./options.js";
import type { Outputs } from "./outputs.js";
import { type Uploads, uploaded } from "./uploads.js";
import { Askers, type Input, Part } from "./wasm/gpu_broad_phase.js";

/** How often a step whose outputs were too small is recorded, at most. Scenes that are known need four. */
const MOST_TRIES = 12;

/** How many rows, queries and objects a recording was asked for. */
interface Asked {
    readonly objects: number;
    readonly rays: number;
    readonly queries: number;
    readonly nearest: number | undefined;
    readonly asksItself: boolean;
}

function askedOf(parts: Parts): Asked {
    const count = (part: Part): number =>
        parts.host.find((rows) => rows.part === part)?.count ?? parts.device.find((rows) => rows.part === part)?.rows.count ?? 0;
    return {
        objects: parts.objects + parts.statics,
        rays: count(Part.Rays),
        queries: count(Part.Queries),
        nearest: parts.question.nearest,
        asksItself: parts.question.askers === Askers.Neighbors || parts.question.askers === Askers.Partners,
    };
}

/** Rows of an output that are to be read, once the counters say how many there are. */
interface Wanted {
    readonly buffer: GPUBuffer;
    /** Words of a row. */
    readonly words: number;
    /** Rows where their number is known. */
    readonly rows?: number;
    /** Which count has it where it is not, and the room. */
    readonly needed?: "pairsNeeded" | "hitsNeeded" | "resultsNeeded";
    readonly capacity?: number;
}

/** The last recording of a broad phase or of a set: what is read of it, and how it is repeated. @internal */
export class Recording {
    /** Steps so far. */
    #step = 0;
    /** Steps and repeated steps so far. */
    #made = 0;
    #asked: Asked | undefined;
    #outputs: Outputs | undefined;
    /** What a repeated step is given; nothing where its rows were overwritten. */
    #input: Input | undefined;
    #table = 0;
    #refusal: Promise<string | undefined> = Promise.resolve(undefined);
    /** The counts of the last answer that was read. */
    readonly #last = new Map<string, number>();

    /**
     * `record` records an input, once more if it is repeated. `settle` resolves once a repeated one would have the room
     * that is needed. `tableOf` tells which step's table a set of queries asks.
     */
    constructor(
        readonly home: Home,
        readonly rayMode: RayMode,
        readonly record: (input: Input, isRepeated: boolean) => Outputs,
        readonly settle: () => Promise<void>,
        readonly tableOf: () => number = () => 0,
    ) {}

    get step(): number {
        return this.#step;
    }

    /** Records a new step. */
    make(uploads: Uploads, parts: Parts, keepStatics: boolean): Outputs {
        const { device } = this.home;
        device.pushErrorScope("validation");
        this.#input?.free();
        this.#input = undefined;
        try {
            const input = calling(() => uploaded(this.home, uploads, parts, keepStatics));
            const outputs = this.#record(input, false);
            this.#input = input;
            this.#asked = askedOf(parts);
            this.#table = this.tableOf();
            this.#step += 1;
            return outputs;
        } finally {
            this.#refusal = device.popErrorScope().then((error) => error?.message, () => undefined);
        }
    }

    #record(input: Input, isRepeated: boolean): Outputs {
        try {
            this.#outputs = calling(() => this.record(input, isRepeated));
        } catch (error) {
            if (input !== this.#input) {
                input.free();
            }
            throw error;
        }
        this.#made += 1;
        return this.#outputs;
    }

    last(): { asked: Asked; outputs: Outputs } {
        if (this.#asked === undefined || this.#outputs === undefined) {
            throw new Error("there was no step yet");
        }
        return { asked: this.#asked, outputs: this.#outputs };
    }

    /** Rows of outputs, and the counters. The answer is whole if `isWhole`: the step is repeated until it is. */
    async read(want: () => Wanted[], isWhole: boolean): Promise<{ rows: Uint32Array[]; counters: Counters; asked: Asked }> {
        const step = this.#step;
        let before = "";
        for (let tries = 1; ; tries += 1) {
            const made = this.#made;
            const { asked, outputs } = this.last();
            const { reader } = this.home;
            const wanted = want();
            const guesses = wanted.map(({ rows, needed, capacity = 0 }) => {
                if (rows !== undefined || needed === undefined) {
                    return rows ?? 0;
                }
                const last = this.#last.get(needed);
                return last === undefined ? capacity : Math.min(capacity, Math.ceil(1.25 * last) + 8192);
            });
            const copies = wanted.map(({ buffer, words }, index) => ({ buffer, bytes: 4 * words * guesses[index]! }));
            const [found, refusal] = await Promise.all([
                reader.read([{ buffer: outputs.counters, bytes: 128 }, ...copies]),
                this.#refusal,
            ]);
            if (refusal !== undefined) {
                throw new DeviceError(`the device refused the step: ${refusal}`);
            }
            const { status, ...counters } = countersOf(found[0]!, asked.objects);
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
            if (!isWhole || (isRead && status === 0)) {
                return { rows, counters, asked };
            }
            const what = status === 0 ? "rows" : counters.missing.join(", ");
            if (status !== 0 && this.#step === step) {
                await this.settle();
            }
            if (this.#step !== step || this.#table !== this.tableOf() || this.#input === undefined) {
                throw new OverflowError(`there was no room for all ${what}, and a later step has taken the place of this one`);
            }
            if (status !== 0 && this.#made === made) {
                const state = JSON.stringify([counters, wanted.map(({ capacity }) => capacity)]);
                if (tries === MOST_TRIES || (state === before && (status & UNFINISHED) === 0)) {
                    throw new OverflowError(`there is no room for all ${what}: a buffer holds no more, or maxBytes allows no more`);
                }
                before = state;
                this.#record(this.#input, true);
            }
        }
    }

    /** Hits of rays. */
    async rays(): Promise<RayHits> {
        const empty = { objects: new Uint32Array(), t: new Float32Array(), offsets: new Uint32Array(), any: new Uint32Array() };
        const { asked } = this.last();
        if (asked.rays === 0) {
            return empty;
        }
        const { rayMode } = this;
        const { rows } = await this.read(() => {
            const { asked, outputs } = this.last();
            const { buffer, offsets, capacity } = outputs.rays;
            return rayMode === "all"
                ? [
                      { buffer, words: 2, needed: "hitsNeeded", capacity },
                      { buffer: offsets!, words: 1, rows: asked.rays + 1 },
                  ]
                : [{ buffer, words: rayMode === "any" ? 1 : 2, rows: asked.rays }];
        }, true);
        if (rayMode === "any") {
            return { ...empty, any: rows[0]! };
        }
        const [objects, t] = split(rows[0]!);
        return { ...empty, objects, t, offsets: rows[1] ?? empty.offsets };
    }

    /** Results of queries. */
    async queries(): Promise<QueryResults> {
        const empty = { objects: new Uint32Array(), offsets: new Uint32Array(), squaredDistances: new Float32Array() };
        const { asked } = this.last();
        const queries = asked.asksItself ? asked.objects : asked.queries;
        if (queries === 0) {
            return empty;
        }
        const { rows } = await this.read(() => {
            const { buffer, offsets, capacity } = this.last().outputs.queries;
            if (asked.nearest !== undefined) {
                return [{ buffer, words: 2, rows: asked.nearest * queries }];
            }
            return [
                { buffer, words: 1, needed: "resultsNeeded", capacity },
                { buffer: offsets!, words: 1, rows: queries + 1 },
            ];
        }, true);
        if (asked.nearest !== undefined) {
            const [objects, squaredDistances] = split(rows[0]!);
            return { ...empty, objects, squaredDistances };
        }
        return { ...empty, objects: rows[0]!, offsets: rows[1]! };
    }

    dispose(): void {
        this.#input?.free();
        this.#input = undefined;
        this.#outputs = undefined;
        this.#asked = undefined;
    }
}
