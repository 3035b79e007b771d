import type { Home } from "./home.js";
import { type BufferBoxes, type Parts, nameOf, wordsKind } from "./input.js";
import { type Buffer, Counted, Input, Part, Words } from "./wasm/gpu_broad_phase.js";

/** Usages of buffers that rows lie in: STORAGE, COPY_DST and COPY_SRC. @internal */
export const ROWS_USAGE = 0x80 | 0x08 | 0x04;

const COUNTED = { objects: Counted.Objects, rays: Counted.Rays, queries: Counted.Queries };

/** What the rows of an input are uploaded to. @internal */
export class Uploads {
    readonly #home: Home;
    readonly #label: string;
    readonly #slots = new Map<string, { buffer: Buffer; js: GPUBuffer }>();

    constructor(home: Home, label: string) {
        this.#home = home;
        this.#label = label;
    }

    /** A buffer of the slot with room for so many bytes. */
    #room(name: string, bytes: number): { buffer: Buffer; js: GPUBuffer } {
        let slot = this.#slots.get(name);
        if (slot === undefined || slot.js.size < bytes || slot.js.size > 4 * bytes + 65536) {
            const limit = this.#home.device.limits.maxStorageBufferBindingSize;
            if (bytes > limit) {
                throw new RangeError(`${name}: ${bytes} bytes are needed, a binding of the device has at most ${limit}`);
            }
            // One that grows will grow again.
            const wanted = slot !== undefined && slot.js.size < bytes ? 1.5 * bytes : bytes;
            const size = Math.min(Math.ceil(wanted / 256) * 256, Math.floor(limit / 4) * 4);
            const buffer = this.#home.gpu.create_buffer(`${this.#label}/${name}`, size, ROWS_USAGE);
            slot?.js.destroy();
            slot?.buffer.free();
            slot = { buffer, js: buffer.js() };
            this.#slots.set(name, slot);
        }
        return slot;
    }

    write(name: string, words: Float32Array | Uint32Array): Buffer {
        const slot = this.#room(name, words.byteLength);
        this.#home.device.queue.writeBuffer(slot.js, 0, words.buffer, words.byteOffset, words.byteLength);
        return slot.buffer;
    }

    copy(encoder: GPUCommandEncoder, name: string, from: GPUBuffer, offset: number, bytes: number): Buffer {
        const slot = this.#room(name, bytes);
        encoder.copyBufferToBuffer(from, offset, slot.js, 0, bytes);
        return slot.buffer;
    }

    /** What was uploaded before. */
    kept(name: string): Buffer | undefined {
        return this.#slots.get(name)?.buffer;
    }

    /** Gives all memory back. */
    dispose(): void {
        for (const { buffer, js } of this.#slots.values()) {
            js.destroy();
            buffer.free();
        }
        this.#slots.clear();
    }
}

function checkUsage(name: string, buffer: GPUBuffer, bit: number, bitName: string): void {
    if ((buffer.usage & bit) === 0) {
        throw new TypeError(`${name}.buffer lacks GPUBufferUsage.${bitName}: a buffer that createBuffer did not make is copied`);
    }
}

const STATIC_PARTS = new Set([Part.Statics, Part.StaticWorlds]);

/**
 * Uploads the rows of an input and names them to the module. Rows of static objects stay as they are if `keepStatics`.
 *
 * @internal
 */
export function uploaded(home: Home, uploads: Uploads, parts: Parts, keepStatics: boolean): Input {
    // What is wrong is told before anything is written.
    for (const { part, rows } of parts.device) {
        if (!home.buffers.has(rows.buffer)) {
            checkUsage(nameOf(part), rows.buffer, 0x04, "COPY_SRC");
        }
    }
    for (const { of, count } of parts.counts) {
        if (!home.buffers.has(count.buffer)) {
            checkUsage(`${of.slice(0, -1).replace("ie", "y")}Count`, count.buffer, 0x04, "COPY_SRC");
        }
    }
    const input = new Input();
    let encoder: GPUCommandEncoder | undefined;
    const encode = (): GPUCommandEncoder => (encoder ??= home.device.createCommandEncoder({ label: "gpu_broad_phase/inputs" }));
    for (const { part, words, count, isTight } of parts.host) {
        const name = nameOf(part);
        const kept = keepStatics && STATIC_PARTS.has(part) ? uploads.kept(name) : undefined;
        input.set_rows(part, kept ?? uploads.write(name, words), count, 0);
        if (isTight) {
            input.set_form(part, false, Words.Nothing);
        }
    }
    for (const { part, rows, bytes } of parts.device) {
        const { buffer, count, offset = 0, stride } = rows;
        const own = home.buffers.get(buffer);
        const kept = keepStatics && STATIC_PARTS.has(part) ? uploads.kept(nameOf(part)) : undefined;
        if (own !== undefined) {
            input.set_rows(part, own, count, offset, stride);
        } else if (kept !== undefined) {
            input.set_rows(part, kept, count, 0, stride);
        } else {
            const span = (count - 1) * (stride ?? bytes) + bytes;
            input.set_rows(part, uploads.copy(encode(), nameOf(part), buffer, offset, span), count, 0, stride);
        }
        if (part === Part.Objects || part === Part.Statics || (part === Part.Queries && bytes <= 32)) {
            const { form = "min-max" } = rows as BufferBoxes;
            if (form !== "min-max" && form !== "center-half") {
                throw new TypeError(`form is ${JSON.stringify(form)}; it can be "min-max", "center-half"`);
            }
            input.set_form(part, form === "center-half", wordsKind(rows));
        }
    }
    for (const { of, count } of parts.counts) {
        const own = home.buffers.get(count.buffer);
        const word = count.word ?? 0;
        if (own !== undefined) {
            input.set_count(COUNTED[of], own, word);
        } else {
            input.set_count(COUNTED[of], uploads.copy(encode(), `number of ${of}`, count.buffer, 4 * word, 4), 0);
        }
    }
    if (encoder !== undefined) {
        home.device.queue.submit([encoder.finish()]);
    }
    if (parts.areSwept) {
        input.set_swept();
    }
    const { askers, radius, half, nearest } = parts.question;
    input.set_askers(askers, radius, half, nearest);
    input.set_static_generation(parts.staticVersion);
    return input;
}
