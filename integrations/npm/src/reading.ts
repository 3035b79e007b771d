import { DeviceError } from "./errors.js";
import { scoped } from "./scopes.js";

/** Bytes to read from the start of a buffer. @internal */
export interface Bytes {
    readonly buffer: GPUBuffer;
    /** Number of bytes, a multiple of 4. */
    readonly bytes: number;
}

/** Maximum number of spare staging buffers. */
const MOST_SPARES = 4;
/** Buffer usages MAP_READ and COPY_DST. */
const USAGE = 0x01 | 0x08;

/** Copies device buffers to the host. @internal */
export class Reader {
    readonly #device: GPUDevice;
    /** Staging buffers that are not in use. */
    #spares: GPUBuffer[] = [];

    constructor(device: GPUDevice) {
        this.#device = device;
    }

    /** Reads the start of each buffer, as it is after all earlier submissions. */
    async read(parts: readonly Bytes[]): Promise<Uint32Array[]> {
        const total = parts.reduce((sum, { bytes }) => sum + bytes, 0);
        const [[staging, mapping], told] = scoped(this.#device, () => {
            const staging = this.#take(total);
            const encoder = this.#device.createCommandEncoder({ label: "gpu_broad_phase/readback" });
            let end = 0;
            for (const { buffer, bytes } of parts) {
                if (bytes > 0) {
                    encoder.copyBufferToBuffer(buffer, 0, staging, end, bytes);
                }
                end += bytes;
            }
            this.#device.queue.submit([encoder.finish()]);
            return [staging, staging.mapAsync(1, 0, total)] as const;
        });
        try {
            await mapping;
            const error = await told;
            if (error !== undefined) {
                throw new DeviceError(`the device refused a read-back: ${error.message}`);
            }
        } catch (error) {
            staging.destroy();
            throw error;
        }
        const mapped = staging.getMappedRange(0, total);
        let start = 0;
        const arrays = parts.map(({ bytes }) => {
            start += bytes;
            return new Uint32Array(mapped.slice(start - bytes, start));
        });
        staging.unmap();
        this.#spares.push(staging);
        if (this.#spares.length > MOST_SPARES) {
            this.#spares.shift()!.destroy();
        }
        return arrays;
    }

    #take(bytes: number): GPUBuffer {
        const index = this.#spares.findIndex(({ size }) => size >= bytes && size <= 4 * bytes + 65536);
        if (index >= 0) {
            return this.#spares.splice(index, 1)[0]!;
        }
        const size = Math.max(256, 2 ** Math.ceil(Math.log2(bytes)));
        return this.#device.createBuffer({
            label: "gpu_broad_phase/readback",
            size: size <= this.#device.limits.maxBufferSize ? size : bytes,
            usage: USAGE,
        });
    }
}
