import { ModuleError } from "./errors.js";
import { builtin } from "./platform.js";
import init from "./wasm/gpu_broad_phase.js";

let loading: Promise<unknown> | undefined;

/** Loads the WebAssembly module once. After a failure, the next call tries again. @internal */
export async function loaded(): Promise<void> {
    const address = new URL("./wasm/gpu_broad_phase_bg.wasm", import.meta.url);
    // `fetch` of Node.js reads no files.
    const files = address.protocol === "file:" ? builtin("node:fs/promises") : undefined;
    loading ??= files === undefined ? init() : init({ module_or_path: files.readFile(address) });
    try {
        await loading;
    } catch (error) {
        loading = undefined;
        throw new ModuleError(`the WebAssembly module could not be loaded: ${String(error)}`);
    }
}
