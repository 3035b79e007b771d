// Compares results with brute force, for every scheme, on GPU and CPU.
import { test } from "node:test";
import assert from "node:assert/strict";
import { suite } from "./suite.js";

const { run } = suite();

const SCHEMES = ["hierarchical", { type: "uniform", cellSize: 1.5 }, { type: "adaptive", minScale: 0.5 }];

for (const cpu of [false, true]) {
    const where = cpu ? "CPU" : "GPU";

    for (const scheme of SCHEMES) {
        test(`${where}, ${scheme.type ?? scheme}: pairs are those of the definition`, async () => {
            const counts = await run(
                async ({ cpu, scheme }) => {
                    const broadPhase = await lib.BroadPhase.create({ cpu, scheme });
                    const counts = [];
                    for (const [seed, count, size, step] of [
                        [1, 3000, 1.2, 0],
                        [2, 2000, 2, 0.25],
                        [3, 500, 9, 0],
                        [4, 1, 1, 0],
                        [5, 0, 1, 0],
                    ]) {
                        const objects = boxes(seed, count, size, Math.cbrt(count), step);
                        broadPhase.step({ objects });
                        const pairs = await broadPhase.readPairs();
                        counts.push(equal(sorted(pairs), pairsOf(objects)) / 2);
                        const counters = await broadPhase.readCounters();
                        equal(
                            [counters.objects, counters.pairsNeeded, counters.missing.length],
                            [count, pairs.length / 2, 0],
                        );
                    }
                    broadPhase.dispose();
                    return counts;
                },
                { cpu, scheme },
            );
            assert.ok(counts[0] > 1000 && counts[1] > 1000 && counts[2] > 10000, String(counts));
        });
    }

    test(`${where}: sorted pairs come ascending, boxes as rows, with filters, margin, two axes, worlds`, async () => {
        await run(async (cpu) => {
            const objects = boxes(7, 1500, 1.5);
            const count = 1500;
            const next = random(8);
            const layers = Uint32Array.from(
                { length: count },
                () => ((1 << Math.floor(4 * next())) | ((1 + Math.floor(15 * next())) << 16)) >>> 0,
            );
            const groups = Uint32Array.from({ length: count }, () => Math.floor(5 * next()));
            const meets = (a, b) => (layers[a] & (layers[b] >>> 16)) !== 0 && (layers[b] & (layers[a] >>> 16)) !== 0;
            const admits = (a, b) => meets(a, b) && (groups[a] === 0 || groups[a] !== groups[b]);
            const broadPhase = await lib.BroadPhase.create({ cpu, order: "sorted" });
            broadPhase.step({ objects: { boxes: objects, layers, groups } });
            const filtered = await broadPhase.readPairs();
            if (equal(filtered, pairsOf(objects, admits), "filters") < 200) throw new Error("few pairs");
            // The same boxes as rows of 32 bytes.
            const rows = new ArrayBuffer(32 * count);
            const [floats, words] = [new Float32Array(rows), new Uint32Array(rows)];
            for (let row = 0; row < count; row += 1) {
                floats.set(objects.subarray(6 * row, 6 * row + 3), 8 * row);
                words[8 * row + 3] = layers[row];
                floats.set(objects.subarray(6 * row + 3, 6 * row + 6), 8 * row + 4);
                words[8 * row + 7] = groups[row];
            }
            broadPhase.step({ objects: rows });
            equal(await broadPhase.readPairs(), filtered, "rows");
            const excluded = filtered.slice(0, 100).reverse();
            broadPhase.step({ objects: rows, excludedPairs: excluded });
            equal(await broadPhase.readPairs(), filtered.slice(100), "excluded pairs");
            broadPhase.dispose();

            const flat = await lib.BroadPhase.create({ cpu, order: "sorted", dimensions: 2, margin: 0.25 });
            flat.step({ objects: boxes(9, 800, 0.5, 28, 0.125) });
            const grown = boxes(9, 800, 0.5, 28, 0.125).map((value, index) =>
                index % 3 === 2 ? 0 : index % 6 < 3 ? value - 0.25 : value + 0.25,
            );
            equal(await flat.readPairs(), pairsOf(grown), "margin in 2D");
            flat.dispose();

            const worlds = Uint32Array.from({ length: count }, (_, object) => object % 3);
            const parted = await lib.BroadPhase.create({ cpu, order: "sorted", worlds: 3 });
            parted.step({ objects, worlds });
            const of = [0, 1, 2].map((world) => [
                ...pairsOf(objects, (a, b) => worlds[a] === world && worlds[b] === world),
            ]);
            equal(await parted.readPairs(), of.flat(), "worlds");
            const perWorld = [...of.map((pairs) => pairs.length / 2), 0];
            equal(await parted.readWorldPairs(), perWorld, "pairs of worlds");
            const offsets = [0];
            for (const count of perWorld) offsets.push(offsets.at(-1) + count);
            equal(await parted.readWorldOffsets(), offsets, "offsets of worlds");
            parted.dispose();
            for (const options of [{ worlds: 3 }, { order: "sorted" }]) {
                const other = await lib.BroadPhase.create({ cpu, ...options });
                other.step(options.worlds === 3 ? { objects, worlds } : { objects });
                equal(await other.readWorldOffsets(), [], "no offsets");
                other.dispose();
            }
        }, cpu);
    });

    test(`${where}: rays in every mode, swept ones, and statics`, async () => {
        const hits = await run(async (cpu) => {
            const objects = boxes(11, 2000, 1.5);
            const cast = rays(12, 400, 12);
            // Brute force in doubles. Tests compare objects, and t up to rounding.
            const enter = (box, ray, grow = [0, 0, 0]) => {
                let [low, high] = [0, cast[7 * ray + 6]];
                for (let axis = 0; axis < 3; axis += 1) {
                    const [origin, direction] = [cast[7 * ray + axis], cast[7 * ray + 3 + axis]];
                    let [near, far] = [
                        (objects[6 * box + axis] - grow[axis] - origin) / direction,
                        (objects[6 * box + 3 + axis] + grow[axis] - origin) / direction,
                    ];
                    if (near > far) [near, far] = [far, near];
                    [low, high] = [Math.max(low, near), Math.min(high, far)];
                }
                return low <= high ? low : NaN;
            };
            const wanted = Array.from({ length: 400 }, (_, ray) => {
                const found = [];
                for (let box = 0; box < 2000; box += 1) if (!Number.isNaN(enter(box, ray))) found.push(box);
                return found;
            });
            const all = await lib.BroadPhase.create({ cpu, rayMode: "all" });
            all.step({ objects, rays: cast });
            const found = await all.readRayHits();
            equal(lists(found.objects, found.offsets), wanted, "all");
            const statics = { objects: objects.slice(0, 6000), version: 1 };
            for (let step = 0; step < 3; step += 1) {
                all.step({ objects: objects.slice(6000), statics, rays: cast });
                const again = await all.readRayHits();
                equal(lists(again.objects, again.offsets), wanted, "statics");
                equal(
                    sorted(await all.readPairs()),
                    pairsOf(objects, (a, b) => b >= 1000),
                    "pairs with statics",
                );
            }
            all.dispose();
            const closest = await lib.BroadPhase.create({ cpu });
            closest.step({ objects, rays: { rays: cast, layers: new Uint32Array(400).fill(0xffffffff) } });
            const nearest = await closest.readRayHits();
            for (let ray = 0; ray < 400; ray += 1) {
                const best = wanted[ray].reduce(
                    (best, box) => (enter(box, ray) < enter(best, ray) ? box : best),
                    wanted[ray][0] ?? lib.NO_OBJECT,
                );
                const [object, t] = [nearest.objects[ray], nearest.t[ray]];
                const is =
                    best === lib.NO_OBJECT
                        ? object === best && t === Infinity
                        : Math.abs(t - enter(best, ray)) <= 1e-5 * (1 + t) && wanted[ray].includes(object);
                if (!is) throw new Error(`ray ${ray}: ${object} at ${t}, not ${best} at ${enter(best, ray)}`);
            }
            // A query of a set does not change the step's own results.
            const set = closest.createQuerySet({ rayMode: "any" });
            set.query({ rays: { rays: cast, halfExtents: new Float32Array(1200).fill(0.25) } });
            const { any } = await set.readRayHits();
            const swept = wanted.map((_, ray) => {
                for (let box = 0; box < 2000; box += 1)
                    if (!Number.isNaN(enter(box, ray, [0.25, 0.25, 0.25]))) return 1;
                return 0;
            });
            equal(any, swept, "swept");
            equal((await closest.readRayHits()).objects, nearest.objects, "after a set");
            set.dispose();
            closest.dispose();
            return found.objects.length;
        }, cpu);
        assert.ok(hits > 1000, String(hits));
    });

    test(`${where}: worlds of statics, rays and spheres, in arrays and in rows`, async () => {
        await run(async (cpu) => {
            const [count, still] = [600, 200];
            const both = boxes(13, count + still, 1.5);
            const worlds = Uint32Array.from({ length: count + still }, (_, object) => (7 * object) % 3);
            const broadPhase = await lib.BroadPhase.create({ cpu, worlds: 3, rayMode: "all" });
            const cast = rays(14, 90, 9);
            const ofRay = Uint32Array.from({ length: 90 }, (_, ray) => ray % 3);
            const spheres = new Float32Array(4 * 60).map((_, value) => (value % 4 === 3 ? 1.5 : (7.3 * value) % 9));
            const ofSphere = Uint32Array.from({ length: 60 }, (_, sphere) => (sphere >> 1) % 3);
            const input = {
                objects: both.slice(6 * still),
                worlds: worlds.slice(still),
                statics: { objects: both.slice(0, 6 * still), worlds: worlds.slice(0, still), version: 1 },
            };
            broadPhase.step({ ...input, rays: { rays: cast, worlds: ofRay }, queries: { spheres, worlds: ofSphere } });
            equal(
                sorted(await broadPhase.readPairs()),
                pairsOf(both, (a, b) => b >= still && worlds[a] === worlds[b]),
                "pairs",
            );
            const hits = await broadPhase.readRayHits();
            const near = await broadPhase.readQueryResults();
            if (hits.objects.length < 50 || near.objects.length < 50)
                throw new Error(`${hits.objects.length} hits, ${near.objects.length} near`);
            // A broad phase without worlds also finds results of other worlds.
            const whole = await lib.BroadPhase.create({ cpu, rayMode: "all" });
            whole.step({ objects: both, rays: cast, queries: { spheres } });
            const pairs = [
                [hits, await whole.readRayHits(), ofRay],
                [near, await whole.readQueryResults(), ofSphere],
            ];
            for (const [answer, all, world] of pairs) {
                const wanted = lists(all.objects, all.offsets).map((row, asker) =>
                    row.filter((object) => worlds[object] === world[asker]),
                );
                equal(lists(answer.objects, answer.offsets), wanted, "of one world");
            }
            whole.dispose();
            // The same queries as rows of 48 bytes.
            const rows = new Float32Array(12 * 60);
            const words = new Uint32Array(rows.buffer);
            for (let sphere = 0; sphere < 60; sphere += 1) {
                const at = spheres.subarray(4 * sphere, 4 * sphere + 3);
                rows.set(at, 12 * sphere);
                rows.set(at, 12 * sphere + 4);
                words[12 * sphere + 3] = 0xffffffff;
                rows[12 * sphere + 8] = 1.5;
                words[12 * sphere + 9] = ofSphere[sphere];
            }
            broadPhase.step({ ...input, queries: { spheres: rows.buffer } });
            const again = await broadPhase.readQueryResults();
            equal(lists(again.objects, again.offsets), lists(near.objects, near.offsets), "rows of spheres");
            // Rays in rows of 32 bytes are in world 0.
            const plain = new Float32Array(8 * 90);
            for (let ray = 0; ray < 90; ray += 1) {
                plain.set(cast.subarray(7 * ray, 7 * ray + 3), 8 * ray);
                plain.set(cast.subarray(7 * ray + 3, 7 * ray + 6), 8 * ray + 4);
                plain[8 * ray + 3] = cast[7 * ray + 6];
                new Uint32Array(plain.buffer)[8 * ray + 7] = 0xffffffff;
            }
            const set = broadPhase.createQuerySet();
            set.query({ rays: plain.buffer });
            const first = await set.readRayHits();
            equal(
                lists(first.objects, first.offsets).filter((_, ray) => ray % 3 === 0),
                lists(hits.objects, hits.offsets).filter((_, ray) => ray % 3 === 0),
                "rows of rays",
            );
            broadPhase.dispose();
        }, cpu);
    });

    test(`${where}: queries by boxes, spheres, nearest, neighbours, partners`, async () => {
        const results = await run(async (cpu) => {
            const count = 1200;
            const objects = boxes(21, count, 1.5);
            const asked = boxes(22, 60, 3, 10);
            const broadPhase = await lib.BroadPhase.create({ cpu });
            broadPhase.step({ objects, queries: { boxes: asked } });
            const both = new Float32Array(6 * (count + 60));
            both.set(objects);
            both.set(asked, 6 * count);
            const wanted = Array.from({ length: 60 }, () => []);
            const all = pairsOf(both);
            for (let pair = 0; pair < all.length; pair += 2) {
                if (all[pair] < count && all[pair + 1] >= count) wanted[all[pair + 1] - count].push(all[pair]);
            }
            const found = await broadPhase.readQueryResults();
            const results = found.objects.length;
            equal(lists(found.objects, found.offsets), wanted, "boxes");
            const distance = (box, [x, y, z]) => {
                const gap = [x, y, z].map((at, axis) =>
                    Math.max(objects[6 * box + axis] - at, at - objects[6 * box + 3 + axis], 0),
                );
                return Math.hypot(...gap);
            };
            const spheres = new Float32Array(4 * 50);
            const next = random(23);
            for (let value = 0; value < 200; value += 1) spheres[value] = value % 4 === 3 ? next() * 2 : next() * 10;
            broadPhase.step({ objects, queries: { spheres } });
            const near = await broadPhase.readQueryResults();
            const within = Array.from({ length: 50 }, (_, sphere) => {
                const [x, y, z, radius] = spheres.subarray(4 * sphere, 4 * sphere + 4);
                return Array.from({ length: count }, (_, box) => box).filter(
                    (box) => distance(box, [x, y, z]) <= radius,
                );
            });
            equal(lists(near.objects, near.offsets), within, "spheres");
            const far = spheres.map((value, index) => (index % 4 === 3 ? Infinity : value));
            broadPhase.step({ objects, queries: { spheres: far, nearest: 5 } });
            const five = await broadPhase.readQueryResults();
            equal([five.objects.length, five.squaredDistances.length, five.offsets.length], [250, 250, 0]);
            for (let sphere = 0; sphere < 50; sphere += 1) {
                const at = far.subarray(4 * sphere, 4 * sphere + 3);
                const best = Array.from({ length: count }, (_, box) => distance(box, at)).sort((a, b) => a - b);
                for (let place = 0; place < 5; place += 1) {
                    const given = Math.sqrt(five.squaredDistances[5 * sphere + place]);
                    if (Math.abs(given - best[place]) > 1e-4) throw new Error(`nearest: ${given}, not ${best[place]}`);
                }
            }
            broadPhase.step({ objects, partners: {} });
            const partners = await broadPhase.readQueryResults();
            const rows = Array.from({ length: count }, () => []);
            const pairs = pairsOf(objects);
            for (let pair = 0; pair < pairs.length; pair += 2) {
                rows[pairs[pair]].push(pairs[pair + 1]);
                rows[pairs[pair + 1]].push(pairs[pair]);
            }
            equal(
                lists(partners.objects, partners.offsets),
                rows.map((row) => row.sort((a, b) => a - b)),
                "partners",
            );
            const points = objects.map((value, index) => objects[index - (index % 6) + (index % 3)]);
            broadPhase.step({ objects: points, neighbors: { radius: 1.1, half: true } });
            const neighbors = await broadPhase.readQueryResults();
            const close = Array.from({ length: count }, (_, a) =>
                Array.from({ length: count }, (_, b) => b).filter(
                    (b) =>
                        b > a &&
                        Math.hypot(...[0, 1, 2].map((axis) => points[6 * a + axis] - points[6 * b + axis])) <= 1.1,
                ),
            );
            equal(lists(neighbors.objects, neighbors.offsets), close, "neighbours");
            broadPhase.dispose();
            return results;
        }, cpu);
        assert.ok(results > 300, String(results));
    });

    test(`${where}: events are what changed between steps`, async () => {
        const changes = await run(async (cpu) => {
            const broadPhase = await lib.BroadPhase.create({ cpu, events: true });
            const next = random(31);
            const statics = { objects: boxes(32, 300, 1.5, 9), version: 7 };
            const objects = boxes(33, 900, 1.5, 9);
            const [generations, fixed] = [new Uint32Array(900), new Uint32Array(300)];
            let before = new Set();
            let changes = 0;
            for (let frame = 0; frame < 6; frame += 1) {
                for (let row = 0; row < 900; row += 1) {
                    const [axis, move] = [Math.floor(3 * next()), next() - 0.5];
                    objects[6 * row + axis] += move;
                    objects[6 * row + 3 + axis] += move;
                }
                if (frame === 4) [generations[7], fixed[20]] = [1, 5];
                broadPhase.step({ objects, generations, statics: { ...statics, generations: fixed } });
                const { begun, ended } = await broadPhase.readEvents();
                const both = new Float32Array([...statics.objects, ...objects]);
                const pairs = pairsOf(both, (a, b) => b >= 300);
                const name = (object) =>
                    object < 300
                        ? `${(object | lib.STATIC_NAME) >>> 0} ${fixed[object]}`
                        : `${object - 300} ${generations[object - 300]}`;
                const now = new Set();
                for (let pair = 0; pair < pairs.length; pair += 2)
                    now.add(`${name(pairs[pair])} ${name(pairs[pair + 1])}`);
                const told = (words) =>
                    Array.from({ length: words.length / 4 }, (_, row) =>
                        words.subarray(4 * row, 4 * row + 4).join(" "),
                    ).sort();
                equal(told(begun), [...now].filter((pair) => !before.has(pair)).sort(), "begun");
                equal(told(ended), [...before].filter((pair) => !now.has(pair)).sort(), "ended");
                if (frame > 0) changes += (begun.length + ended.length) / 4;
                before = now;
            }
            broadPhase.dispose();
            return changes;
        }, cpu);
        assert.ok(changes > 500, String(changes));
    });
}

test("GPU: a crowd needs repeated steps, and the answer is whole", async () => {
    const pairs = await run(async () => {
        // 700 boxes at one place have 244,650 pairs, far more than the initial four per object.
        const objects = boxes(41, 700, 0.1, 0.05).map((value, index) => (index % 6 < 3 ? value : value + 1));
        const broadPhase = await lib.BroadPhase.create({ scheme: { type: "uniform", cellSize: 0.02 }, events: true });
        broadPhase.step({ objects });
        const pairs = await broadPhase.readPairs();
        equal(sorted(pairs), pairsOf(objects));
        broadPhase.step({ objects: boxes(42, 4000, 6), rays: rays(43, 100, 16), partners: {} });
        const [many, hits, partners] = await Promise.all([
            broadPhase.readPairs(),
            broadPhase.readRayHits(),
            broadPhase.readQueryResults(),
        ]);
        equal([partners.objects.length, hits.objects.length], [many.length, 100]);
        broadPhase.dispose();
        return pairs.length / 2;
    });
    assert.equal(pairs, 244650);
});

for (const cpu of [false, true]) {
    test(`${cpu ? "CPU" : "GPU"}: a loop that does not await its answers gets those of each step`, async () => {
        await run(async (cpu) => {
            const broadPhase = await lib.BroadPhase.create({ cpu, events: true });
            const set = broadPhase.createQuerySet({ rayMode: "all" });
            const cast = rays(61, 50, 10);
            const frames = Array.from({ length: 8 }, (_, frame) => boxes(70 + frame, 600 + 50 * frame, 1.6));
            const alone = [];
            for (const objects of frames) {
                broadPhase.step({ objects });
                set.query({ rays: cast });
                const { objects: hits, offsets } = await set.readRayHits();
                alone.push(lists(hits, offsets));
            }
            const answers = frames.map((objects) => {
                broadPhase.step({ objects });
                set.query({ rays: cast });
                return [broadPhase.readPairs(), broadPhase.readCounters(), broadPhase.readEvents(), set.readRayHits()];
            });
            for (const [frame, reads] of answers.entries()) {
                const [pairs, counters, events, hits] = await Promise.all(reads);
                const wanted = pairsOf(frames[frame]);
                equal(sorted(pairs), wanted, `pairs of frame ${frame}`);
                equal(
                    [counters.objects, counters.pairsNeeded],
                    [frames[frame].length / 6, wanted.length / 2],
                    "counters",
                );
                equal(lists(hits.objects, hits.offsets), alone[frame], `hits of frame ${frame}`);
                const before = frame > 0 ? pairsOf(frames[frame - 1]).length / 2 : pairsOf(frames.at(-1)).length / 2;
                equal([(events.begun.length - events.ended.length) / 4], [wanted.length / 2 - before], "events");
            }
            broadPhase.dispose();
        }, cpu);
    });
}

test("GPU: what has no room, and a later step has overwritten, is an error by name", async () => {
    const told = await run(async () => {
        const crowd = boxes(81, 400, 1, 0.5);
        const broadPhase = await lib.BroadPhase.create({ capacities: { pairs: 100 } });
        const lost = [];
        broadPhase.step({ objects: crowd });
        lost.push(thrown(() => broadPhase.readPairs()));
        const counters = broadPhase.readCounters();
        broadPhase.step({ objects: boxes(82, 10, 1) });
        equal(sorted(await broadPhase.readPairs()), pairsOf(boxes(82, 10, 1)));
        const { pairsNeeded, missing } = await counters;
        // With `maxBytes`, the step with room for all pairs is refused, so reading them fails.
        const small = await lib.BroadPhase.create({ maxBytes: 300000 });
        small.step({ objects: crowd });
        lost.push(thrown(() => small.readPairs()));
        const told = [await Promise.all(lost), pairsNeeded === pairsOf(crowd).length / 2, missing];
        for (const each of [broadPhase, small]) each.dispose();
        return told;
    });
    assert.match(
        told[0][0],
        /^OverflowError: there was no room for all pairs, and a later step has taken the place of this one$/,
    );
    assert.match(told[0][1], /the limit is 300000: raise maxBytes$/);
    assert.deepEqual(told.slice(1), [true, ["pairs"]]);
});

for (const cpu of [false, true]) {
    test(`${cpu ? "CPU" : "GPU"}: a set asks the step before the query, whatever comes later`, async () => {
        const refusals = await run(async (cpu) => {
            const [first, second] = [boxes(101, 900, 1.5, 9), boxes(102, 700, 1.5, 9)];
            const cast = rays(103, 60, 9);
            const hits = async (of) => {
                const { objects, offsets } = await of.readRayHits();
                return lists(objects, offsets);
            };
            const broadPhase = await lib.BroadPhase.create({ cpu, rayMode: "all", events: true, maxBytes: 3e6 });
            const refusals = [
                await thrown(() => broadPhase.createQuerySet().query({ rays: cast })),
                await thrown(() => broadPhase.readPairs()),
            ];
            const wanted = [];
            for (const objects of [first, second]) {
                broadPhase.step({ objects, rays: cast });
                wanted.push(await hits(broadPhase));
            }
            const [early, late, unasked] = [
                broadPhase.createQuerySet(),
                broadPhase.createQuerySet(),
                broadPhase.createQuerySet(),
            ];
            refusals.push(await thrown(() => unasked.readRayHits()));
            broadPhase.step({ objects: first });
            const events = await broadPhase.readEvents();
            early.query({ rays: cast });
            await early.readCounters();
            early.query({ rays: cast });
            // Refused steps change nothing: one with invalid input, and on the GPU one that exceeds `maxBytes`.
            refusals.push(await thrown(() => broadPhase.step({ objects: second, neighbors: { radius: -1 } })));
            if (!cpu) refusals.push(await thrown(() => broadPhase.step({ objects: boxes(104, 50000, 1) })));
            late.query({ rays: cast });
            equal(sorted(await broadPhase.readPairs()), pairsOf(first), "pairs after a refused step");
            const after = await broadPhase.readEvents();
            equal(after.begun, events.begun, "events after a refused step");
            equal(after.ended, events.ended, "events after a refused step");
            broadPhase.step({ objects: second });
            equal(await hits(late), wanted[0], "a query after a refused step");
            equal(await hits(early), wanted[0], "a query before the last step");
            const next = await broadPhase.readEvents();
            equal(
                [next.begun.length - next.ended.length],
                [2 * (pairsOf(second).length - pairsOf(first).length)],
                "events after all",
            );
            early.query({ rays: cast });
            equal(await hits(early), wanted[1], "a query after the last step");
            broadPhase.dispose();
            return refusals;
        }, cpu);
        const [noStep, noPairs, noQuery, radius, ...memory] = refusals;
        assert.deepEqual(
            [noStep, noPairs, noQuery],
            ["step", "step", "query"].map((what) => `NoResultError: there was no ${what} yet`),
        );
        assert.equal(radius, "RangeError: neighbors.radius is -1, a finite length is needed");
        assert.ok(
            memory.every((error) =>
                /^RangeError: the step needs \d+ bytes of buffers, the limit is 3000000: raise maxBytes$/.test(error),
            ),
            String(memory),
        );
    });
}

test("GPU: a refused step does not touch the rows of one that is yet to be repeated", async () => {
    await run(async () => {
        const crowd = boxes(81, 400, 1, 0.5);
        const broadPhase = await lib.BroadPhase.create({ capacities: { pairs: 100 } });
        broadPhase.step({ objects: crowd });
        const pending = broadPhase.readPairs();
        const excludedPairs = { buffer: broadPhase.createBuffer(64), count: 1, offset: 4 };
        const refused = await thrown(() => broadPhase.step({ objects: boxes(83, 900, 1), excludedPairs }));
        if (!refused.startsWith("RangeError: the excluded pairs must be packed")) throw new Error(refused);
        equal(sorted(await pending), pairsOf(crowd));
        broadPhase.dispose();
    });
});

test("GPU: what lacks room for pairs has its hits, and no events", async () => {
    const told = await run(async () => {
        const crowd = boxes(81, 400, 1, 0.5);
        const cast = rays(84, 30, 1);
        const broadPhase = await lib.BroadPhase.create({ capacities: { pairs: 100 }, events: true });
        const input = { objects: crowd, rays: cast, partners: {} };
        broadPhase.step(input);
        // Like pairs, results have initial space for four per object.
        const [hits, pairs, results, events] = [
            broadPhase.readRayHits(),
            ...["readPairs", "readQueryResults", "readEvents"].map((name) => thrown(() => broadPhase[name]())),
        ];
        broadPhase.step(input);
        const told = await Promise.all([pairs, results, events]);
        const early = await hits;
        await broadPhase.readPairs();
        const late = await broadPhase.readRayHits();
        equal(early.objects, late.objects);
        // Later steps have enough space. Events are correct if the previous step was complete.
        broadPhase.step({ objects: crowd });
        await broadPhase.readPairs();
        broadPhase.step({ objects: crowd.subarray(0, 1200) });
        const { begun, ended } = await broadPhase.readEvents();
        const [all, half] = [crowd, crowd.subarray(0, 1200)].map((objects) => pairsOf(objects).length / 2);
        equal([begun.length, ended.length / 4], [0, all - half], "events");
        broadPhase.dispose();
        const worlds = Uint32Array.from({ length: 400 }, (_, object) => object & 1);
        const parted = await lib.BroadPhase.create({ capacities: { pairs: 100 }, worlds: 2 });
        parted.step({ objects: crowd, worlds });
        const perWorld = parted.readWorldPairs();
        parted.step({ objects: crowd.subarray(0, 6), worlds: worlds.subarray(0, 1) });
        const wanted = [0, 1].map((world) => pairsOf(crowd, (a, b) => worlds[a] === world && worlds[b] === world));
        equal(
            await perWorld,
            [...wanted.map((pairs) => pairs.length / 2), 0],
            "pairs of worlds",
        );
        parted.dispose();
        return told;
    });
    assert.match(told[0], /^OverflowError: there was no room for all pairs, and a later step/);
    assert.match(told[1], /^OverflowError: there was no room for all results, and a later step/);
    assert.match(told[2], /^OverflowError: the step had no room for all of its pairs, so its events are not known$/);
});

test("GPU: what the device refuses of a repeated step is an error by name", async () => {
    const told = await run(async () => {
        const crowd = boxes(81, 400, 1, 0.5);
        const broadPhase = await lib.BroadPhase.create({ capacities: { pairs: 100 }, events: true });
        const { createBuffer } = GPUDevice.prototype;
        broadPhase.step({ objects: crowd });
        const pending = thrown(() => broadPhase.readPairs());
        // Makes the device refuse the pair buffer as a shader binding.
        GPUDevice.prototype.createBuffer = function (descriptor) {
            const isOfPairs = /pairs$/.test(descriptor.label);
            return createBuffer.call(this, isOfPairs ? { ...descriptor, usage: GPUBufferUsage.COPY_DST } : descriptor);
        };
        const told = [await pending];
        GPUDevice.prototype.createBuffer = createBuffer;
        told.push(await thrown(() => broadPhase.step({ objects: crowd })));
        told.push(await thrown(() => broadPhase.readEvents()));
        broadPhase.step({ objects: crowd });
        equal(sorted(await broadPhase.readPairs()), pairsOf(crowd));
        broadPhase.dispose();
        return told;
    });
    for (const error of told) {
        assert.match(error, /^DeviceError: the device refused the (step|recording): /);
    }
});

test("GPU: a function of WGSL admits pairs", async () => {
    await run(async () => {
        const objects = boxes(51, 1000, 1.5);
        const pairFilter = "fn admits_pair(a: u32, b: u32) -> bool { return (a + b) % pair_data(0u) == 0u; }";
        const broadPhase = await lib.BroadPhase.create({ pairFilter, order: "sorted" });
        broadPhase.step({ objects, pairFilterData: new Uint32Array([3]) });
        equal(
            await broadPhase.readPairs(),
            pairsOf(objects, (a, b) => (a + b) % 3 === 0),
        );
        broadPhase.dispose();
        const error = await thrown(() => lib.BroadPhase.create({ pairFilter: "fn admits(a: u32) {}" }));
        if (!error.startsWith("RangeError")) throw new Error(error);
    });
});
