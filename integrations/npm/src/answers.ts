/** What a step counted. */
export interface Counters {
    /** Objects given, static ones among them, as in all counts. */
    readonly objects: number;
    /** Objects left out because of a NaN or min > max. */
    readonly invalid: number;
    /** Objects left out because of the flag `EXCLUDED_OBJECT`. */
    readonly excluded: number;
    /** Objects that no cell suits: infinite ones, or far too large. Everything is tested against them. */
    readonly large: number;
    /** Levels that have objects. */
    readonly levels: number;
    /** Cells of the table. */
    readonly tableCells: number;
    /** Entries of objects in cells, without those of static objects. */
    readonly entriesNeeded: number;
    /** Pairs found. */
    readonly pairsNeeded: number;
    /** Hits found, with the ray mode `"all"`. */
    readonly hitsNeeded: number;
    /** Results of queries found. */
    readonly resultsNeeded: number;
    /** Rays left out because of a NaN, an infinity, an overlong direction or a world that does not exist. */
    readonly raysInvalid: number;
    /** Queries left out because of a NaN, min > max, a negative radius or a world that does not exist. */
    readonly queriesInvalid: number;
    /** Dispatches that the longest walk needs. */
    readonly roundsNeeded: number;
    /** What the step had no room for, by name; empty where the answer is whole. */
    readonly missing: readonly Missing[];
}

/** What an answer may lack. */
export type Missing = "entries" | "pairs" | "hits" | "rounds" | "results" | "loops";

/** Hits of rays. Arrays that the ray mode does not fill are empty. */
export interface RayHits {
    /** `"closest"`: the object of each ray, or `NO_OBJECT`. `"all"`: the objects of all rays, ray by ray. */
    readonly objects: Uint32Array;
    /** Where each ray enters the box, in units of its direction; `Infinity` where it hits nothing. */
    readonly t: Float32Array;
    /** `"all"`: one more than rays. The hits of ray r lie at `offsets[r]` to `offsets[r + 1] - 1`. */
    readonly offsets: Uint32Array;
    /** `"any"`: 1 for each ray that meets anything, else 0. */
    readonly any: Uint32Array;
}

/** Results of queries. */
export interface QueryResults {
    /** The objects of all queries, one query behind the other. With `nearest`: so many per query, or `NO_OBJECT`. */
    readonly objects: Uint32Array;
    /** Without `nearest`: one more than queries. Query q has the objects `offsets[q]` to `offsets[q + 1] - 1`. */
    readonly offsets: Uint32Array;
    /** With `nearest`: the squared distance of each object, nearest first. */
    readonly squaredDistances: Float32Array;
}

/**
 * Pairs that a step has and the step before had not, and the other way round. Four words per pair: the first object,
 * its generation, the second object, its generation. A static object has the flag `STATIC_NAME` in its index, and
 * counts from the first static one; another object counts from the first that is not static.
 */
export interface PairEvents {
    readonly begun: Uint32Array;
    readonly ended: Uint32Array;
}

/** Set in the index of a static object in `PairEvents`. */
export const STATIC_NAME = 0x80000000;

const MISSING: readonly [number, Missing][] = [
    [1, "entries"],
    [2, "pairs"],
    [4, "hits"],
    [8, "rounds"],
    [16, "results"],
    [64, "loops"],
];

/** The names of a status's bits. @internal */
export function missing(status: number): Missing[] {
    return MISSING.filter(([bit]) => (status & bit) !== 0).map(([, name]) => name);
}

/** The status that says that walks ended early, not that rows had no room. @internal */
export const UNFINISHED = 8 | 64;

/** The bits of a status that concern an answer. Whose walks ended early it does not say. @internal */
export const LACKS = {
    nothing: 0,
    pairs: 1 | 2 | UNFINISHED,
    /** Their numbers are known where they have no room. */
    worldPairs: 1 | UNFINISHED,
    hits: 1 | 4 | UNFINISHED,
    results: 1 | 16 | UNFINISHED,
};

/** The counters of a step of so many objects, from the words that the device wrote. @internal */
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

/** Pairs of words as objects and floats. @internal */
export function split(rows: Uint32Array): [Uint32Array, Float32Array] {
    const floats = new Float32Array(rows.buffer, rows.byteOffset, rows.length);
    const [objects, values] = [new Uint32Array(rows.length / 2), new Float32Array(rows.length / 2)];
    for (let row = 0; row < objects.length; row += 1) {
        objects[row] = rows[2 * row]!;
        values[row] = floats[2 * row + 1]!;
    }
    return [objects, values];
}
