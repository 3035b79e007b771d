const FILTERS = ["validation", "out-of-memory", "internal"] as const;

/** Calls in error scopes. The returned promise resolves with the device's error, or `undefined`. @internal */
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
