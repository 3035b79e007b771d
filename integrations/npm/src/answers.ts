import type { VisibleAnswer } from "./wasm/gpu_broad_phase.js";

/** Counters of a step. */
export interface Counters {
    /** Number of input objects, static and ignored ones included. */
    readonly objects: number;
    /** Number of objects ignored because of a NaN or min > max. */
    readonly invalid: number;
    /** Number of objects ignored because of the flag `EXCLUDED_OBJECT`. */
    readonly excluded: number;
    /** Number of infinite or very large objects, which fit no cell. All other objects are tested against them. */
    readonly large: number;
    /** Number of grid levels with objects; 0 on the CPU. */
    readonly levels: number;
    /** Number of cells in the table; 0 on the CPU. */
    readonly tableCells: number;
    /** Number of cell entries of moving objects. */
    readonly entriesNeeded: number;
    /** Number of pairs found. */
    readonly pairsNeeded: number;
    /** Number of hits found, in the ray mode `"all"`. */
    readonly hitsNeeded: number;
    /** Number of query results found. */
    readonly resultsNeeded: number;
    /** Number of rays ignored because of a NaN, an infinity, an overlong direction or a nonexistent world. */
    readonly raysInvalid: number;
    /** Number of queries ignored because of a NaN, min > max, a negative radius or a nonexistent world. */
    readonly queriesInvalid: number;
    /** Number of dispatches that the longest walk through cells needs. */
    readonly roundsNeeded: number;
    /** Names of outputs that overflowed. Empty if the result is complete. */
    readonly missing: readonly Missing[];
}

/** Names of outputs that may overflow. */
export type Missing = "entries" | "pairs" | "hits" | "rounds" | "results" | "loops";

/** Hits of rays. The ray mode decides which arrays are filled; the others are empty. */
export interface RayHits {
    /** `"closest"`: one object index per ray, or `NO_OBJECT`. `"all"`: the object indices of all hits, ray by ray. */
    readonly objects: Uint32Array;
    /** Ray parameter of each hit, in units of the ray's direction. `Infinity` for a ray without a hit. */
    readonly t: Float32Array;
    /** `"all"`: ray r has the hits `offsets[r]` to `offsets[r + 1] - 1`. Length: rays + 1. */
    readonly offsets: Uint32Array;
    /** `"any"`: 1 for each ray with a hit, else 0. */
    readonly any: Uint32Array;
}

/** Results of queries. */
export interface QueryResults {
    /** Indices of found objects, query by query. With `nearest`: `nearest` per query, padded with `NO_OBJECT`. */
    readonly objects: Uint32Array;
    /** Without `nearest`: query q found the objects `offsets[q]` to `offsets[q + 1] - 1`. Length: queries + 1. */
    readonly offsets: Uint32Array;
    /** With `nearest`: squared distance of each found object, smallest first per query. */
    readonly squaredDistances: Float32Array;
}

/**
 * Pairs that began or ended between the previous step and this one. Each pair has four words: index and generation of
 * the first object, then of the second. Static objects have the flag `STATIC_NAME` in their index. Static and other
 * objects are numbered separately, each from 0.
 */
export interface PairEvents {
    readonly begun: Uint32Array;
    readonly ended: Uint32Array;
}

/** Flag in the index of a static object in `PairEvents`. */
export const STATIC_NAME = 0x80000000;

const MISSING: readonly [number, Missing][] = [
    [1, "entries"],
    [2, "pairs"],
    [4, "hits"],
    [8, "rounds"],
    [16, "results"],
    [64, "loops"],
];

/** Names of the outputs whose status bits are set. @internal */
export function missing(status: number): Missing[] {
    return MISSING.filter(([bit]) => (status & bit) !== 0).map(([, name]) => name);
}

/** Status bits of walks that ended early. Other status bits mean that an output overflowed. @internal */
export const UNFINISHED = 8 | 64;

/** Status bits that make each kind of result incomplete. Unfinished walks affect every kind. @internal */
export const LACKS = {
    nothing: 0,
    pairs: 1 | 2 | UNFINISHED,
    /** World counts are complete even if pairs overflow. */
    worldPairs: 1 | UNFINISHED,
    hits: 1 | 4 | UNFINISHED,
    results: 1 | 16 | UNFINISHED,
};

/** Converts the counter words of the device. @internal */
export function countersOf(words: Uint32Array, objects: number): Counters & { readonly status: number } {
    const word = (index: number): number => words[index]!;
    const wide = (first: number): number => word(first) + word(first + 1) * 2 ** 32;
    const status = word(5) | word(29);
    return {
        objects,
        invalid: word(0),
        excluded: word(1),
        large: word(2),
        levels: word(3),
        tableCells: word(4),
        entriesNeeded: wide(8),
        pairsNeeded: wide(10),
        hitsNeeded: wide(12),
        resultsNeeded: wide(22),
        raysInvalid: word(6),
        queriesInvalid: word(24),
        roundsNeeded: Math.max(word(28), 1),
        missing: missing(status),
        status,
    };
}

/** Splits rows of two words into an array of objects and one of floats. @internal */
export function split(rows: Uint32Array): [Uint32Array, Float32Array] {
    const floats = new Float32Array(rows.buffer, rows.byteOffset, rows.length);
    const [objects, values] = [new Uint32Array(rows.length / 2), new Float32Array(rows.length / 2)];
    for (let row = 0; row < objects.length; row += 1) {
        objects[row] = rows[2 * row]!;
        values[row] = floats[2 * row + 1]!;
    }
    return [objects, values];
}

/** Visible objects of each view. */
export interface Visible {
    /** Object indices, view by view, ascending. */
    readonly objects: Uint32Array;
    /** View v sees the objects `offsets[v]` to `offsets[v + 1] - 1`. Length: views + 1. */
    readonly offsets: Uint32Array;
    /** Number of invalid views, which see nothing. */
    readonly invalid: number;
}

/** Takes the result of culling. @internal */
export function visibleOf(answer: VisibleAnswer): Visible {
    try {
        return { objects: answer.objects(), offsets: answer.offsets(), invalid: answer.invalid() };
    } finally {
        answer.free();
    }
}
