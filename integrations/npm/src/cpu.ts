import type { Counters, PairEvents, QueryResults, RayHits } from "./answers.js";
import { BroadPhase, type QuerySet } from "./broad_phase.js";
import { DeviceError, DisposedError } from "./errors.js";
import { type Parts, type Question, type QueryInput, type StepInput, asWords, nameOf, partsOfQuery, partsOfStep } from "./input.js";
import { type CommonOptions, type CpuOptions, type QueryOptions, settingsOf } from "./options.js";
import type { Part } from "./wasm/gpu_broad_phase.js";

/** An input as a message. @internal */
export interface PlainParts {
    readonly rows: { readonly part: Part; readonly words: Uint32Array }[];
    readonly areSwept: boolean;
    readonly question: Question;
}

/** What the worker is asked. @internal */
export type Request = { readonly id: number } & (
    | { readonly kind: "create"; readonly options: CommonOptions }
    | { readonly kind: "step"; readonly input: PlainParts }
    | { readonly kind: "set"; readonly set: number; readonly options: CommonOptions }
    | { readonly kind: "query"; readonly set: number; readonly input: PlainParts }
    | { readonly kind: "drop"; readonly set: number }
    | { readonly kind: "read"; readonly set: number | undefined; readonly what: ReadKind }
);

/** What is read. @internal */
export type ReadKind = "pairs" | "worldPairs" | "rays" | "queries" | "counters" | "events";

/** What the worker says. @internal */
export type Response = { readonly id: number } & (
    | { readonly value: unknown }
    | { readonly error: { readonly name: string; readonly message: string } }
);

type Unnumbered = Request extends infer R ? (R extends Request ? Omit<R, "id"> : never) : never;

/** The worker, and what is pending there. */
class Link {
    readonly #worker: Worker;
    readonly #pending = new Map<number, { resolve: (value: unknown) => void; reject: (error: unknown) => void }>();
    #next = 0;
    /** Why a step failed: whatever is read of it fails, too. */
    #failure: unknown;
    #end: DisposedError | undefined;

    constructor() {
        this.#worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "gpu-broad-phase" });
        this.#worker.onmessage = ({ data }: MessageEvent<Response>) => {
            const waiting = this.#pending.get(data.id);
            this.#pending.delete(data.id);
            if ("error" in data) {
                waiting?.reject(errorOf(data.error));
            } else {
                waiting?.resolve(data.value);
            }
        };
        this.#worker.onerror = (event) => {
            this.#failAll(new DeviceError(`the worker failed: ${event.message || "it could not be loaded"}`));
        };
    }

    #failAll(error: Error): void {
        for (const { reject } of this.#pending.values()) {
            reject(error);
        }
        this.#pending.clear();
    }

    check(): void {
        if (this.#end !== undefined) {
            throw new DisposedError(this.#end.message);
        }
    }

    ask<T>(request: Unnumbered, transfer: Transferable[] = []): Promise<T> {
        return new Promise((resolve, reject) => {
            this.check();
            const id = (this.#next += 1);
            this.#pending.set(id, { resolve: resolve as (value: unknown) => void, reject });
            this.#worker.postMessage({ ...request, id }, transfer);
        });
    }

    /** Tells something of which later answers say whether it failed. */
    tell(request: Unnumbered, transfer: Transferable[] = []): void {
        this.#failure = undefined;
        const told = this.ask(request, transfer);
        told.catch((error: unknown) => {
            this.#failure = error;
        });
    }

    async read<T>(what: ReadKind, set?: number): Promise<T> {
        try {
            return await this.ask<T>({ kind: "read", set, what });
        } catch (error) {
            throw this.#failure ?? error;
        }
    }

    end(error: DisposedError): void {
        if (this.#end === undefined) {
            this.#end = error;
            this.#failAll(error);
            this.#worker.terminate();
        }
    }
}

function errorOf({ name, message }: { name: string; message: string }): Error {
    switch (name) {
        case "RangeError":
            return new RangeError(message);
        case "TypeError":
            return new TypeError(message);
        default:
            return new DeviceError(message);
    }
}

/** The rows of an input as a message, and what of it is handed over. */
function plain(parts: Parts): [PlainParts, Transferable[]] {
    const onDevice = parts.device[0];
    if (onDevice !== undefined || parts.counts.length > 0) {
        const name = onDevice === undefined ? "a count" : nameOf(onDevice.part);
        throw new TypeError(`${name} is a GPUBuffer, and this broad phase is on the CPU`);
    }
    const rows = parts.host.map((rows) => {
        const words = asWords(rows);
        // What was not packed anew is the caller's.
        return { part: rows.part, words: rows.isTight ? words : words.slice() };
    });
    return [{ rows, areSwept: parts.areSwept, question: parts.question }, rows.map(({ words }) => words.buffer)];
}

/** A broad phase on the CPU, in a worker. `BroadPhase.create({ cpu: true })` makes it. */
export class CpuBroadPhase extends BroadPhase {
    readonly #link: Link;
    readonly #options: Readonly<CpuOptions>;
    #sets = 0;

    /** @internal */
    constructor(link: unknown, options: CpuOptions) {
        super();
        this.#link = link as Link;
        this.#options = options;
    }

    get device(): null {
        return null;
    }

    get options(): Readonly<CpuOptions> {
        return this.#options;
    }

    step(input: StepInput): undefined {
        this.#link.check();
        const [message, transfer] = plain(partsOfStep(input, this.#options.worlds ?? 1));
        this.#link.tell({ kind: "step", input: message }, transfer);
    }

    readPairs(): Promise<Uint32Array> {
        return this.#link.read("pairs");
    }

    readWorldPairs(): Promise<Uint32Array> {
        return this.#link.read("worldPairs");
    }

    readRayHits(): Promise<RayHits> {
        return this.#link.read("rays");
    }

    readQueryResults(): Promise<QueryResults> {
        return this.#link.read("queries");
    }

    readCounters(): Promise<Counters> {
        return this.#link.read("counters");
    }

    async readEvents(): Promise<PairEvents> {
        if (!(this.#options.events ?? false)) {
            throw new Error("the step has no events: its input or the options do not ask for it");
        }
        return this.#link.read("events");
    }

    createQuerySet(options: QueryOptions = {}): CpuQuerySet {
        this.#link.check();
        const { cpu: _, ...own } = this.#options;
        const merged: CommonOptions = { ...own, ...options };
        // Says what is wrong with the options.
        settingsOf(merged).free();
        const set = (this.#sets += 1);
        this.#link.tell({ kind: "set", set, options: merged });
        return new CpuQuerySet(this.#link, set);
    }

    dispose(): void {
        this.#link.end(new DisposedError("the broad phase was disposed of"));
    }
}

/** Rays and queries on the CPU. `createQuerySet` makes it. */
export class CpuQuerySet implements QuerySet {
    readonly #link: Link;
    readonly #set: number;
    #isDisposed = false;

    /** @internal */
    constructor(link: unknown, set: number) {
        this.#link = link as Link;
        this.#set = set;
    }

    #check(): void {
        this.#link.check();
        if (this.#isDisposed) {
            throw new DisposedError("the set of queries was disposed of");
        }
    }

    query(input: QueryInput): undefined {
        this.#check();
        const [message, transfer] = plain(partsOfQuery(input));
        this.#link.tell({ kind: "query", set: this.#set, input: message }, transfer);
    }

    async readRayHits(): Promise<RayHits> {
        this.#check();
        return this.#link.read("rays", this.#set);
    }

    async readQueryResults(): Promise<QueryResults> {
        this.#check();
        return this.#link.read("queries", this.#set);
    }

    async readCounters(): Promise<Counters> {
        this.#check();
        return this.#link.read("counters", this.#set);
    }

    dispose(): void {
        if (!this.#isDisposed) {
            this.#isDisposed = true;
            try {
                this.#link.tell({ kind: "drop", set: this.#set });
            } catch {
                // The worker has ended already.
            }
        }
    }
}

/** Starts a worker and makes a broad phase there. @internal */
export async function createOnCpu(options: CpuOptions): Promise<CpuBroadPhase> {
    if ("pairFilter" in options) {
        throw new TypeError("pairFilter is WGSL, and this broad phase is on the CPU");
    }
    settingsOf(options).free();
    const link = new Link();
    try {
        await link.ask({ kind: "create", options });
    } catch (error) {
        link.end(new DisposedError("the broad phase could not be made"));
        throw error;
    }
    return new CpuBroadPhase(link, options);
}
