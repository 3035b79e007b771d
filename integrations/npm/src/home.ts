import { DeviceLostError, DisposedError, translated } from "./errors.js";
import { Reader } from "./reading.js";
import type { Buffer, Gpu } from "./wasm/gpu_broad_phase.js";

/** What a broad phase and its sets share: the device, what it owns, and whether it is there. @internal */
export class Home {
    readonly device: GPUDevice;
    readonly reader: Reader;
    /** Buffers that `createBuffer` made, as the module knows them. */
    readonly buffers = new Map<GPUBuffer, Buffer>();
    isDisposed = false;
    /** Why nothing works any more. */
    #error: Error | undefined;
    /** What rejects the promises that are under way. */
    readonly #pending = new Set<(error: Error) => void>();

    constructor(readonly gpu: Gpu) {
        this.device = gpu.device();
        this.reader = new Reader(this.device);
        void this.device.lost.then((info) => this.end(new DeviceLostError(`the device is lost: ${info.message || info.reason}`)));
    }

    /** Ends everything: what is pending rejects, and what is called throws. */
    end(error: Error): void {
        if (this.#error !== undefined) {
            return;
        }
        this.#error = error;
        for (const reject of this.#pending) {
            reject(error);
        }
        this.#pending.clear();
    }

    check(): void {
        if (this.#error !== undefined) {
            // The caller's line, not that of the loss.
            const { message } = this.#error;
            throw this.#error instanceof DisposedError ? new DisposedError(message) : new DeviceLostError(message);
        }
    }

    /** A promise that also rejects when the device is lost or the broad phase is disposed of. */
    promised<T>(make: () => Promise<T>): Promise<T> {
        return new Promise((resolve, reject) => {
            this.check();
            this.#pending.add(reject);
            make().then(resolve, async (error: unknown) => {
                // A device that is lost refuses to map first, and says why then.
                if (error instanceof DOMException || (error instanceof Error && error.name === "Other")) {
                    await new Promise((later) => setTimeout(later, 100));
                }
                reject(translated(error));
            }).finally(() => this.#pending.delete(reject));
        });
    }
}
