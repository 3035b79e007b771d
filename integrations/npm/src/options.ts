import { translated } from "./errors.js";
import { RayModeKind, SchemeKind, Settings } from "./wasm/gpu_broad_phase.js";

/**
 * How objects are put into cells. Every scheme gives the same answer; they differ in speed.
 *
 * - `"hierarchical"` has levels by size and nothing to tune. When in doubt, take it.
 * - `"uniform"` enters each object into every cell of one size that it covers.
 * - `"adaptive"` has half-shifted power-of-two layers, the finest with cells of `minScale`.
 */
export type Scheme =
    | "hierarchical"
    | { readonly type: "uniform"; readonly cellSize: number }
    | { readonly type: "adaptive"; readonly minScale: number };

/**
 * Which hits of a ray are wanted: the closest, every object that the ray meets, or whether it meets anything.
 */
export type RayMode = "closest" | "all" | "any";

/**
 * In which order pairs, hits of a ray and results of a query come. `"deterministic"` depends on the input and the
 * device alone. `"sorted"` is ascending, the same on every device and on the CPU, and costs two sorts.
 */
export type PairOrder = "deterministic" | "sorted";

/** How many rows outputs have room for at first. They grow by themselves. */
export interface Capacities {
    /** Pairs, 8 bytes each. Default: four per object. */
    readonly pairs?: number;
    /** Hits of rays with the mode `"all"`, 8 bytes each. */
    readonly hits?: number;
    /** Cell entries of the scheme `"uniform"`, about 24 bytes each. */
    readonly entries?: number;
    /** Results of queries, 4 bytes each. */
    readonly results?: number;
    /** Dispatches that each walk is cut into, for very crowded scenes. At most 4,096. Default: 1. */
    readonly rounds?: number;
}

/** What is asked of rays and queries, and where it goes. */
export interface QueryOptions {
    /** Which hits are wanted. Default: `"closest"`. */
    readonly rayMode?: RayMode;
    /** In which order pairs, hits and results come. Default: `"deterministic"`. */
    readonly pairOrder?: PairOrder;
    /** Rows that there is room for at first. */
    readonly capacities?: Capacities;
    /** Bytes that the buffers may have together. Without it there is no limit but that of the device. */
    readonly maxBytes?: number;
}

/** What a broad phase is made from, on the GPU or on the CPU. */
export interface CommonOptions extends QueryOptions {
    /** How objects are put into cells. Default: `"hierarchical"`. */
    readonly scheme?: Scheme;
    /** How many axes count. With 2, z is not looked at. Default: 3. */
    readonly dimensions?: 2 | 3;
    /** Every box is grown by this on every side; in the units of the boxes. Default: 0. */
    readonly margin?: number;
    /** Periods of the axes, 0 where an axis has none. Only `neighbors` look across the border. Default: none. */
    readonly periods?: readonly [number, number, number];
    /** How many worlds there are, whose objects never meet. With more than one, a step needs `worlds`. Default: 1. */
    readonly worlds?: number;
    /** Whether pairs are wanted. Default: true. */
    readonly pairs?: boolean;
    /** Whether layers and owners are looked at. Default: true. */
    readonly filters?: boolean;
    /** Whether `readEvents` tells which pairs begin and end. Default: false. */
    readonly events?: boolean;
}

/** What a broad phase on the GPU is made from. */
export interface GpuOptions extends CommonOptions {
    readonly cpu?: false;
    /**
     * WGSL that says which objects may pair: `fn admits_pair(a: u32, b: u32) -> bool`. Other names of the text begin
     * with `admits_`. It may call `pair_data(index)`, `pair_data_count()`, `pair_layers(object)` and
     * `pair_owner(object)`.
     */
    readonly pairFilter?: string;
    /** Which adapter is preferred, as in WebGPU. */
    readonly powerPreference?: "low-power" | "high-performance";
    /** Features that the device has to have beyond those of the broad phase, such as for a renderer. */
    readonly requiredFeatures?: Iterable<GPUFeatureName>;
    /** Limits that the device has to have beyond those of the broad phase, by their names in WebGPU. */
    readonly requiredLimits?: Readonly<Record<string, number>>;
}

/** What a broad phase on the CPU is made from. */
export interface CpuOptions extends CommonOptions {
    readonly cpu: true;
}

const QUERY_OPTIONS = ["rayMode", "pairOrder", "capacities", "maxBytes"];
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
    "powerPreference",
    "requiredFeatures",
    "requiredLimits",
];
const CAPACITIES = ["pairs", "hits", "entries", "results", "rounds"] as const;

/** A value that is one of those that are known. @internal */
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

/** A whole number of 32 bits. @internal */
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
 * Demands an object with no names but the known ones. `undefined` stands for what is left out.
 *
 * @param prefix What comes before a name in a message.
 * @internal
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

/** The options that are given: `undefined` stands for one that is left out. */
function given<T extends object>(options: T, known: readonly string[]): T {
    demandNames("the argument", "option ", options, known);
    return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}

/** The options that a broad phase is made from. @internal */
export function givenOptions<T extends CommonOptions>(options: T): T {
    return given(options, OPTIONS);
}

/** The options of a set of queries: those that are left out are those of the broad phase. @internal */
export function optionsOfSet(broadPhase: CommonOptions, options: QueryOptions): CommonOptions {
    return { ...broadPhase, ...given(options, QUERY_OPTIONS) };
}

/** The settings of the module for these options. @internal */
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
        oneOf("pairOrder", options.pairOrder ?? "deterministic", ["deterministic", "sorted"]) === "sorted";
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
