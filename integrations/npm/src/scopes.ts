const FILTERS = ["validation", "out-of-memory", "internal"] as const;

/** Calls, and tells what the device says against it, once it knows. @internal */
export function scoped<T>(device: GPUDevice, call: () => T): [T, Promise<GPUError | undefined>] {
    FILTERS.forEach((filter) => device.pushErrorScope(filter));
    const close = (): Promise<(GPUError | null)[]> =>
        Promise.all(FILTERS.map(() => device.popErrorScope().catch(() => null)));
    let made: T;
    try {
        made = call();
    } catch (error) {
        void close();
        throw error;
    }
    return [made, close().then((errors) => errors.find((error) => error !== null) ?? undefined)];
}
