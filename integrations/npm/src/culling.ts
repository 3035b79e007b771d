import type { DeviceContext } from "./device_context.js";
import { type Visible, visibleOf } from "./answers.js";
import { DeviceError, DisposedError, calling, demandMade } from "./errors.js";
import { type BufferRows, demandBuffer, rowWords, unfit } from "./input.js";
import { Life } from "./life.js";
import { demandNames, whole } from "./options.js";
import type { ListOutput } from "./outputs.js";
import { scoped } from "./scopes.js";
import { CullBuffer, Culler, planes_of } from "./wasm/gpu_broad_phase.js";

/** Layers and world of a view. */
export interface ViewFilter {
    /** Layers in the low 16 bits, mask in the high 16 bits, as for boxes. Default: all layers. */
    readonly layers?: number;
    /** World whose objects the view sees. Default: 0. */
    readonly world?: number;
}

/** A view: the region inside its planes. Without planes, it sees all objects. */
export interface ViewPlanes extends ViewFilter {
    /** Up to eight planes of four numbers: normal n and d. A point p is inside if n · p + d >= 0. */
    readonly planes: ArrayLike<number>;
}

/** The view of a camera. */
export interface ViewMatrix extends ViewFilter {
    /** World-to-clip matrix in column order, such as three.js's `elements`. Clip space has z from 0 to w. */
    readonly viewProjection: ArrayLike<number>;
}

export type View = ViewPlanes | ViewMatrix;

/** At most 32 views. A row of 144 bytes has eight planes, number of planes, layers, world, and an unused word. */
export type Views = readonly View[] | ArrayBuffer | BufferRows;

/** Additional outputs of culling on the GPU. */
export interface CullOptions {
    /** Row capacity of the lists of all views together. Default: no lists. */
    readonly listCapacity?: number;
    /** Vertices or indices per object, for one indirect draw per view. Default: no draws. */
    readonly draw?: { readonly vertices: number } | { readonly indices: number };
}

/** Results of culling on the GPU. The next call may overwrite or replace the buffers. */
export interface CullOutput {
    /** Bits: view v sees object o if bit `o % 32` of word `v * words + floor(o / 32)` is set. */
    readonly visible: GPUBuffer;
    /** Words per view in `visible`. */
    readonly words: number;
    /** Visible objects of each view, ascending, if `listCapacity` is set. */
    readonly lists: ListOutput | null;
    /** Arguments of an indirect draw per view, four `u32`, or five with indices, if `draw` is set. */
    readonly draws: GPUBuffer | null;
    /** 40 `u32`. Word 0: invalid views, 2: list rows needed (64 bits), 8 + v: objects that view v sees. */
    readonly counters: GPUBuffer;
}

/** Finds the objects that each view sees: those whose box, with margin, is outside none of its planes. */
export interface Culling {
    /**
     * Culls the objects of the last step. Never waits. A buffer of views must be of `createBuffer`.
     *
     * @returns The output buffers, or `undefined` on the CPU.
     * @throws As `QuerySet.query`.
     */
    cull(views: Views, options?: CullOptions): CullOutput | undefined;
    /** Returns the result of the last call. Rejects like `readRayHits`. */
    readVisible(): Promise<Visible>;
    /** Frees the memory. Pending promises reject with `DisposedError`. Further calls do nothing. */
    dispose(): void;
}

const MOST_VIEWS = 32;
const MOST_PLANES = 8;
const VIEW_WORDS = 36;

function planesOf(name: string, view: View): ArrayLike<number> {
    const demandLength = (field: string, { length }: ArrayLike<number>, is: boolean, wanted: string): void => {
        if (!is) {
            throw new TypeError(`${name}.${field} has ${length} numbers, ${wanted} are needed`);
        }
    };
    if ("viewProjection" in view && view.viewProjection !== undefined) {
        demandNames(name, `${name}.`, view, ["viewProjection", "layers", "world"]);
        const matrix = view.viewProjection;
        demandLength("viewProjection", matrix, matrix.length === 16, "16");
        return planes_of(Float32Array.from(matrix));
    }
    demandNames(name, `${name}.`, view, ["planes", "layers", "world"]);
    if (!("planes" in view) || view.planes === undefined) {
        throw unfit(name, "an object with planes, an object with viewProjection");
    }
    const { length } = view.planes;
    demandLength("planes", view.planes, length % 4 === 0 && length <= 4 * MOST_PLANES, "up to 8 times 4");
    return view.planes;
}

/** Packs views into rows, or checks rows in a buffer. @internal */
export function viewRows(views: Views): Uint32Array | BufferRows {
    const demandCount = (count: number): void => {
        if (count > MOST_VIEWS) {
            throw new RangeError(`there are ${count} views, ${MOST_VIEWS} are the most`);
        }
    };
    if (Array.isArray(views)) {
        demandCount(views.length);
        const words = new Uint32Array(VIEW_WORDS * views.length);
        const floats = new Float32Array(words.buffer);
        (views as readonly View[]).forEach((view, row) => {
            const name = `views[${row}]`;
            const planes = planesOf(name, view);
            floats.set(planes, VIEW_WORDS * row);
            words[VIEW_WORDS * row + 32] = planes.length / 4;
            words[VIEW_WORDS * row + 33] = whole(`${name}.layers`, view.layers ?? 0xffffffff);
            words[VIEW_WORDS * row + 34] = whole(`${name}.world`, view.world ?? 0);
        });
        return words;
    }
    if (views instanceof ArrayBuffer) {
        const words = rowWords("views", views, 4 * VIEW_WORDS);
        demandCount(words.length / VIEW_WORDS);
        return words.slice();
    }
    const rows = views as BufferRows;
    demandNames("views", "views.", rows, ["buffer", "count", "offset"]);
    demandBuffer("views", rows.buffer);
    demandCount(whole("views.count", rows.count));
    const end = whole("views.offset", rows.offset ?? 0) + 4 * VIEW_WORDS * rows.count;
    if (end > rows.buffer.size) {
        throw new RangeError(`views.buffer has ${rows.buffer.size} bytes, ${end} are needed`);
    }
    return rows;
}

function setOptions(culler: Culler, options: CullOptions): void {
    demandNames("the second argument", "option ", options, ["listCapacity", "draw"]);
    const { listCapacity, draw } = options;
    let count: number | undefined;
    let isIndexed = false;
    if (draw !== undefined) {
        demandNames("draw", "option draw.", draw, ["vertices", "indices"]);
        isIndexed = "indices" in draw;
        count = "indices" in draw ? whole("draw.indices", draw.indices) : whole("draw.vertices", draw.vertices);
    }
    const capacity = listCapacity === undefined ? undefined : whole("listCapacity", listCapacity);
    culler.set_options(capacity, count, isIndexed);
}

/** Culling on the GPU. Created by `createCulling`. */
export class GpuCulling implements Culling {
    readonly #context: DeviceContext;
    readonly #hasStep: () => boolean;
    readonly #forget: () => void;
    readonly #life = new Life();
    readonly #culler = new Culler();
    #refusal: Promise<GPUError | undefined> | undefined;

    /** @internal */
    constructor(context: DeviceContext, hasStep: () => boolean, forget: () => void) {
        this.#context = context;
        this.#hasStep = hasStep;
        this.#forget = forget;
    }

    cull(views: Views, options: CullOptions = {}): CullOutput {
        this.#context.check();
        this.#life.check();
        demandMade("step", this.#hasStep());
        const { buffers, device, gpu } = this.#context;
        const culler = this.#culler;
        const rows = viewRows(views);
        setOptions(culler, options);
        const [, refusal] = scoped(device, () =>
            calling(() => {
                if (rows instanceof Uint32Array) {
                    culler.cull(gpu, rows);
                    return;
                }
                const buffer = buffers.get(rows.buffer);
                if (buffer === undefined) {
                    throw new TypeError("views.buffer was not made by createBuffer");
                }
                culler.cull_rows(gpu, buffer, rows.count, rows.offset ?? 0);
            }),
        );
        this.#refusal = refusal;
        const output = (which: CullBuffer): GPUBuffer | null => culler.output(which) ?? null;
        const lists = output(CullBuffer.Lists);
        return {
            visible: output(CullBuffer.Visible)!,
            words: culler.words(),
            lists: lists && { buffer: lists, offsets: output(CullBuffer.Offsets), capacity: culler.capacity() },
            draws: output(CullBuffer.Draws),
            counters: output(CullBuffer.Counters)!,
        };
    }

    readVisible(): Promise<Visible> {
        return this.#context.promised(() => this.#life.promised(() => this.#read()));
    }

    async #read(): Promise<Visible> {
        demandMade("cull", this.#refusal !== undefined);
        const reading = this.#culler.read(this.#context.gpu);
        reading.catch(() => {});
        const error = await this.#refusal;
        if (error !== undefined) {
            throw new DeviceError(`the device refused the culling: ${error.message}`);
        }
        return visibleOf(await reading);
    }

    dispose(): void {
        if (!this.#life.hasEnded) {
            this.#life.end(new DisposedError("the culling was disposed of"));
            this.#forget();
            this.#culler.free();
        }
    }
}
