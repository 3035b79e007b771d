import { NoWebGpuError, WorkerError } from "./errors.js";
import { Instance } from "./wasm/gpu_broad_phase.js";

/** The part of a web worker that is used. `ref` and `unref`, in Node.js: whether the process waits for it. */
export interface Thread {
    postMessage(message: unknown, transfer: Transferable[]): void;
    terminate(): unknown;
    ref?(): void;
    unref?(): void;
}

interface NodeThread extends Thread {
    on(event: "message", call: (data: unknown) => void): void;
    on(event: "error" | "messageerror", call: (error: Error) => void): void;
}

interface Builtins {
    readonly "node:fs/promises": { readFile(file: URL): Promise<Uint8Array<ArrayBuffer>> };
    readonly "node:module": { createRequire(file: string): { resolve(name: string): string } };
    readonly "node:url": { pathToFileURL(file: string): URL };
    readonly "node:worker_threads": {
        readonly Worker: new (file: URL, options: { name: string }) => NodeThread;
        readonly parentPort: unknown;
    };
}

/** Returns a module of Node.js or Deno, without an import that bundlers for browsers would follow. @internal */
export function builtin<Name extends keyof Builtins>(name: Name): Builtins[Name] | undefined {
    const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } };
    return process?.getBuiltinModule?.(name) as Builtins[Name] | undefined;
}

/** Starts the worker. @internal */
export function startWorker(answer: (data: unknown) => void, fail: (reason: string) => void): Thread {
    const unread = (): void => fail("its answer could not be read");
    if (typeof Worker === "undefined") {
        const threads = builtin("node:worker_threads");
        if (threads === undefined) {
            throw new WorkerError("there are no workers here: Node.js is needed in version 20.16 or later");
        }
        // Not in one expression, which bundlers would read as an asset.
        const base = import.meta.url;
        const thread = new threads.Worker(new URL("./worker.js", base), { name: "gpu-broad-phase" });
        thread.on("message", answer);
        thread.on("error", ({ message }) => fail(message));
        thread.on("messageerror", unread);
        return thread;
    }
    let worker: Worker;
    try {
        worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "gpu-broad-phase" });
    } catch (error) {
        throw new WorkerError(
            "the worker could not be started, whose script has to come from the page's own origin: " +
                (error instanceof Error ? error.message : String(error)),
        );
    }
    worker.onmessage = ({ data }) => answer(data);
    worker.onerror = ({ message }) => fail(message || "it could not be loaded");
    worker.onmessageerror = unread;
    return worker;
}

const GLOBALS = ["GPUBuffer", "GPUDevice", "GPUSupportedLimits", "GPUValidationError", "GPUOutOfMemoryError"];

/** Returns `navigator.gpu`, in Node.js also that of the package `webgpu`, or one that gives `device`. @internal */
export async function webGpu(device?: GPUDevice): Promise<GPU> {
    const gpu = device === undefined ? await ownGpu() : undefined;
    const missing = GLOBALS.find((name) => !(name in globalThis));
    if (missing !== undefined) {
        throw new NoWebGpuError(`there is WebGPU but not ${missing}: make the globals of the package webgpu global`);
    }
    if (device !== undefined && !(device instanceof GPUDevice)) {
        throw new TypeError("device is no GPUDevice");
    }
    // Deno 2.9 lacks this limit, for which wgpu then reads 0.
    const limits = GPUSupportedLimits.prototype;
    if (!("maxBindGroupsPlusVertexBuffers" in limits)) {
        Object.defineProperty(limits, "maxBindGroupsPlusVertexBuffers", { value: 24 });
    }
    return gpu ?? gpuOf(device!);
}

/** Dawn aborts the process if this object is collected before its devices. */
let kept: GPU | undefined;

async function ownGpu(): Promise<GPU> {
    const gpu = (globalThis as { navigator?: Navigator }).navigator?.gpu;
    if (gpu !== undefined) {
        return gpu;
    }
    if (builtin("node:worker_threads") === undefined) {
        throw new NoWebGpuError("this browser has no WebGPU, or the page is not loaded by https or from localhost");
    }
    try {
        // Bundlers would follow an import by name.
        const file = builtin("node:module")!.createRequire(import.meta.url).resolve("webgpu");
        const { href } = builtin("node:url")!.pathToFileURL(file);
        const dawn = await import(/* @vite-ignore */ /* webpackIgnore: true */ href);
        Object.assign(globalThis, dawn.globals);
        return (kept ??= dawn.create([]) as GPU);
    } catch (error) {
        throw new NoWebGpuError(
            `there is no navigator.gpu, and the npm package webgpu, which Node.js needs, fails: ${String(error)}`,
        );
    }
}

function gpuOf(device: GPUDevice): GPU {
    const adapter = {
        features: device.features,
        limits: device.limits,
        info: device.adapterInfo,
        requestDevice: async () => device,
    };
    return { requestAdapter: async () => adapter } as unknown as GPU;
}

/** Creates wgpu's instance of `gpu`. wgpu reads `navigator.gpu`, in pages and web workers only. @internal */
export function instanceOf(gpu: GPU): Instance {
    const isScope = "Window" in globalThis || "WorkerGlobalScope" in globalThis;
    if (isScope && navigator.gpu === gpu) {
        return new Instance();
    }
    const values = { navigator: { gpu }, WorkerGlobalScope: Object };
    const before = Object.entries(values).map(([name, value]) => {
        const descriptor = Object.getOwnPropertyDescriptor(globalThis, name);
        Object.defineProperty(globalThis, name, { value, configurable: true });
        return [name, descriptor] as const;
    });
    try {
        return new Instance();
    } finally {
        for (const [name, descriptor] of before) {
            delete (globalThis as Record<string, unknown>)[name];
            if (descriptor !== undefined) {
                Object.defineProperty(globalThis, name, descriptor);
            }
        }
    }
}
