/** The browser has no WebGPU, or gives no adapter or device. `BroadPhase.create({ cpu: true })` works without. */
export class NoWebGpuError extends Error {
    override readonly name = "NoWebGpuError";
}

/** The device is lost: the driver or the browser gave it up, or it was destroyed. Create another broad phase. */
export class DeviceLostError extends Error {
    override readonly name = "DeviceLostError";
}

/** The broad phase, or the set of queries, was disposed of. */
export class DisposedError extends Error {
    override readonly name = "DisposedError";
}

/**
 * The answer had no room in the outputs, and could not be made whole: a later step has taken its place meanwhile, or
 * the device has no buffer that is large enough. After a later step the next answer has the room. An answer that is
 * awaited before the next step is whole.
 */
export class OverflowError extends Error {
    override readonly name = "OverflowError";
}

/**
 * The device refused a step or a read-back: for example for a buffer of another device, or for want of memory. The step
 * after a refused one may throw it, too.
 */
export class DeviceError extends Error {
    override readonly name = "DeviceError";
}

/** The worker of a broad phase on the CPU could not be started, or has failed. Create another broad phase. */
export class WorkerError extends Error {
    override readonly name = "WorkerError";
}

/** What the module or the device threw, as an error of this package. @internal */
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

/** Calls the module. @internal */
export function calling<T>(call: () => T): T {
    try {
        return call();
    } catch (error) {
        throw translated(error);
    }
}
