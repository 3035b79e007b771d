import { DeviceLostError } from "./errors.js";
import { Life } from "./life.js";
import { Reader } from "./reading.js";
import type { Buffer, Gpu } from "./wasm/gpu_broad_phase.js";

/** The GPU device and its lifetime, shared by a broad phase and its query sets. @internal */
export class DeviceContext extends Life {
    readonly device: GPUDevice;
    readonly reader: Reader;
    /** Buffers of `createBuffer`, each with its handle in the WebAssembly module. */
    readonly buffers = new Map<GPUBuffer, Buffer>();

    constructor(readonly gpu: Gpu) {
        super();
        this.device = gpu.device();
        this.reader = new Reader(this.device);
        void this.device.lost.then((info) =>
            this.end(new DeviceLostError(`the device is lost: ${info.message || info.reason}`)),
        );
    }
}
