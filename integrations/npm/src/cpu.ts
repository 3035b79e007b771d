import type { Counters, PairEvents, QueryResults, RayHits, Visible } from "./answers.js";
import { BroadPhase, type QuerySet } from "./broad_phase.js";
import { type Culling, type Views, viewRows } from "./culling.js";
import { DisposedError, NoResultError, WorkerError, demandMade } from "./errors.js";
import {
    type Parts,
    type Question,
    type QueryInput,
    type StepInput,
    asWords,
    nameOf,
    partsOfQuery,
    partsOfStep,
} from "./input.js";
import { Life } from "./life.js";
import { type Thread, startWorker } from "./platform.js";
import { type CommonOptions, type CpuOptions, type QueryOptions, optionsOfSet, settingsOf } from "./options.js";
import type { Part } from "./wasm/gpu_broad_phase.js";

/** An input in the form that is sent to the worker. @internal */
export interface PlainParts {
    readonly rows: { readonly part: Part; readonly words: Uint32Array }[];
    readonly areSwept: boolean;
    readonly question: Question;
}

/** Message to the worker. It expects a response if it has an id. @internal */
export type Request = { readonly id?: number } & (
    | { readonly kind: "create"; readonly options: CommonOptions }
    | { readonly kind: "step"; readonly input: PlainParts }
    | { readonly kind: "set"; readonly set: number; readonly options: CommonOptions }
    | { readonly kind: "query"; readonly set: number; readonly input: PlainParts }
    | { readonly kind: "drop"; readonly set: number }
    | { readonly kind: "cull"; readonly views: Uint32Array }
    | { readonly kind: "read"; readonly set: number | undefined; readonly what: ReadKind }
);

/** Kinds of results to read. @internal */
export type ReadKind = "pairs" | "worldPairs" | "worldOffsets" | "rays" | "queries" | "counters" | "events";

/** Response of the worker to the request with the same id. @internal */
export type Response = { readonly id: number } & (
    { readonly value: unknown } | { readonly error: { readonly name: string; readonly message: string } }
);

/** The worker and the requests that wait for its response. */
class Link extends Life {
    readonly #worker: Thread;
    readonly #answers = new Map<number, { resolve: (value: unknown) => void; reject: (error: unknown) => void }>();
    #next = 0;

    constructor() {
        super();
        this.#worker = startWorker(
            (data) => this.#answer(data as Response),
            (reason) => this.end(new WorkerError(`the worker failed: ${reason}`)),
        );
    }

    #answer(data: Response): void {
        const answer = this.#answers.get(data.id);
        this.#answers.delete(data.id);
        if (this.#answers.size === 0) {
            this.#worker.unref?.();
        }
        if ("error" in data) {
            answer?.reject(errorOf(data.error));
        } else {
            answer?.resolve(data.value);
        }
    }

    tell(request: Request, transfer: Transferable[] = []): void {
        this.#worker.postMessage(request, transfer);
    }

    ask<T>(request: Request): Promise<T> {
        return this.promised(
            () =>
                new Promise((resolve, reject) => {
                    const id = (this.#next += 1);
                    this.#answers.set(id, { resolve: resolve as (value: unknown) => void, reject });
                    this.#worker.ref?.();
                    this.tell({ ...request, id });
                }),
        );
    }

    override end(error: Error): void {
        super.end(error);
        this.#answers.clear();
        this.#worker.terminate();
    }
}

function errorOf({ name, message }: { name: string; message: string }): Error {
    if (name === "RangeError") {
        return new RangeError(message);
    }
    return new WorkerError(`the worker failed: ${message}`);
}

/** Converts an input to a message and the buffers to transfer with it. */
function plain(parts: Parts): [PlainParts, Transferable[]] {
    const onDevice = parts.device[0];
    if (onDevice !== undefined || parts.counts.length > 0) {
        const name = onDevice === undefined ? "a count" : nameOf(onDevice.part);
        throw new TypeError(`${name} is a GPUBuffer, and this broad phase is on the CPU`);
    }
    const rows = parts.host.map((rows) => {
        const words = asWords(rows);
        // If the words were packed already, `words` is the caller's: it is copied, since `postMessage` takes arrays
        // away.
        return { part: rows.part, words: rows.isTight ? words : words.slice() };
    });
    return [{ rows, areSwept: parts.areSwept, question: parts.question }, rows.map(({ words }) => words.buffer)];
}

/** A broad phase on the CPU, in a worker. Created by `BroadPhase.create({ cpu: true })`. */
export class CpuBroadPhase extends BroadPhase {
    readonly #link: Link;
    readonly #options: Readonly<CpuOptions>;
    #hasStep = false;
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
        const [message, transfer] = plain(partsOfStep(input, this.#options.worlds));
        this.#link.tell({ kind: "step", input: message }, transfer);
        this.#hasStep = true;
    }

    async #read<T>(what: ReadKind, isThere = true): Promise<T> {
        this.#link.check();
        demandMade("step", this.#hasStep);
        if (!isThere) {
            throw new NoResultError(`the step has no ${what}: its input or the options do not ask for it`);
        }
        return this.#link.ask({ kind: "read", set: undefined, what });
    }

    readPairs(): Promise<Uint32Array> {
        return this.#read("pairs", this.#options.pairs ?? true);
    }

    readWorldPairs(): Promise<Uint32Array> {
        return this.#read("worldPairs");
    }

    readWorldOffsets(): Promise<Uint32Array> {
        return this.#read("worldOffsets");
    }

    readRayHits(): Promise<RayHits> {
        return this.#read("rays");
    }

    readQueryResults(): Promise<QueryResults> {
        return this.#read("queries");
    }

    readCounters(): Promise<Counters> {
        return this.#read("counters");
    }

    readEvents(): Promise<PairEvents> {
        return this.#read("events", this.#options.events ?? false);
    }

    createQuerySet(options: QueryOptions = {}): CpuQuerySet {
        this.#link.check();
        const merged = optionsOfSet(this.#options, options);
        // Throws if the options are invalid.
        settingsOf(merged).free();
        const set = (this.#sets += 1);
        this.#link.tell({ kind: "set", set, options: merged });
        return new CpuQuerySet(this.#link, set, this.#options.worlds, () => this.#hasStep);
    }

    createCulling(): CpuCulling {
        this.#link.check();
        return new CpuCulling(this.#link, () => this.#hasStep);
    }

    dispose(): void {
        this.#link.end(new DisposedError("the broad phase was disposed of"));
    }
}

/** Rays and queries on the CPU. Created by `createQuerySet`. */
export class CpuQuerySet implements QuerySet {
    readonly #link: Link;
    readonly #life = new Life();
    readonly #set: number;
    readonly #worlds: number | undefined;
    readonly #hasStep: () => boolean;
    #hasQuery = false;

    /** @internal */
    constructor(link: unknown, set: number, worlds: number | undefined, hasStep: () => boolean) {
        this.#link = link as Link;
        this.#set = set;
        this.#worlds = worlds;
        this.#hasStep = hasStep;
    }

    query(input: QueryInput): undefined {
        this.#link.check();
        this.#life.check();
        demandMade("step", this.#hasStep());
        const [message, transfer] = plain(partsOfQuery(input, this.#worlds));
        this.#link.tell({ kind: "query", set: this.#set, input: message }, transfer);
        this.#hasQuery = true;
    }

    async #read<T>(what: ReadKind): Promise<T> {
        this.#link.check();
        return this.#life.promised(() => {
            demandMade("query", this.#hasQuery);
            return this.#link.ask({ kind: "read", set: this.#set, what });
        });
    }

    readRayHits(): Promise<RayHits> {
        return this.#read("rays");
    }

    readQueryResults(): Promise<QueryResults> {
        return this.#read("queries");
    }

    readCounters(): Promise<Counters> {
        return this.#read("counters");
    }

    dispose(): void {
        if (!this.#life.hasEnded) {
            this.#life.end(new DisposedError("the set of queries was disposed of"));
            this.#link.tell({ kind: "drop", set: this.#set });
        }
    }
}

/** Culling on the CPU, which tests every object in every view. Created by `createCulling`. */
export class CpuCulling implements Culling {
    readonly #link: Link;
    readonly #life = new Life();
    readonly #hasStep: () => boolean;
    #visible: Promise<Visible> | undefined;

    /** @internal */
    constructor(link: unknown, hasStep: () => boolean) {
        this.#link = link as Link;
        this.#hasStep = hasStep;
    }

    cull(views: Views): undefined {
        this.#link.check();
        this.#life.check();
        demandMade("step", this.#hasStep());
        const rows = viewRows(views);
        if (!(rows instanceof Uint32Array)) {
            throw new TypeError("views is a GPUBuffer, and this broad phase is on the CPU");
        }
        this.#visible = this.#link.ask({ kind: "cull", views: rows });
        this.#visible.catch(() => {});
    }

    async readVisible(): Promise<Visible> {
        this.#link.check();
        return this.#life.promised(() => {
            demandMade("cull", this.#visible !== undefined);
            return this.#visible!;
        });
    }

    dispose(): void {
        this.#life.end(new DisposedError("the culling was disposed of"));
    }
}

/** Starts a worker and creates a broad phase in it. @internal */
export async function createOnCpu(options: CpuOptions): Promise<CpuBroadPhase> {
    if ("pairFilter" in options) {
        throw new TypeError("pairFilter is WGSL, and this broad phase is on the CPU");
    }
    settingsOf(options).free();
    const link = new Link();
    try {
        await link.ask({ kind: "create", options });
    } catch (error) {
        link.end(new WorkerError("the worker failed"));
        throw error;
    }
    return new CpuBroadPhase(link, options);
}
