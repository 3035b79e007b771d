/** There is no WebGPU, no adapter or no device. `BroadPhase.create({ cpu: true })` works without them. */
export class NoWebGpuError extends Error {
    override readonly name = "NoWebGpuError";
}

/** The WebAssembly module could not be loaded, has no memory left, or has a fault. */
export class ModuleError extends Error {
    override readonly name = "ModuleError";
}

/** There was no step or query yet, or its input or the options did not request this result. */
export class NoResultError extends Error {
    override readonly name = "NoResultError";
}

/** The device was lost or destroyed. Create another broad phase. */
export class DeviceLostError extends Error {
    override readonly name = "DeviceLostError";
}

/** The method belongs to a broad phase or query set that was disposed of. */
export class DisposedError extends Error {
    override readonly name = "DisposedError";
}

/**
 * A result overflowed, and its step could not be repeated: a later step has replaced it, or the device has no buffer
 * large enough. Later steps have enough space. Results awaited before the next step are complete.
 */
export class OverflowError extends Error {
    override readonly name = "OverflowError";
}

/**
 * The device refused a step or a read-back, for example for another device's buffer or lack of memory. The next step
 * may throw it, too.
 */
export class DeviceError extends Error {
    override readonly name = "DeviceError";
}

/** The worker of a CPU broad phase could not start, or failed. Create another broad phase. */
export class WorkerError extends Error {
    override readonly name = "WorkerError";
}

/** @internal */
export function demandMade(what: "step" | "query" | "cull", isMade: boolean): void {
    if (!isMade) {
        throw new NoResultError(`there was no ${what} yet`);
    }
}

/** Converts an exception of the WebAssembly module or the device to an error of this package. @internal */
export function translated(error: unknown): unknown {
    if (error instanceof DOMException) {
        return new DeviceError(error.message);
    }
    if (!(error instanceof Error)) {
        return error;
    }
    switch (error.name) {
        case "NoDevice":
            return new NoWebGpuError(error.message);
        case "NoResult":
            return new NoResultError(error.message);
        case "RuntimeError":
            return new ModuleError(`the module has no memory left, or has a fault: ${error.message}`);
        case "Refused":
            return new RangeError(error.message);
        case "Lost":
            return new DeviceLostError(error.message);
        case "Other":
            return new DeviceError(error.message);
        default:
            return error;
    }
}

/** Calls the WebAssembly module and converts its exceptions. @internal */
export function calling<T>(call: () => T): T {
    try {
        return call();
    } catch (error) {
        throw translated(error);
    }
}
