// Runs all engines on the same moving boxes and rays. Their results must be equal.
import { ENGINES } from "./engines.js";
import { boxesOf, moved, raysOf } from "./scene.js";

const query = new URLSearchParams(location.search);
const COUNTS = (query.get("boxes") ?? "1000,10000,50000").split(",").map(Number);
const RAYS = Number(query.get("rays") ?? 1000);
const RUNS = Number(query.get("runs") ?? 7);
/** Untimed frames, in which shaders are compiled and outputs grow. */
const WARM_UP = 3;

const report = document.getElementById("report");
const say = (line) => report.append(`${line}\n`);

/** Combines each pair of indices into one number, and sorts these numbers. */
function ordered(pairs, count) {
    const keys = new Float64Array(pairs.length / 2);
    for (let row = 0; row < keys.length; row += 1) {
        keys[row] = pairs[2 * row] * count + pairs[2 * row + 1];
    }
    return keys.sort();
}

function check(what, isEqual) {
    if (!isEqual) {
        throw new Error(`${what} differ`);
    }
}

const median = (times) => times.sort((a, b) => a - b)[times.length >> 1];

async function measured(count) {
    const engines = [];
    for (const [name, make] of Object.entries(ENGINES)) {
        engines.push({ name, engine: await make(), pairs: [], rays: [] });
    }
    let boxes = boxesOf(count, 1);
    const [found, hits] = [[], []];
    for (let run = 0; run < WARM_UP + RUNS; run += 1) {
        boxes = moved(boxes, 100 + run);
        const rays = raysOf(RAYS, count, 1000 + run);
        let [pairsOfFirst, hitsOfFirst] = [];
        for (const { name, engine, ...times } of engines) {
            const begin = performance.now();
            const pairs = await engine.pairs(boxes);
            const middle = performance.now();
            const t = await engine.rays(rays);
            const end = performance.now();
            const keys = ordered(pairs, count);
            pairsOfFirst ??= keys;
            hitsOfFirst ??= t;
            check(
                `${count} boxes, ${name}: ${pairsOfFirst.length} pairs and ${keys.length}, which`,
                keys.length === pairsOfFirst.length && keys.every((key, row) => key === pairsOfFirst[row]),
            );
            // Engines round differently.
            const isNear = (one, other) => one === other || Math.abs(one - other) < 1e-3;
            check(
                `${count} boxes, ${name}: hits`,
                t.every((at, ray) => isNear(at, hitsOfFirst[ray])),
            );
            if (run >= WARM_UP) {
                times.pairs.push(middle - begin);
                times.rays.push(end - middle);
            }
        }
        found.push(pairsOfFirst.length);
        hits.push(hitsOfFirst.filter(Number.isFinite).length);
    }
    engines.forEach(({ engine }) => engine.end());
    return {
        count,
        pairs: found.at(-1),
        hits: hits.at(-1),
        engines: engines.map(({ name, pairs, rays }) => ({ name, pairs: median(pairs), rays: median(rays) })),
    };
}

try {
    const results = [];
    for (const count of COUNTS) {
        const result = await measured(count);
        results.push(result);
        say(
            `${count.toLocaleString("en")} boxes, ${result.pairs.toLocaleString("en")} pairs, ` +
                `${RAYS} rays with ${result.hits} hits`,
        );
        for (const { name, pairs, rays } of result.engines) {
            const [ofPairs, ofRays] = [pairs, rays].map((time) => `${time.toFixed(1).padStart(8)} ms`);
            say(`    ${name.padEnd(30)} pairs ${ofPairs}   rays ${ofRays}`);
        }
    }
    globalThis.results = results;
    document.documentElement.dataset.state = "done";
} catch (error) {
    say(String(error));
    document.documentElement.dataset.state = String(error);
}
