import { translated } from "./errors.js";
import { RayModeKind, SchemeKind, Settings } from "./wasm/gpu_broad_phase.js";

/**
 * Grid scheme. All schemes give the same results, at different speed.
 *
 * - `"hierarchical"` has levels by size, and nothing to tune. Use it when in doubt.
 * - `"uniform"` has cells of one size, and enters each object into every cell it covers.
 * - `"adaptive"` has layers of power-of-two cells, shifted by half a cell. `minScale` is the finest cell edge.
 */
export type Scheme =
    | "hierarchical"
    | { readonly type: "uniform"; readonly cellSize: number }
    | { readonly type: "adaptive"; readonly minScale: number };

/** Hits to find per ray: the closest one, all of them, or only whether one exists. */
export type RayMode = "closest" | "all" | "any";

/**
 * Order of pairs, of a ray's hits and of a query's results. `"deterministic"` depends only on the input and the device.
 * `"sorted"` is ascending, the same on every device and on the CPU, and costs two more sorts.
 */
export type ResultOrder = "deterministic" | "sorted";

/** Initial capacities of outputs, in rows. Outputs grow automatically. */
export interface Capacities {
    /** Capacity for pairs, 8 bytes each. Default: four per object. */
    readonly pairs?: number;
    /** Capacity for hits of the ray mode `"all"`, 8 bytes each. */
    readonly hits?: number;
    /** Capacity for cell entries of the scheme `"uniform"`, about 24 bytes each. */
    readonly entries?: number;
    /** Capacity for query results, 4 bytes each. */
    readonly results?: number;
    /** Number of dispatches per walk, for very crowded scenes. At most 4,096. Default: 1. */
    readonly rounds?: number;
}

/** Options of rays and queries. */
export interface QueryOptions {
    /** Hits to find per ray. Default: `"closest"`. */
    readonly rayMode?: RayMode;
    /** Order of pairs, hits and results. Default: `"deterministic"`. */
    readonly order?: ResultOrder;
    /** Initial capacities of outputs. */
    readonly capacities?: Capacities;
    /** Limit on the bytes of a step's buffers. A step that needs more throws. Default: only the device's limits. */
    readonly maxBytes?: number;
}

/** Options of a broad phase on the GPU or on the CPU. */
export interface CommonOptions extends QueryOptions {
    /** Grid scheme. Default: `"hierarchical"`. */
    readonly scheme?: Scheme;
    /** Number of axes. With 2, z is ignored. Default: 3. */
    readonly dimensions?: 2 | 3;
    /** Distance by which every box grows on every side. Default: 0. */
    readonly margin?: number;
    /** Period of each axis, or 0 for an axis that is not periodic. Used only by `neighbors`. Default: 0. */
    readonly periods?: readonly [number, number, number];
    /** Number of worlds. Objects of different worlds never pair. With several, a step needs `worlds`. Default: 1. */
    readonly worlds?: number;
    /** False to find no pairs. Default: true. */
    readonly pairs?: boolean;
    /** False to ignore layers and groups. Default: true. */
    readonly filters?: boolean;
    /** True to enable `readEvents`. Default: false. */
    readonly events?: boolean;
}

/** Options of a broad phase on the GPU. */
export interface GpuOptions extends CommonOptions {
    readonly cpu?: false;
    /** A device to use, such as a renderer's. `dispose` leaves it as it is. Default: a new device. */
    readonly device?: GPUDevice;
    /**
     * WGSL function `fn admits_pair(a: u32, b: u32) -> bool` that returns whether two objects may pair. Its other names
     * must begin with `admits_`. It may call `pair_data(index)`, `pair_data_count()`, `pair_layers(object)` and
     * `pair_group(object)`.
     */
    readonly pairFilter?: string;
    /** Preferred kind of adapter, as in WebGPU. */
    readonly powerPreference?: "low-power" | "high-performance";
    /** Additional device features, for example for a renderer. */
    readonly requiredFeatures?: Iterable<GPUFeatureName>;
    /** Additional device limits, by their WebGPU names. */
    readonly requiredLimits?: Readonly<Record<string, number>>;
}

/** Options of a broad phase on the CPU. */
export interface CpuOptions extends CommonOptions {
    readonly cpu: true;
}

const QUERY_OPTIONS = ["rayMode", "order", "capacities", "maxBytes"];
/** Options of a new device. */
const OF_DEVICE = ["powerPreference", "requiredFeatures", "requiredLimits"];
const OPTIONS = [
    ...QUERY_OPTIONS,
    "scheme",
    "dimensions",
    "margin",
    "periods",
    "worlds",
    "pairs",
    "filters",
    "events",
    "cpu",
    "pairFilter",
    "device",
    ...OF_DEVICE,
];
const CAPACITIES = ["pairs", "hits", "entries", "results", "rounds"] as const;

/** Returns `value` if it is one of `known`, and throws otherwise. @internal */
export function oneOf<T>(name: string, value: unknown, known: readonly T[]): T {
    if (!known.includes(value as T)) {
        throw new TypeError(
            `${name} is ${JSON.stringify(value)}; it can be ${known.map((one) => JSON.stringify(one)).join(", ")}`,
        );
    }
    return value as T;
}

function numeric(name: string, value: unknown): number {
    if (typeof value !== "number") {
        throw new TypeError(`${name} is ${typeof value}, a number is needed`);
    }
    return value;
}

/** Returns `value` if it is an integer of 32 bits, and throws otherwise. @internal */
export function whole(name: string, value: unknown): number {
    const number = numeric(name, value);
    if (!Number.isInteger(number) || number < 0 || number > 0xffffffff) {
        throw new RangeError(`${name} is ${number}, a whole number from 0 to ${0xffffffff} is needed`);
    }
    return number;
}

function kindOf(value: unknown): string {
    return typeof value === "object" && value !== null ? (value.constructor?.name ?? "object") : String(value);
}

/**
 * Throws unless `object` is an object with `known` properties. Properties that are `undefined` are ignored.
 *
 * @param prefix Text before a name in error messages. @internal
 */
export function demandNames(what: string, prefix: string, object: unknown, known: readonly string[]): void {
    if (typeof object !== "object" || object === null || Array.isArray(object) || ArrayBuffer.isView(object)) {
        throw new TypeError(`${what} is ${kindOf(object)}, an object is needed that may have ${known.join(", ")}`);
    }
    for (const [name, value] of Object.entries(object)) {
        if (value !== undefined && !known.includes(name)) {
            throw new TypeError(`there is no ${prefix}${name}`);
        }
    }
}

/** Returns the options without those that are `undefined`. Throws for unknown options. */
function given<T extends object>(options: T, known: readonly string[]): T {
    demandNames("the argument", "option ", options, known);
    return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}

/** Returns the checked options of a broad phase. @internal */
export function checkedOptions<T extends CommonOptions>(options: T): T {
    const found = given(options, OPTIONS);
    const other = "device" in found ? OF_DEVICE.find((name) => name in found) : undefined;
    if (other !== undefined) {
        throw new TypeError(`${other} is for a new device, and device is given`);
    }
    return found;
}

/** Returns the options of a query set, with defaults from its broad phase. @internal */
export function optionsOfSet(broadPhase: CommonOptions, options: QueryOptions): CommonOptions {
    return { ...broadPhase, ...given(options, QUERY_OPTIONS) };
}

/** Converts options to settings of the WebAssembly module. @internal */
export function settingsOf(options: CommonOptions & { readonly pairFilter?: string }): Settings {
    const settings = new Settings();
    try {
        set(settings, options);
        settings.check();
    } catch (error) {
        settings.free();
        throw translated(error);
    }
    return settings;
}

function set(settings: Settings, options: CommonOptions & { readonly pairFilter?: string }): void {
    const scheme = options.scheme ?? "hierarchical";
    if (scheme !== "hierarchical") {
        demandNames("scheme", "option scheme.", scheme, ["type", "cellSize", "minScale"]);
        if (oneOf("scheme.type", scheme.type, ["uniform", "adaptive"] as const) === "uniform") {
            settings.scheme = SchemeKind.Uniform;
            settings.scale = numeric("scheme.cellSize", (scheme as { cellSize: number }).cellSize);
        } else {
            settings.scheme = SchemeKind.Adaptive;
            settings.scale = numeric("scheme.minScale", (scheme as { minScale: number }).minScale);
        }
    }
    settings.is_flat = oneOf("dimensions", options.dimensions ?? 3, [2, 3]) === 2;
    settings.margin = numeric("margin", options.margin ?? 0);
    const periods = options.periods ?? [0, 0, 0];
    if (periods.length !== 3) {
        throw new TypeError(`periods has ${periods.length} numbers, 3 are needed`);
    }
    [settings.period_x, settings.period_y, settings.period_z] = periods;
    settings.worlds = whole("worlds", options.worlds ?? 1);
    settings.pairs = options.pairs ?? true;
    settings.filters = options.filters ?? true;
    settings.is_sorted =
        oneOf("order", options.order ?? "deterministic", ["deterministic", "sorted"]) === "sorted";
    const modes = { closest: RayModeKind.Closest, all: RayModeKind.All, any: RayModeKind.Any };
    settings.ray_mode = modes[oneOf("rayMode", options.rayMode ?? "closest", ["closest", "all", "any"] as const)];
    if (options.capacities !== undefined) {
        demandNames("capacities", "option capacities.", options.capacities, CAPACITIES);
    }
    for (const name of CAPACITIES) {
        const capacity = options.capacities?.[name];
        if (capacity !== undefined) {
            settings[`capacity_${name}`] = whole(`capacities.${name}`, capacity);
        }
    }
    if (options.maxBytes !== undefined) {
        settings.max_bytes = numeric("maxBytes", options.maxBytes);
    }
    if (options.pairFilter !== undefined) {
        settings.set_pair_filter(options.pairFilter);
    }
    if ((options.events ?? false) && !settings.pairs) {
        throw new TypeError("events need pairs, and pairs is false");
    }
}
