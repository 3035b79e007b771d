import { SelfQueryKind, Part, Words } from "./wasm/gpu_broad_phase.js";
import { demandNames, oneOf, whole } from "./options.js";

/**
 * Rows in a GPU buffer. Buffers of `createBuffer` are read in place. Others are copied on the GPU, so they need
 * `GPUBufferUsage.COPY_SRC`.
 */
export interface BufferRows {
    /** A buffer on the device of the broad phase. */
    readonly buffer: GPUBuffer;
    /** Number of rows. */
    readonly count: number;
    /** Byte offset of the first row. Must be a multiple of 4. Default: 0. */
    readonly offset?: number;
    /** Bytes from one row to the next. Must be a multiple of 4. Default: the size of a row. */
    readonly stride?: number;
}

/** Boxes in a GPU buffer. */
export interface BufferBoxes extends BufferRows {
    /** Meaning of the two vectors of a box: its corners, or its centre and half extents. Default: `"min-max"`. */
    readonly form?: "min-max" | "center-half";
    /**
     * Word after each of the two vectors. `"filters"` (default): layers, then group. `"padding"`: ignored words.
     * `"none"`: no words. Packed rows have 32, 32 or 24 bytes.
     */
    readonly words?: "filters" | "padding" | "none";
}

/** Boxes in host arrays, with optional filters. */
export interface ArrayBoxes {
    /** Six floats per box: min x, y, z, then max x, y, z. */
    readonly boxes: Float32Array;
    /**
     * One word per box: its layers in the low 16 bits, its mask in the high 16 bits. Two boxes pair only if the mask of
     * each contains a layer of the other. Default: all layers.
     */
    readonly layers?: Uint32Array;
    /**
     * One word per box: a group (low 30 bits), and the flags `STATIC_OBJECT` and `EXCLUDED_OBJECT`. Boxes with the
     * same nonzero group never pair. Default: 0.
     */
    readonly groups?: Uint32Array;
}

/**
 * Boxes as one of these:
 * - `Float32Array`: six floats each (min x, y, z, max x, y, z)
 * - `ArrayBuffer`: rows of 32 bytes (min, layers, max, group)
 * - an object with host arrays, or with a GPU buffer
 *
 * Touching boxes overlap. Boxes with a NaN or min > max are ignored.
 */
export type Boxes = Float32Array | ArrayBuffer | ArrayBoxes | BufferBoxes;

/** Rays in host arrays, with optional attributes. */
export interface ArrayRays {
    /** Seven floats per ray: origin x, y, z, direction x, y, z, largest t. */
    readonly rays: Float32Array;
    /** One word per ray, with layers and mask as for boxes. Default: all layers. */
    readonly layers?: Uint32Array;
    /** Three floats per ray: half extents of a box that is swept along the ray. Default: 0. */
    readonly halfExtents?: Float32Array;
    /** Smallest t of each ray. Default: 0. */
    readonly tMin?: Float32Array;
    /** World of each ray. Needs the option `worlds`. Default: 0. */
    readonly worlds?: Uint32Array;
}

/** Rays in a GPU buffer, 32 bytes each: origin, largest t, direction, layers. */
export interface BufferRays extends BufferRows {
    /** True if rows have 64 bytes: a ray, then half extents, smallest t, world, and three unused words. */
    readonly swept?: boolean;
}

/**
 * Rays as one of these:
 * - `Float32Array`: seven floats each (origin x, y, z, direction x, y, z, largest t)
 * - `ArrayBuffer`: rows of 32 bytes (origin, largest t, direction, layers)
 * - an object with host arrays, or with a GPU buffer
 *
 * t is in units of the direction, which need not be normalized. The largest t may be `Infinity`.
 */
export type Rays = Float32Array | ArrayBuffer | ArrayRays | BufferRays;

/** One word per row, in an array or a GPU buffer. */
export type WordRows = Uint32Array | BufferRows;

/** Queries that find the objects overlapping a box. */
export interface BoxQueries {
    readonly boxes: Boxes;
    /** Number of nearest objects to find per box, at most 1,024. Default: all objects that overlap the box. */
    readonly nearest?: number;
}

/** Queries that find the objects within a sphere. */
export interface SphereQueries {
    /**
     * `Float32Array`: centre x, y, z and radius per sphere. `ArrayBuffer` or GPU buffer: rows of 48 bytes, each a box
     * of 32 bytes, radius, world, two unused words.
     */
    readonly spheres: Float32Array | ArrayBuffer | BufferRows;
    /** World of each sphere in a `Float32Array`. Needs the option `worlds`. Default: 0. */
    readonly worlds?: Uint32Array;
    /** Number of nearest objects to find per sphere, at most 1,024. Default: all objects within the sphere. */
    readonly nearest?: number;
}

/** Queries that find the objects overlapping boxes, or within spheres. */
export type Queries = BoxQueries | SphereQueries;

/** Finds the objects within a radius of each object, measured from the object's lower corner. Meant for points. */
export interface NeighborQuery {
    /** Largest distance. Must be finite and not negative. */
    readonly radius: number;
    /** True to list each pair once, for the object with the smaller index. Default: false. */
    readonly half?: boolean;
    /** Number of nearest objects to find per object, at most 1,024. Default: all objects within the radius. */
    readonly nearest?: number;
}

/** Finds the objects that overlap each object: the same pairs, but as one list per object. */
export interface PartnerQuery {
    /** True to list each pair once, for the object with the smaller index. Default: false. */
    readonly half?: boolean;
}

/** A count that is computed on the GPU and stored in a buffer. */
export interface DeviceCount {
    readonly buffer: GPUBuffer;
    /** Index of the count in the buffer, in words of 32 bits. Default: 0. */
    readonly word?: number;
}

/** Objects that seldom change and never pair with each other. They have the lowest object indices. */
export interface Statics {
    readonly objects: Boxes;
    /** Version of the static objects. Change it whenever they change. Default: 0. */
    readonly version?: number;
    /** World of each object, 0xffffffff for one in all. Required with several worlds, refused without `worlds`. */
    readonly worlds?: WordRows;
    /** Generation of each object, which distinguishes successive objects with the same index in events. */
    readonly generations?: WordRows;
}

/** Rays, and queries of one kind. */
export interface QueryInput {
    readonly rays?: Rays;
    /** Number of rays to cast, if it is computed on the GPU. */
    readonly rayCount?: DeviceCount;
    readonly queries?: Queries;
    /** Number of queries to run, if it is computed on the GPU. */
    readonly queryCount?: DeviceCount;
    /** Query for each object, instead of `queries`. */
    readonly neighbors?: NeighborQuery;
    /** Query for each object, instead of `queries`. */
    readonly partners?: PartnerQuery;
}

/** Input of a step. Host arrays are read before `step` returns. */
export interface StepInput extends QueryInput {
    /** The objects, without those in `statics`. */
    readonly objects: Boxes;
    /** Number of objects to use, from the first one on, if it is computed on the GPU. */
    readonly objectCount?: DeviceCount;
    /** World of each object, 0xffffffff for one in all. Required with several worlds, refused without `worlds`. */
    readonly worlds?: WordRows;
    /** Generation of each object, which distinguishes successive objects with the same index in events. */
    readonly generations?: WordRows;
    readonly statics?: Statics;
    /** Pairs to exclude, each as two object indices in either order. */
    readonly excludedPairs?: Uint32Array | BufferRows;
    /** Words that the `pairFilter` function can read. */
    readonly pairFilterData?: WordRows;
}

/** Group flag of an object that never pairs with another object that has it. */
export const STATIC_OBJECT = 0x40000000;
/** Group flag of an object to ignore. Combine flags with `>>> 0`, because JavaScript's `|` gives negative numbers. */
export const EXCLUDED_OBJECT = 0x80000000;
/** Object index of a ray without a hit. Also pads lists of nearest objects. */
export const NO_OBJECT = 0xffffffff;
const ALL_LAYERS = 0xffffffff;
const MOST_NEAREST = 1024;

const QUERY_NAMES = ["rays", "rayCount", "queries", "queryCount", "neighbors", "partners"];
const STEP_NAMES = [
    "objects",
    "objectCount",
    "worlds",
    "generations",
    "statics",
    "excludedPairs",
    "pairFilterData",
    ...QUERY_NAMES,
];
const STATICS_NAMES = ["objects", "version", "worlds", "generations"];
const BUFFER_NAMES = ["buffer", "count", "offset", "stride"];

/** Input rows on the host, packed for the device. @internal */
export interface HostRows {
    readonly part: Part;
    readonly count: number;
    readonly words: Float32Array | Uint32Array;
    /** True if rows are boxes of six floats, without words between. */
    readonly isTight: boolean;
}

/** Input rows in a GPU buffer. @internal */
export interface DeviceRows {
    readonly part: Part;
    readonly rows: BufferBoxes;
    /** Bytes of a row, without padding up to the stride. */
    readonly bytes: number;
    /** True if rows are boxes, whose layout is passed on. */
    readonly areBoxes: boolean;
}

/** Kind and options of an input's queries. @internal */
export interface Question {
    readonly selfQuery: SelfQueryKind;
    readonly radius: number;
    readonly half: boolean;
    readonly nearest: number | undefined;
}

/** An input, split into its rows. @internal */
export interface Parts {
    readonly host: HostRows[];
    readonly device: DeviceRows[];
    readonly counts: { readonly of: "objects" | "rays" | "queries"; readonly count: DeviceCount }[];
    areSwept: boolean;
    question: Question;
    /** Number of objects, without static ones. */
    objects: number;
    statics: number;
    staticVersion: number;
}

const NAMES: Record<Part, string> = {
    [Part.Objects]: "objects",
    [Part.Worlds]: "worlds",
    [Part.Generations]: "generations",
    [Part.Statics]: "statics.objects",
    [Part.StaticWorlds]: "statics.worlds",
    [Part.StaticGenerations]: "statics.generations",
    [Part.ExcludedPairs]: "excludedPairs",
    [Part.PairFilterData]: "pairFilterData",
    [Part.Rays]: "rays",
    [Part.Queries]: "queries",
};

/** Name of an input part in error messages. @internal */
export function nameOf(part: Part): string {
    return NAMES[part];
}

/** Names of GPU counts in error messages. @internal */
export const COUNT_NAMES = { objects: "objectCount", rays: "rayCount", queries: "queryCount" } as const;

function isBufferRows(input: object): input is BufferRows {
    return "buffer" in input && input.buffer !== undefined && !ArrayBuffer.isView(input);
}

/** Throws if the buffer is detached, for example after a transfer to a worker. */
function demandAttached(name: string, buffer: ArrayBufferLike): void {
    try {
        new Uint8Array(buffer);
    } catch {
        throw new TypeError(`${name} is detached: its rows were transferred`);
    }
}

/** Number of rows in `array`, with `values` values each. Throws if the last row is incomplete. */
function rowsOf(name: string, array: Float32Array | Uint32Array, values: number): number {
    if (array.length === 0) {
        demandAttached(name, array.buffer);
    }
    if (array.length % values !== 0) {
        throw new TypeError(`${name} has ${array.length} values, which is not a multiple of ${values}`);
    }
    return array.length / values;
}

/** Rows of `bytes` bytes as words. @internal */
export function rowWords(name: string, rows: ArrayBuffer, bytes: number): Uint32Array {
    demandAttached(name, rows);
    if (rows.byteLength % bytes !== 0) {
        throw new TypeError(`${name} has ${rows.byteLength} bytes, which is not a multiple of ${bytes}`);
    }
    return new Uint32Array(rows);
}

/** @internal */
export function demandBuffer(name: string, buffer: unknown): void {
    if (typeof GPUBuffer === "undefined" || !(buffer instanceof GPUBuffer)) {
        throw new TypeError(`${name}.buffer is no GPUBuffer`);
    }
}

function demand(name: string, array: unknown, type: typeof Float32Array | typeof Uint32Array): void {
    if (!(array instanceof type)) {
        throw new TypeError(`${name} is no ${type.name}`);
    }
}

/** Throws unless an array has `values` values for each of `rows` rows. */
function perRow(
    name: string,
    array: ArrayLike<number> | undefined,
    type: typeof Float32Array | typeof Uint32Array,
    values: number,
    rows: number,
): void {
    if (array === undefined) {
        return;
    }
    demand(name, array, type);
    if (array.length !== values * rows) {
        throw new TypeError(`${name} has ${array.length} values, ${values * rows} are needed for ${rows} rows`);
    }
}

/** @internal */
export function unfit(name: string, known: string): TypeError {
    return new TypeError(`${name} is none of these: ${known}`);
}

/** Packs boxes into rows of 32 bytes: min, layers, max, group. */
function packedBoxes(
    boxes: Float32Array,
    layers: Uint32Array | undefined,
    groups: Uint32Array | undefined,
): Uint32Array {
    const count = boxes.length / 6;
    const floats = new Float32Array(8 * count);
    const words = new Uint32Array(floats.buffer);
    for (let row = 0; row < count; row += 1) {
        const [from, to] = [6 * row, 8 * row];
        floats[to] = boxes[from]!;
        floats[to + 1] = boxes[from + 1]!;
        floats[to + 2] = boxes[from + 2]!;
        words[to + 3] = layers?.[row] ?? ALL_LAYERS;
        floats[to + 4] = boxes[from + 3]!;
        floats[to + 5] = boxes[from + 4]!;
        floats[to + 6] = boxes[from + 5]!;
        words[to + 7] = groups?.[row] ?? 0;
    }
    return words;
}

class Collector {
    /** Number of worlds, or `undefined` without this option. */
    readonly #worlds: number | undefined;
    readonly parts: Parts = {
        host: [],
        device: [],
        counts: [],
        areSwept: false,
        question: { selfQuery: SelfQueryKind.Boxes, radius: 0, half: false, nearest: undefined },
        objects: 0,
        statics: 0,
        staticVersion: 0,
    };

    constructor(worlds: number | undefined) {
        this.#worlds = worlds;
    }

    device(part: Part, rows: BufferRows, bytes: number, name = nameOf(part), areBoxes = false): number {
        demandBuffer(name, rows.buffer);
        const { count, offset = 0, stride = bytes } = rows;
        whole(`${name}.count`, count);
        for (const [field, value] of [
            ["offset", offset],
            ["stride", stride],
        ] as const) {
            if (whole(`${name}.${field}`, value) % 4 !== 0) {
                throw new RangeError(`${name}.${field} is ${value}, which is not a multiple of 4`);
            }
        }
        if (stride < bytes) {
            throw new RangeError(`${name}.stride is ${stride}, a row has ${bytes} bytes`);
        }
        const end = count === 0 ? 0 : offset + (count - 1) * stride + bytes;
        if (end > rows.buffer.size) {
            throw new RangeError(`${name}.buffer has ${rows.buffer.size} bytes, ${end} are needed`);
        }
        if (count > 0) {
            this.parts.device.push({ part, rows, bytes, areBoxes });
        }
        return count;
    }

    host(part: Part, words: Float32Array | Uint32Array, count: number, isTight = false): number {
        if (count > 0) {
            this.parts.host.push({ part, words, count, isTight });
        }
        return count;
    }

    boxes(part: Part, boxes: Boxes, name = nameOf(part)): number {
        if (boxes instanceof Float32Array) {
            return this.host(part, boxes, rowsOf(name, boxes, 6), true);
        }
        if (boxes instanceof ArrayBuffer) {
            return this.host(part, rowWords(name, boxes, 32), boxes.byteLength / 32);
        }
        if (typeof boxes === "object" && boxes !== null && isBufferRows(boxes)) {
            demandNames(name, `${name}.`, boxes, [...BUFFER_NAMES, "form", "words"]);
            oneOf(`${name}.form`, boxes.form ?? "min-max", ["min-max", "center-half"]);
            const words = oneOf(`${name}.words`, boxes.words ?? "filters", ["filters", "padding", "none"]);
            return this.device(part, boxes, words === "none" ? 24 : 32, name, true);
        }
        if (typeof boxes === "object" && boxes !== null && "boxes" in boxes && boxes.boxes !== undefined) {
            demandNames(name, `${name}.`, boxes, ["boxes", "layers", "groups"]);
            demand(`${name}.boxes`, boxes.boxes, Float32Array);
            const count = rowsOf(`${name}.boxes`, boxes.boxes, 6);
            perRow(`${name}.layers`, boxes.layers, Uint32Array, 1, count);
            perRow(`${name}.groups`, boxes.groups, Uint32Array, 1, count);
            if (boxes.layers === undefined && boxes.groups === undefined) {
                return this.host(part, boxes.boxes, count, true);
            }
            return this.host(part, packedBoxes(boxes.boxes, boxes.layers, boxes.groups), count);
        }
        throw unfit(name, "a Float32Array, an ArrayBuffer, an object with boxes, an object with buffer and count");
    }

    words(part: Part, words: WordRows | undefined, values = 1): number {
        const name = nameOf(part);
        if (words === undefined) {
            return 0;
        }
        if (words instanceof Uint32Array) {
            return this.host(part, words, rowsOf(name, words, values));
        }
        if (typeof words === "object" && words !== null && isBufferRows(words)) {
            demandNames(name, `${name}.`, words, BUFFER_NAMES);
            return this.device(part, words, 4 * values);
        }
        throw unfit(name, "a Uint32Array, an object with buffer and count");
    }

    /** Adds one word per object. Throws if their number differs. */
    wordsOf(part: Part, words: WordRows | undefined, objects: number): void {
        const count = this.words(part, words);
        if (words !== undefined && count !== objects) {
            throw new TypeError(`${nameOf(part)} has ${count} values, ${objects} are needed for ${objects} objects`);
        }
    }

    /** Throws if worlds are passed without the option `worlds`. */
    demandWorlds(name: string, words: WordRows | undefined): void {
        if (words === undefined || (this.#worlds ?? 1) > 1) {
            return;
        }
        if (this.#worlds === undefined) {
            throw new TypeError(`${name} needs the option worlds, which says how many there are`);
        }
        const other = words instanceof Uint32Array ? words.find((world) => world !== 0) : undefined;
        if (other !== undefined) {
            throw new RangeError(`${name} has the world ${other}, the option worlds is 1`);
        }
    }

    rays(rays: Rays): void {
        const part = Part.Rays;
        if (rays instanceof Float32Array) {
            this.host(part, packedRays({ rays }, 8), rowsOf("rays", rays, 7));
        } else if (rays instanceof ArrayBuffer) {
            this.host(part, rowWords("rays", rays, 32), rays.byteLength / 32);
        } else if (typeof rays === "object" && rays !== null && isBufferRows(rays)) {
            demandNames("rays", "rays.", rays, [...BUFFER_NAMES, "swept"]);
            this.parts.areSwept = rays.swept ?? false;
            this.device(part, rays, this.parts.areSwept ? 64 : 32);
        } else if (typeof rays === "object" && rays !== null && "rays" in rays && rays.rays !== undefined) {
            demandNames("rays", "rays.", rays, ["rays", "layers", "halfExtents", "tMin", "worlds"]);
            demand("rays.rays", rays.rays, Float32Array);
            const count = rowsOf("rays.rays", rays.rays, 7);
            perRow("rays.layers", rays.layers, Uint32Array, 1, count);
            perRow("rays.halfExtents", rays.halfExtents, Float32Array, 3, count);
            perRow("rays.tMin", rays.tMin, Float32Array, 1, count);
            perRow("rays.worlds", rays.worlds, Uint32Array, 1, count);
            this.demandWorlds("rays.worlds", rays.worlds);
            this.parts.areSwept = [rays.halfExtents, rays.tMin, rays.worlds].some((array) => array !== undefined);
            this.host(part, packedRays(rays, this.parts.areSwept ? 16 : 8), count);
        } else {
            throw unfit("rays", "a Float32Array, an ArrayBuffer, an object with rays, an object with buffer and count");
        }
    }

    spheres({ spheres, worlds }: SphereQueries): void {
        const [part, name] = [Part.Queries, "queries.spheres"];
        if (worlds !== undefined && !(spheres instanceof Float32Array)) {
            throw new TypeError("queries.worlds are for spheres of four floats: other rows have their world in them");
        }
        if (spheres instanceof Float32Array) {
            const count = rowsOf(name, spheres, 4);
            perRow("queries.worlds", worlds, Uint32Array, 1, count);
            this.demandWorlds("queries.worlds", worlds);
            this.host(part, packedSpheres(spheres, worlds), count);
        } else if (spheres instanceof ArrayBuffer) {
            this.host(part, rowWords(name, spheres, 48), spheres.byteLength / 48);
        } else if (typeof spheres === "object" && spheres !== null && isBufferRows(spheres)) {
            demandNames(name, `${name}.`, spheres, BUFFER_NAMES);
            this.device(part, spheres, 48, name);
        } else {
            throw unfit(name, "a Float32Array, an ArrayBuffer, an object with buffer and count");
        }
    }

    count(of: "objects" | "rays" | "queries", count: DeviceCount | undefined): void {
        if (count !== undefined) {
            const name = COUNT_NAMES[of];
            demandNames(name, `${name}.`, count, ["buffer", "word"]);
            demandBuffer(name, count.buffer);
            const end = 4 * (whole(`${name}.word`, count.word ?? 0) + 1);
            if (end > count.buffer.size) {
                throw new RangeError(`${name}.buffer has ${count.buffer.size} bytes, ${end} are needed`);
            }
            this.parts.counts.push({ of, count });
        }
    }

    asked(input: QueryInput): void {
        const kinds = (["queries", "neighbors", "partners"] as const).filter((kind) => input[kind] !== undefined);
        if (kinds.length > 1) {
            throw new TypeError(`a step has queries of one kind, not ${kinds.join(" and ")}`);
        }
        if (input.rays !== undefined) {
            this.rays(input.rays);
        }
        this.count("rays", input.rayCount);
        this.count("queries", input.queryCount);
        const { queries, neighbors, partners } = input;
        const question = { selfQuery: SelfQueryKind.Boxes, radius: 0, half: false, nearest: undefined as number | undefined };
        if (queries !== undefined) {
            demandNames("queries", "queries.", queries, ["boxes", "spheres", "worlds", "nearest"]);
            if ("boxes" in queries && queries.boxes !== undefined) {
                demandNames("queries", "queries.", queries, ["boxes", "nearest"]);
                this.boxes(Part.Queries, queries.boxes, "queries.boxes");
            } else if ("spheres" in queries && queries.spheres !== undefined) {
                question.selfQuery = SelfQueryKind.Spheres;
                this.spheres(queries);
            } else {
                throw unfit("queries", "an object with boxes, an object with spheres");
            }
            question.nearest = queries.nearest;
        } else if (neighbors !== undefined) {
            demandNames("neighbors", "neighbors.", neighbors, ["radius", "half", "nearest"]);
            question.selfQuery = SelfQueryKind.Neighbors;
            question.radius = Math.fround(neighbors.radius);
            if (!(question.radius >= 0 && question.radius < Infinity)) {
                throw new RangeError(`neighbors.radius is ${neighbors.radius}, a finite length is needed`);
            }
            question.half = neighbors.half ?? false;
            question.nearest = neighbors.nearest;
        } else if (partners !== undefined) {
            demandNames("partners", "partners.", partners, ["half"]);
            question.selfQuery = SelfQueryKind.Partners;
            question.half = partners.half ?? false;
        }
        const { nearest } = question;
        if (nearest !== undefined && (whole("nearest", nearest) < 1 || nearest > MOST_NEAREST)) {
            throw new RangeError(`nearest is ${nearest}, it can be 1 to ${MOST_NEAREST}`);
        }
        this.parts.question = question;
    }
}

function packedRays({ rays, layers, halfExtents, tMin, worlds }: ArrayRays, stride: 8 | 16): Uint32Array {
    const count = Math.floor(rays.length / 7);
    const floats = new Float32Array(stride * count);
    const words = new Uint32Array(floats.buffer);
    for (let row = 0; row < count; row += 1) {
        const to = stride * row;
        for (let axis = 0; axis < 3; axis += 1) {
            floats[to + axis] = rays[7 * row + axis]!;
            floats[to + 4 + axis] = rays[7 * row + 3 + axis]!;
        }
        floats[to + 3] = rays[7 * row + 6]!;
        words[to + 7] = layers?.[row] ?? ALL_LAYERS;
        if (stride === 16) {
            for (let axis = 0; axis < 3; axis += 1) {
                floats[to + 8 + axis] = halfExtents?.[3 * row + axis] ?? 0;
            }
            floats[to + 11] = tMin?.[row] ?? 0;
            words[to + 12] = worlds?.[row] ?? 0;
        }
    }
    return words;
}

function packedSpheres(spheres: Float32Array, worlds: Uint32Array | undefined): Uint32Array {
    const count = spheres.length / 4;
    const floats = new Float32Array(12 * count);
    const words = new Uint32Array(floats.buffer);
    for (let row = 0; row < count; row += 1) {
        const to = 12 * row;
        for (let axis = 0; axis < 3; axis += 1) {
            floats[to + axis] = floats[to + 4 + axis] = spheres[4 * row + axis]!;
        }
        words[to + 3] = ALL_LAYERS;
        floats[to + 8] = spheres[4 * row + 3]!;
        words[to + 9] = worlds?.[row] ?? 0;
    }
    return words;
}

/** Splits the input of a query into its rows. @internal */
export function partsOfQuery(input: QueryInput, worlds: number | undefined): Parts {
    demandNames("the input of query", "input ", input, QUERY_NAMES);
    const collector = new Collector(worlds);
    collector.asked(input);
    return collector.parts;
}

/** Splits the input of a step into its rows. @internal */
export function partsOfStep(input: StepInput, worlds: number | undefined): Parts {
    demandNames("the input of step", "input ", input, STEP_NAMES);
    const collector = new Collector(worlds);
    const { parts } = collector;
    parts.objects = collector.boxes(Part.Objects, input.objects);
    collector.count("objects", input.objectCount);
    collector.wordsOf(Part.Worlds, input.worlds, parts.objects);
    collector.demandWorlds("worlds", input.worlds);
    collector.wordsOf(Part.Generations, input.generations, parts.objects);
    const statics = input.statics;
    if (statics !== undefined) {
        demandNames("statics", "statics.", statics, STATICS_NAMES);
        parts.statics = collector.boxes(Part.Statics, statics.objects);
        parts.staticVersion = whole("statics.version", statics.version ?? 0);
        collector.wordsOf(Part.StaticWorlds, statics.worlds, parts.statics);
        collector.demandWorlds("statics.worlds", statics.worlds);
        collector.wordsOf(Part.StaticGenerations, statics.generations, parts.statics);
    }
    if (worlds !== undefined && worlds > 1) {
        const missing =
            parts.objects > 0 && input.worlds === undefined
                ? "worlds"
                : parts.statics > 0 && statics?.worlds === undefined
                  ? "statics.worlds"
                  : undefined;
        if (missing !== undefined) {
            throw new TypeError(`${missing} is missing: there are ${worlds} worlds`);
        }
    }
    collector.words(Part.ExcludedPairs, input.excludedPairs, 2);
    collector.words(Part.PairFilterData, input.pairFilterData);
    collector.asked(input);
    return parts;
}

/** Converts rows to words, and boxes to 32 bytes each, for the CPU. @internal */
export function asWords({ words, isTight }: HostRows): Uint32Array {
    if (isTight) {
        return packedBoxes(words as Float32Array, undefined, undefined);
    }
    return words instanceof Uint32Array ? words : new Uint32Array(words.buffer, words.byteOffset, words.length);
}

const WORDS_KINDS = { filters: Words.Filters, padding: Words.Padding, none: Words.Nothing };

/** Converts the option `words` of boxes in a buffer. @internal */
export function wordsKind({ words = "filters" }: BufferBoxes): Words {
    return WORDS_KINDS[words];
}
