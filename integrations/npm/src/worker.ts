import { translated } from "./errors.js";
import { loaded } from "./module.js";
import { type CommonOptions, settingsOf } from "./options.js";
import type { PlainParts, Request, Response } from "./cpu.js";
import { missing } from "./answers.js";
import { type Answer, Cpu, HostInput, type Settings } from "./wasm/gpu_broad_phase.js";

const scope = globalThis as unknown as {
    onmessage: (event: MessageEvent<Request>) => void;
    postMessage(message: Response, transfer: Transferable[]): void;
};

let cpu: Cpu | undefined;
const sets = new Map<number, { settings: Settings; input: PlainParts | undefined }>();

function made(options: CommonOptions): void {
    cpu = new Cpu(settingsOf(options), options.events ?? false);
}

function inputOf({ rows, areSwept, question }: PlainParts): HostInput {
    const input = new HostInput();
    for (const { part, words } of rows) {
        input.set_rows(part, words);
    }
    if (areSwept) {
        input.set_swept();
    }
    input.set_askers(question.askers, question.radius, question.half, question.nearest);
    return input;
}

function answer(of: Answer, what: Request & { kind: "read" }): unknown {
    try {
        const counters = of.counters() as Record<string, unknown>;
        const lacking = missing(of.status());
        switch (what.what) {
            case "counters":
                return { ...counters, missing: lacking };
            case "pairs":
                return of.pairs();
            case "worldPairs":
                return of.world_pairs();
            case "rays":
                return { objects: of.ray_objects(), t: of.ray_t(), offsets: of.ray_offsets(), any: of.ray_any() };
            case "queries":
                return { objects: of.query_objects(), offsets: of.query_offsets(), squaredDistances: of.squared_distances() };
            case "events":
                return undefined;
        }
    } finally {
        of.free();
    }
}

function handled(request: Request): unknown {
    switch (request.kind) {
        case "create":
            return made(request.options);
        case "step":
            return cpu!.step(inputOf(request.input));
        case "set":
            sets.set(request.set, { settings: settingsOf(request.options), input: undefined });
            return undefined;
        case "query":
            sets.get(request.set)!.input = request.input;
            return undefined;
        case "drop":
            sets.get(request.set)!.settings.free();
            sets.delete(request.set);
            return undefined;
        case "read": {
            if (request.what === "events") {
                const events = cpu!.read_events();
                const found = { begun: events.begun(), ended: events.ended() };
                events.free();
                return found;
            }
            if (request.set === undefined) {
                return answer(cpu!.read(), request);
            }
            const { settings, input } = sets.get(request.set)!;
            if (input === undefined) {
                throw new Error("there was no query yet");
            }
            const asked = inputOf(input);
            try {
                return answer(cpu!.query(settings, asked), request);
            } finally {
                asked.free();
            }
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
    try {
        await loaded();
        const value = handled(request);
        scope.postMessage({ id: request.id, value }, buffersOf(value));
    } catch (thrown) {
        const error = translated(thrown);
        const { name, message } = error instanceof Error ? error : new Error(String(error));
        scope.postMessage({ id: request.id, error: { name, message } }, []);
    }
};
