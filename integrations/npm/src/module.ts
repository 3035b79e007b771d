import init from "./wasm/gpu_broad_phase.js";

let loading: Promise<unknown> | undefined;

/** Loads the WebAssembly module once. After a failure, the next call tries again. @internal */
export async function loaded(): Promise<void> {
    loading ??= init();
    try {
        await loading;
    } catch (error) {
        loading = undefined;
        throw error;
    }
}
