/** Counters of a step. */
export interface Counters {
    /** Objects of the input, including static and ignored ones. */
    readonly objects: number;
    /** Objects ignored because of a NaN or min > max. */
    readonly invalid: number;
    /** Objects ignored because of the flag `EXCLUDED_OBJECT`. */
    readonly excluded: number;
    /** Infinite or very large objects that fit no cell. All others are tested against them. */
    readonly large: number;
    /** Number of occupied levels. */
    readonly levels: number;
    /** Number of cells in the table. */
    readonly tableCells: number;
    /** Entries of non-static objects in cells. */
    readonly entriesNeeded: number;
    /** Number of pairs found. */
    readonly pairsNeeded: number;
    /** Number of hits found, in the ray mode `"all"`. */
    readonly hitsNeeded: number;
    /** Number of query results found. */
    readonly resultsNeeded: number;
    /** Rays ignored because of a NaN, an infinity, an overlong direction or a nonexistent world. */
    readonly raysInvalid: number;
    /** Queries ignored because of a NaN, min > max, a negative radius or a nonexistent world. */
    readonly queriesInvalid: number;
    /** Dispatches needed by the longest walk. */
    readonly roundsNeeded: number;
    /** Outputs that overflowed, by name; empty if the result is complete. */
    readonly missing: readonly Missing[];
}

/** Outputs that may overflow. */
export type Missing = "entries" | "pairs" | "hits" | "rounds" | "results" | "loops";

/** Hits of rays. Arrays that the ray mode does not fill are empty. */
export interface RayHits {
    /** `"closest"`: one object per ray, or `NO_OBJECT`. `"all"`: the objects of all rays, ray by ray. */
    readonly objects: Uint32Array;
    /** Ray parameter at the box, in units of the direction; `Infinity` without a hit. */
    readonly t: Float32Array;
    /** `"all"`: ray r has the hits `offsets[r]` to `offsets[r + 1] - 1`. Length: rays + 1. */
    readonly offsets: Uint32Array;
    /** `"any"`: 1 for each ray with a hit, else 0. */
    readonly any: Uint32Array;
}

/** Results of queries. */
export interface QueryResults {
    /** Objects of all queries, query by query. With `nearest`: `nearest` per query, padded with `NO_OBJECT`. */
    readonly objects: Uint32Array;
    /** Without `nearest`: query q has the objects `offsets[q]` to `offsets[q + 1] - 1`. Length: queries + 1. */
    readonly offsets: Uint32Array;
    /** With `nearest`: the squared distance of each object, nearest first. */
    readonly squaredDistances: Float32Array;
}

/**
 * Pairs that began or ended between the previous step and this one. Four words per pair: first object, its generation,
 * second object, its generation. Indices of static objects have the flag `STATIC_NAME` and count from the first static
 * object; others count from the first object that is not static.
 */
export interface PairEvents {
    readonly begun: Uint32Array;
    readonly ended: Uint32Array;
}

/** Flag of static objects in `PairEvents`. */
export const STATIC_NAME = 0x80000000;

const MISSING: readonly [number, Missing][] = [
    [1, "entries"],
    [2, "pairs"],
    [4, "hits"],
    [8, "rounds"],
    [16, "results"],
    [64, "loops"],
];

/** Names of a status's bits. @internal */
export function missing(status: number): Missing[] {
    return MISSING.filter(([bit]) => (status & bit) !== 0).map(([, name]) => name);
}

/** Status bits of walks that ended early, as opposed to outputs that overflowed. @internal */
export const UNFINISHED = 8 | 64;

/** Status bits that make a result incomplete. Any result may be affected by walks that ended early. @internal */
export const LACKS = {
    nothing: 0,
    pairs: 1 | 2 | UNFINISHED,
    /** Known even if pairs overflow. */
    worldPairs: 1 | UNFINISHED,
    hits: 1 | 4 | UNFINISHED,
    results: 1 | 16 | UNFINISHED,
};

/** Decodes the device's counters. @internal */
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

/** Splits rows of two words into objects and floats. @internal */
export function split(rows: Uint32Array): [Uint32Array, Float32Array] {
    const floats = new Float32Array(rows.buffer, rows.byteOffset, rows.length);
    const [objects, values] = [new Uint32Array(rows.length / 2), new Float32Array(rows.length / 2)];
    for (let row = 0; row < objects.length; row += 1) {
        objects[row] = rows[2 * row]!;
        values[row] = floats[2 * row + 1]!;
    }
    return [objects, values];
}
