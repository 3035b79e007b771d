import type { DeviceContext } from "./device_context.js";
import { COUNT_NAMES, type DeviceRows, type HostRows, type Parts, nameOf, wordsKind } from "./input.js";
import { type Buffer, Counted, Input, Part, Words } from "./wasm/gpu_broad_phase.js";

/** STORAGE, COPY_DST and COPY_SRC. @internal */
export const ROWS_USAGE = 0x80 | 0x08 | 0x04;

const COPY_SRC = 0x04;
const COUNTED = { objects: Counted.Objects, rays: Counted.Rays, queries: Counted.Queries };
const STATIC_PARTS = new Set([Part.Statics, Part.StaticWorlds]);

/** A buffer for uploaded rows. */
interface Slot {
    readonly buffer: Buffer;
    readonly js: GPUBuffer;
    /** Key of the cached rows, if any. */
    holds: string | undefined;
}

/**
 * Upload buffers for an input's rows. They are written only by `commit`, so a refused input leaves the previous rows
 * unchanged.
 *
 * @internal
 */
export class Uploads {
    readonly #context: DeviceContext;
    readonly #label: string;
    readonly #slots = new Map<string, Slot>();
    /** Work of `commit`. */
    #writes: ((encode: () => GPUCommandEncoder) => void)[] = [];
    /** New slots and those they replace. */
    #replaced: [name: string, slot: Slot, before: Slot | undefined][] = [];

    constructor(context: DeviceContext, label: string) {
        this.#context = context;
        this.#label = label;
    }

    /** Passes the rows of an input to the module. */
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

    /** Returns a slot's buffer. `commit` writes the rows, unless they are cached. */
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

    /** Returns a slot of at least `bytes`. */
    #room(name: string, bytes: number): Slot {
        const slot = this.#slots.get(name);
        if (slot !== undefined && slot.js.size >= bytes && slot.js.size <= 4 * bytes + 65536) {
            return slot;
        }
        const limit = this.#context.device.limits.maxStorageBufferBindingSize;
        if (bytes > limit) {
            throw new RangeError(`${name}: ${bytes} bytes are needed, a binding of the device has at most ${limit}`);
        }
        // Grows by more, as it will probably grow again.
        const wanted = slot !== undefined && slot.js.size < bytes ? 1.5 * bytes : bytes;
        const size = Math.min(Math.ceil(wanted / 256) * 256, Math.floor(limit / 4) * 4);
        const buffer = this.#context.gpu.create_buffer(`${this.#label}/${name}`, size, ROWS_USAGE);
        const made = { buffer, js: buffer.js(), holds: undefined };
        this.#slots.set(name, made);
        this.#replaced.push([name, made, slot]);
        return made;
    }

    /** Writes the rows after the step or query was recorded. */
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

    /** Undoes the changes of a refused input. */
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

    /** Drops cached rows after an error: they may not have been written. */
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
