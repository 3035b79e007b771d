import { WorkerError, translated } from "./errors.js";
import { loaded } from "./module.js";
import { builtin } from "./platform.js";
import { settingsOf } from "./options.js";
import type { PlainParts, ReadKind, Request, Response } from "./cpu.js";
import { missing, visibleOf } from "./answers.js";
import { type Answer, Cpu, HostInput, type HostQuery, type Settings } from "./wasm/gpu_broad_phase.js";

interface Scope {
    onmessage: (event: MessageEvent<Request>) => void;
    onmessageerror: () => void;
    postMessage(message: Response, transfer: Transferable[]): void;
}

const global = globalThis as unknown as Scope;
/** The thread's port in Node.js. */
const scope = "postMessage" in global ? global : (builtin("node:worker_threads")!.parentPort as Scope);

let cpu: Cpu | undefined;
const sets = new Map<number, { settings: Settings; query: HostQuery | undefined }>();
/** Error of a request that expects no response. All later requests fail with it. */
let failure: unknown;

function inputOf({ rows, areSwept, question }: PlainParts): HostInput {
    const input = new HostInput();
    for (const { part, words } of rows) {
        input.set_rows(part, words);
    }
    if (areSwept) {
        input.set_swept();
    }
    input.set_self_query(question.selfQuery, question.radius, question.half, question.nearest);
    return input;
}

function answer(of: Answer, what: Exclude<ReadKind, "events">): unknown {
    try {
        switch (what) {
            case "counters":
                return { ...(of.counters() as Record<string, unknown>), missing: missing(of.status()) };
            case "pairs":
                return of.pairs();
            case "worldPairs":
                return of.world_pairs();
            case "worldOffsets":
                return of.world_offsets();
            case "rays":
                return { objects: of.ray_objects(), t: of.ray_t(), offsets: of.ray_offsets(), any: of.ray_any() };
            case "queries":
                return {
                    objects: of.query_objects(),
                    offsets: of.query_offsets(),
                    squaredDistances: of.squared_distances(),
                };
        }
    } finally {
        of.free();
    }
}

function handled(request: Request): unknown {
    switch (request.kind) {
        case "create":
            cpu = new Cpu(settingsOf(request.options), request.options.events ?? false);
            return undefined;
        case "step":
            return cpu!.step(inputOf(request.input));
        case "set":
            sets.set(request.set, { settings: settingsOf(request.options), query: undefined });
            return undefined;
        case "query": {
            const set = sets.get(request.set)!;
            set.query?.free();
            set.query = cpu!.query(set.settings, inputOf(request.input));
            return undefined;
        }
        case "drop": {
            const { settings, query } = sets.get(request.set)!;
            settings.free();
            query?.free();
            sets.delete(request.set);
            return undefined;
        }
        case "cull":
            return visibleOf(cpu!.cull(request.views));
        case "read": {
            if (request.what === "events") {
                const events = cpu!.read_events();
                const found = { begun: events.begun(), ended: events.ended() };
                events.free();
                return found;
            }
            return answer((request.set === undefined ? cpu! : sets.get(request.set)!.query!).read(), request.what);
        }
    }
}

function buffersOf(value: unknown): Transferable[] {
    if (ArrayBuffer.isView(value)) {
        return [value.buffer as ArrayBuffer];
    }
    return value !== null && typeof value === "object" ? Object.values(value).flatMap(buffersOf) : [];
}

scope.onmessage = async ({ data: request }) => {
    const { id } = request;
    try {
        await loaded();
        if (failure !== undefined) {
            throw failure;
        }
        const value = handled(request);
        if (id !== undefined) {
            scope.postMessage({ id, value }, buffersOf(value));
        }
    } catch (thrown) {
        // A module that failed once cannot be used again.
        if (id === undefined || thrown instanceof WebAssembly.RuntimeError) {
            failure = thrown;
        }
        if (id === undefined) {
            return;
        }
        const error = translated(thrown);
        const { name, message } = error instanceof Error ? error : new Error(String(error));
        scope.postMessage({ id, error: { name, message } }, []);
    }
};
// An error that is thrown here is reported to the page.
scope.onmessageerror = () => {
    throw new WorkerError("a message could not be read");
};
