import type { DeviceContext } from "./device_context.js";
import { COUNT_NAMES, type DeviceRows, type HostRows, type Parts, nameOf, wordsKind } from "./input.js";
import { type Buffer, Counted, Input, Part, Words } from "./wasm/gpu_broad_phase.js";

/** Buffer usages STORAGE, COPY_DST and COPY_SRC. @internal */
export const ROWS_USAGE = 0x80 | 0x08 | 0x04;

const COPY_SRC = 0x04;
const COUNTED = { objects: Counted.Objects, rays: Counted.Rays, queries: Counted.Queries };
const STATIC_PARTS = new Set([Part.Statics, Part.StaticWorlds]);

/** A buffer for the uploaded rows of one part. */
interface Slot {
    readonly buffer: Buffer;
    readonly js: GPUBuffer;
    /** Key of the rows that the buffer holds, if these need not be uploaded again. */
    holds: string | undefined;
}

/** Upload buffers. Only `commit` writes them, so a refused input leaves the previous rows unchanged. @internal */
export class Uploads {
    readonly #context: DeviceContext;
    readonly #label: string;
    readonly #slots = new Map<string, Slot>();
    /** Writes that `commit` will do. */
    #writes: ((encode: () => GPUCommandEncoder) => void)[] = [];
    /** New slots, each with the slot that it replaces. */
    #replaced: [name: string, slot: Slot, before: Slot | undefined][] = [];

    constructor(context: DeviceContext, label: string) {
        this.#context = context;
        this.#label = label;
    }

    /** Passes the rows of an input to the WebAssembly module. */
    input(parts: Parts): Input {
        const input = new Input();
        try {
            for (const rows of parts.host) {
                this.#host(input, rows, parts.staticVersion);
            }
            for (const rows of parts.device) {
                this.#device(input, rows, parts.staticVersion);
            }
            for (const { of, count } of parts.counts) {
                const own = this.#context.buffers.get(count.buffer);
                const word = count.word ?? 0;
                if (own === undefined) {
                    const copy = this.#copy(`number of ${of}`, COUNT_NAMES[of], count.buffer, 4 * word, 4);
                    input.set_count(COUNTED[of], copy, 0);
                } else {
                    input.set_count(COUNTED[of], own, word);
                }
            }
        } catch (error) {
            input.free();
            throw error;
        }
        if (parts.areSwept) {
            input.set_swept();
        }
        const { selfQuery, radius, half, nearest } = parts.question;
        input.set_self_query(selfQuery, radius, half, nearest);
        input.set_static_generation(parts.staticVersion);
        return input;
    }

    #host(input: Input, { part, words, count, isTight }: HostRows, version: number): void {
        const name = nameOf(part);
        const holds = STATIC_PARTS.has(part) ? `${version}: ${count} rows of ${words.byteLength} bytes` : undefined;
        const { queue } = this.#context.device;
        const buffer = this.#put(name, words.byteLength, holds, (to) => {
            queue.writeBuffer(to, 0, words.buffer, words.byteOffset, words.byteLength);
        });
        input.set_rows(part, buffer, count, 0);
        if (isTight) {
            input.set_layout(part, false, Words.Nothing);
        }
    }

    #device(input: Input, { part, rows, bytes, areBoxes }: DeviceRows, version: number): void {
        const { buffer, count, offset = 0, stride, form = "min-max" } = rows;
        const own = this.#context.buffers.get(buffer);
        if (own === undefined) {
            const span = (count - 1) * (stride ?? bytes) + bytes;
            const holds = STATIC_PARTS.has(part)
                ? JSON.stringify([version, count, stride ?? bytes, form, rows.words])
                : undefined;
            input.set_rows(part, this.#copy(nameOf(part), nameOf(part), buffer, offset, span, holds), count, 0, stride);
        } else {
            input.set_rows(part, own, count, offset, stride);
        }
        if (areBoxes) {
            input.set_layout(part, form === "center-half", wordsKind(rows));
        }
    }

    #copy(slot: string, name: string, from: GPUBuffer, offset: number, bytes: number, holds?: string): Buffer {
        if ((from.usage & COPY_SRC) === 0) {
            throw new TypeError(
                `${name}.buffer lacks GPUBufferUsage.COPY_SRC: a buffer that createBuffer did not make is copied`,
            );
        }
        return this.#put(slot, bytes, holds, (to, encode) => encode().copyBufferToBuffer(from, offset, to, 0, bytes));
    }

    /** Returns the buffer of slot `name`. `commit` writes the rows, unless the buffer holds them already. */
    #put(
        name: string,
        bytes: number,
        holds: string | undefined,
        write: (to: GPUBuffer, encode: () => GPUCommandEncoder) => void,
    ): Buffer {
        const slot = this.#room(name, bytes);
        if (holds === undefined || slot.holds !== holds) {
            this.#writes.push((encode) => {
                slot.holds = holds;
                write(slot.js, encode);
            });
        }
        return slot.buffer;
    }

    /** Returns a slot of at least `bytes` bytes. */
    #room(name: string, bytes: number): Slot {
        const slot = this.#slots.get(name);
        if (slot !== undefined && slot.js.size >= bytes && slot.js.size <= 4 * bytes + 65536) {
            return slot;
        }
        const limit = this.#context.device.limits.maxStorageBufferBindingSize;
        if (bytes > limit) {
            const text = `${name}: ${bytes} bytes are needed, a binding of the device has at most ${limit}`;
            throw new RangeError(`${text}: use cpu: true, or a device with larger requiredLimits`);
        }
        // Buffers that grow get half as much again, since they probably grow further.
        const wanted = slot !== undefined && slot.js.size < bytes ? 1.5 * bytes : bytes;
        const size = Math.min(Math.ceil(wanted / 256) * 256, Math.floor(limit / 4) * 4);
        const buffer = this.#context.gpu.create_buffer(`${this.#label}/${name}`, size, ROWS_USAGE);
        const made = { buffer, js: buffer.js(), holds: undefined };
        this.#slots.set(name, made);
        this.#replaced.push([name, made, slot]);
        return made;
    }

    /** Writes the rows. Call it after the step or query was recorded. */
    commit(): void {
        const { device } = this.#context;
        let encoder: GPUCommandEncoder | undefined;
        const encode = (): GPUCommandEncoder =>
            (encoder ??= device.createCommandEncoder({ label: "gpu_broad_phase/inputs" }));
        for (const write of this.#writes) {
            write(encode);
        }
        if (encoder !== undefined) {
            device.queue.submit([encoder.finish()]);
        }
        this.#replaced.forEach(([, , before]) => destroy(before));
        this.#settle();
    }

    /** Restores the slots after a refused input. */
    revert(): void {
        for (const [name, slot, before] of this.#replaced) {
            destroy(slot);
            if (before === undefined) {
                this.#slots.delete(name);
            } else {
                this.#slots.set(name, before);
            }
        }
        this.#settle();
    }

    #settle(): void {
        this.#writes = [];
        this.#replaced = [];
    }

    /** Marks all rows for upload after an error, because the device may not have written them. */
    forget(): void {
        for (const slot of this.#slots.values()) {
            slot.holds = undefined;
        }
    }

    dispose(): void {
        this.#slots.forEach(destroy);
        this.#slots.clear();
    }
}

function destroy(slot: Slot | undefined): void {
    slot?.js.destroy();
    slot?.buffer.free();
}
