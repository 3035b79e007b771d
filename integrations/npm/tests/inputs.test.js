// Inputs in buffers, and invalid inputs.
import { test } from "node:test";
import assert from "node:assert/strict";
import { suite } from "./suite.js";

const { run } = suite();

test("buffers of the device are read in place, others are copied, and outputs are real buffers", async () => {
    await run(async () => {
        const { STORAGE, COPY_DST, COPY_SRC, VERTEX } = GPUBufferUsage;
        const objects = boxes(1, 1000, 1.4);
        const wanted = pairsOf(objects);
        const broadPhase = await lib.BroadPhase.create({ order: "sorted", rayMode: "all", events: true });
        const { device } = broadPhase;
        const step = async (what, objects, more = {}) => {
            const output = broadPhase.step({ objects, ...more });
            equal(await broadPhase.readPairs(), wanted, what);
            return output;
        };
        const own = broadPhase.createBuffer(objects, { usage: VERTEX, label: "boxes" });
        if (!(own instanceof GPUBuffer) || own.size !== 24000 || (own.usage & VERTEX) === 0 || own.label !== "boxes")
            throw new Error("no such buffer");
        await step("own, six floats", { buffer: own, count: 1000, words: "none" });
        // Rows of 80 bytes, in which 16 bytes precede centre and half extents.
        const wide = new Float32Array(20 * 1000);
        for (let row = 0; row < 1000; row += 1) {
            for (let axis = 0; axis < 3; axis += 1) {
                const [low, high] = [objects[6 * row + axis], objects[6 * row + 3 + axis]];
                wide[20 * row + 4 + axis] = low;
                wide[20 * row + 8 + axis] = high;
            }
        }
        const strided = broadPhase.createBuffer(wide.buffer);
        await step("own, strided", { buffer: strided, count: 1000, offset: 16, stride: 80, words: "padding" });
        const foreign = device.createBuffer({ size: wide.byteLength, usage: COPY_SRC | COPY_DST });
        device.queue.writeBuffer(foreign, 0, wide);
        await step("foreign, strided", { buffer: foreign, count: 1000, offset: 16, stride: 80, words: "padding" });
        const halves = new Float32Array([
            1, 1, 1, 0, 0.5, 0.5, 0.5, 0, 2, 2, 2, 0, 0.5, 0.5, 0.5, 0, 9, 9, 9, 0, 1, 1, 1, 0,
        ]);
        broadPhase.step({
            objects: { buffer: broadPhase.createBuffer(halves), count: 3, form: "center-half", words: "padding" },
        });
        equal(await broadPhase.readPairs(), [0, 1], "centres");

        const count = broadPhase.createBuffer(new Uint32Array([7, 600]));
        broadPhase.step({ objects, objectCount: { buffer: count, word: 1 } });
        equal(await broadPhase.readPairs(), pairsOf(objects.subarray(0, 3600)), "count on the device");
        const far = device.createBuffer({ size: 4, usage: COPY_SRC | COPY_DST });
        device.queue.writeBuffer(far, 0, new Uint32Array([500]));
        broadPhase.step({ objects, objectCount: { buffer: far } });
        equal(await broadPhase.readPairs(), pairsOf(objects.subarray(0, 3000)), "count in a foreign buffer");

        // Output buffers equal the arrays that are read.
        const cast = rays(2, 50, 10);
        broadPhase.step({ objects, rays: cast, queries: { boxes: boxes(3, 20, 3, 10) } });
        await broadPhase.readPairs();
        const output = broadPhase.step({ objects, rays: cast, queries: { boxes: boxes(3, 20, 3, 10) } });
        const words = await download(device, output.pairs.buffer);
        equal(words.subarray(0, wanted.length), wanted, "the buffer of pairs");
        if (output.pairs.capacity < wanted.length / 2 || output.pairs.buffer.size < 8 * output.pairs.capacity)
            throw new Error("capacity");
        equal((await download(device, output.counters)).subarray(10, 12), [wanted.length / 2, 0], "counters");
        const hits = await broadPhase.readRayHits();
        equal((await download(device, output.rays.offsets)).subarray(0, 51), hits.offsets, "offsets of rays");
        const results = await broadPhase.readQueryResults();
        equal(
            (await download(device, output.queries.buffer)).subarray(0, results.objects.length),
            results.objects,
            "results",
        );
        const { begun } = await broadPhase.readEvents();
        const counted = await download(device, output.events.counters);
        equal([counted[0], counted[4], begun.length], [wanted.length / 2, 0, 0], "events");
        for (const name of ["starts", "records", "grid", "entries"]) {
            if (!(output.table[name] instanceof GPUBuffer)) throw new Error(name);
        }
        if (!(broadPhase.memory > 0) || typeof broadPhase.adapter.vendor !== "string") throw new Error("memory");
        // Output buffers can be bound to a user's shader.
        const module = device.createShaderModule({
            code: `@group(0) @binding(0) var<storage, read> pairs: array<vec2u>;
                   @group(0) @binding(1) var<storage, read> counters: array<u32>;
                   @group(0) @binding(2) var<storage, read_write> sum: array<atomic<u32>>;
                   @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
                       if (id.x < counters[10]) { atomicAdd(&sum[0], pairs[id.x].y - pairs[id.x].x); }
                   }`,
        });
        const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
        const sum = broadPhase.createBuffer(4);
        const entries = [output.pairs.buffer, output.counters, sum].map((buffer, binding) => ({
            binding,
            resource: { buffer },
        }));
        const encoder = device.createCommandEncoder();
        const pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
        pass.dispatchWorkgroups(Math.ceil(output.pairs.capacity / 64));
        pass.end();
        device.queue.submit([encoder.finish()]);
        let distance = 0;
        for (let pair = 0; pair < wanted.length; pair += 2) distance += wanted[pair + 1] - wanted[pair];
        equal(await download(device, sum), [distance], "a caller's shader");
        own.destroy();
        own.destroy();
        broadPhase.dispose();
    });
});

test("device options: features and limits of a renderer", async () => {
    const told = await run(async () => {
        const adapter = await navigator.gpu.requestAdapter();
        const limit = adapter.limits.maxTextureDimension2D;
        const features = ["float32-filterable", "timestamp-query", "shader-f16"].filter((name) =>
            adapter.features.has(name),
        );
        const broadPhase = await lib.BroadPhase.create({
            powerPreference: "high-performance",
            requiredFeatures: features,
            requiredLimits: { maxTextureDimension2D: limit, maxColorAttachmentBytesPerSample: 32 },
        });
        if (!(broadPhase.device instanceof GPUDevice)) throw new Error("no device");
        const has =
            features.every((name) => broadPhase.device.features.has(name)) &&
            broadPhase.device.limits.maxTextureDimension2D === limit;
        broadPhase.dispose();
        return [
            features.length,
            has,
            await thrown(() => lib.BroadPhase.create({ requiredLimits: { maxTextureDimension2D: 2 * limit } })),
            await thrown(() => lib.BroadPhase.create({ requiredLimits: { maxWings: 2 } })),
            await thrown(() => lib.BroadPhase.create({ requiredFeatures: ["wings"] })),
        ];
    });
    assert.ok(told[0] > 0);
    assert.equal(told[1], true);
    assert.match(told[2], /^RangeError: the limit maxTextureDimension2D is asked to be \d+, the adapter has \d+$/);
    assert.match(told[3], /^RangeError: the limit maxWings cannot be asked for$/);
    assert.match(told[4], /^RangeError: the feature wings cannot be asked for; these can: depth-clip-control, /);
});

for (const cpu of [false, true]) {
    test(`${cpu ? "CPU" : "GPU"}: what cannot be taken is told with its numbers, and the next step works`, async () => {
        const told = await run(async (cpu) => {
            const broadPhase = await lib.BroadPhase.create({ cpu });
            const parted = await lib.BroadPhase.create({ cpu, worlds: 2 });
            const good = boxes(1, 500, 1.5);
            const gone = new Float32Array(12);
            structuredClone(gone, { transfer: [gone.buffer] });
            const bad = {
                objects: () => broadPhase.step({ objects: new Float32Array(7) }),
                bytes: () => broadPhase.step({ objects: new ArrayBuffer(40) }),
                plain: () => broadPhase.step({ objects: [0, 0, 0, 1, 1, 1] }),
                none: () => broadPhase.step({}),
                doubles: () => broadPhase.step({ objects: { boxes: new Float64Array(6) } }),
                layers: () => broadPhase.step({ objects: { boxes: good, layers: new Uint32Array(3) } }),
                groups: () => broadPhase.step({ objects: { boxes: good, groups: new Float32Array(500) } }),
                rays: () => broadPhase.step({ objects: good, rays: new Float32Array(8) }),
                halfExtents: () =>
                    broadPhase.step({
                        objects: good,
                        rays: { rays: new Float32Array(14), halfExtents: new Float32Array(5) },
                    }),
                spheres: () => broadPhase.step({ objects: good, queries: { spheres: new Float32Array(6) } }),
                excluded: () => broadPhase.step({ objects: good, excludedPairs: new Uint32Array(3) }),
                kinds: () => broadPhase.step({ objects: good, partners: {}, neighbors: { radius: 1 } }),
                unknown: () => broadPhase.step({ objects: good, queries: {} }),
                worlds: () => parted.step({ objects: good }),
                worldCount: () => parted.step({ objects: good, worlds: new Uint32Array(499) }),
                version: () => broadPhase.step({ objects: good, statics: { objects: good, version: 0.5 } }),
                option: () => lib.BroadPhase.create({ cpu, dimension: 2 }),
                dimensions: () => lib.BroadPhase.create({ cpu, dimensions: 4 }),
                scheme: () => lib.BroadPhase.create({ cpu, scheme: { type: "octree" } }),
                cellSize: () => lib.BroadPhase.create({ cpu, scheme: { type: "uniform", cellSize: 0 } }),
                margin: () => lib.BroadPhase.create({ cpu, margin: -1 }),
                noWorlds: () => lib.BroadPhase.create({ cpu, worlds: 0 }),
                rounds: () => broadPhase.createQuerySet({ capacities: { rounds: 5000 } }),
                ofBroadPhase: () => broadPhase.createQuerySet({ margin: 1 }),
                radius: () => broadPhase.step({ objects: good, neighbors: { radius: NaN } }),
                nearest: () => broadPhase.step({ objects: good, queries: { boxes: good, nearest: 0 } }),
                detached: () => broadPhase.step({ objects: gone }),
                detachedRows: () => broadPhase.step({ objects: good, rays: gone.buffer }),
                count: () => broadPhase.step({ objects: good, objectCount: { buffer: "three" } }),
            };
            const told = {};
            for (const [name, call] of Object.entries(bad)) {
                told[name] = await thrown(call);
            }
            broadPhase.step({ objects: good });
            equal(sorted(await broadPhase.readPairs()), pairsOf(good));
            broadPhase.dispose();
            parted.dispose();
            return told;
        }, cpu);
        const unfit =
            "TypeError: objects is none of these: a Float32Array, an ArrayBuffer, an object with boxes, " +
            "an object with buffer and count";
        assert.deepEqual(told, {
            objects: "TypeError: objects has 7 values, which is not a multiple of 6",
            bytes: "TypeError: objects has 40 bytes, which is not a multiple of 32",
            plain: unfit,
            none: unfit,
            doubles: "TypeError: objects.boxes is no Float32Array",
            layers: "TypeError: objects.layers has 3 values, 500 are needed for 500 rows",
            groups: "TypeError: objects.groups is no Uint32Array",
            rays: "TypeError: rays has 8 values, which is not a multiple of 7",
            halfExtents: "TypeError: rays.halfExtents has 5 values, 6 are needed for 2 rows",
            spheres: "TypeError: queries.spheres has 6 values, which is not a multiple of 4",
            excluded: "TypeError: excludedPairs has 3 values, which is not a multiple of 2",
            kinds: "TypeError: a step has queries of one kind, not neighbors and partners",
            unknown: "TypeError: queries is none of these: an object with boxes, an object with spheres",
            worlds: "TypeError: worlds is missing: there are 2 worlds",
            worldCount: "TypeError: worlds has 499 values, 500 are needed for 500 objects",
            version: "RangeError: statics.version is 0.5, a whole number from 0 to 4294967295 is needed",
            option: "TypeError: there is no option dimension",
            dimensions: "TypeError: dimensions is 4; it can be 2, 3",
            scheme: 'TypeError: scheme.type is "octree"; it can be "uniform", "adaptive"',
            cellSize: "RangeError: the cell size is 0: it must be between 2^-100 and 2^100",
            margin: "RangeError: the margin is -1: it must be finite and not negative",
            noWorlds: "RangeError: the number of worlds is 0: it must be at least 1",
            rounds: "RangeError: 5000 rounds: the maximum is 4096",
            ofBroadPhase: "TypeError: there is no option margin",
            radius: "RangeError: neighbors.radius is NaN, a finite length is needed",
            nearest: "RangeError: nearest is 0, it can be 1 to 1024",
            detached: "TypeError: objects is detached: its rows were transferred",
            detachedRows: "TypeError: rays is detached: its rows were transferred",
            count: "TypeError: objectCount.buffer is no GPUBuffer",
        });
    });
}

for (const cpu of [false, true]) {
    test(`${cpu ? "CPU" : "GPU"}: a name that is not known is refused, and an input that is no object`, async () => {
        const told = await run(async (cpu) => {
            const broadPhase = await lib.BroadPhase.create({ cpu });
            const objects = boxes(1, 500, 1.5);
            broadPhase.step({ objects });
            const set = broadPhase.createQuerySet();
            const step = (more) => thrown(() => broadPhase.step({ objects, ...more }));
            const told = [
                await step({ ray: rays(2, 5, 9) }),
                await step({ objects: { boxes: objects, group: new Uint32Array(500) } }),
                await step({ objects: { boxes: objects, count: 3 } }),
                await step({ statics: { objects, versions: 1 } }),
                await step({ rays: { rays: rays(2, 5, 9), layer: new Uint32Array(5) } }),
                await step({ queries: { boxes: objects, radius: 1 } }),
                await step({ queries: { boxes: objects, worlds: new Uint32Array(500) } }),
                await step({ queries: { spheres: new Float32Array(4), k: 1 } }),
                await step({ neighbors: { radius: 1, k: 2 } }),
                await step({ partners: { full: true } }),
                await step({ objectCount: { count: 3 } }),
                await thrown(() => set.query({ neighbours: { radius: 1 } })),
                await thrown(() => lib.BroadPhase.create({ cpu, capacities: { pair: 5 } })),
                await thrown(() => lib.BroadPhase.create({ cpu, scheme: { type: "uniform", cellSize: 1, size: 1 } })),
                await thrown(() => broadPhase.createQuerySet({ mode: "all" })),
                await thrown(() => broadPhase.step()),
                await thrown(() => broadPhase.step(null)),
                await thrown(() => broadPhase.step(objects)),
                await thrown(() => broadPhase.step([objects])),
                await thrown(() => broadPhase.step(5)),
                await thrown(() => set.query()),
                await step({ statics: null }),
                await step({ queries: objects }),
                await step({ neighbors: 1 }),
                await thrown(() => lib.BroadPhase.create(null)),
                await thrown(() => broadPhase.createQuerySet(7)),
            ];
            equal(sorted(await broadPhase.readPairs()), pairsOf(objects));
            broadPhase.step({ objects, rays: undefined, ray: undefined });
            equal(sorted(await broadPhase.readPairs()), pairsOf(objects));
            broadPhase.dispose();
            return told;
        }, cpu);
        const unknown = [
            "input ray",
            "objects.group",
            "objects.count",
            "statics.versions",
            "rays.layer",
            "queries.radius",
            "queries.worlds",
            "queries.k",
            "neighbors.k",
            "partners.full",
            "objectCount.count",
            "input neighbours",
            "option capacities.pair",
            "option scheme.size",
            "option mode",
        ];
        assert.deepEqual(
            told.slice(0, unknown.length),
            unknown.map((name) => `TypeError: there is no ${name}`),
        );
        const ofQuery = "rays, rayCount, queries, queryCount, neighbors, partners";
        const ofStep = `objects, objectCount, worlds, generations, statics, excludedPairs, pairFilterData, ${ofQuery}`;
        const needs = "an object is needed that may have";
        assert.deepEqual(told.slice(unknown.length, -2), [
            ...["undefined", "null", "Float32Array", "Array", "5"].map(
                (given) => `TypeError: the input of step is ${given}, ${needs} ${ofStep}`,
            ),
            `TypeError: the input of query is undefined, ${needs} ${ofQuery}`,
            `TypeError: statics is null, ${needs} objects, version, worlds, generations`,
            `TypeError: queries is Float32Array, ${needs} boxes, spheres, worlds, nearest`,
            `TypeError: neighbors is 1, ${needs} radius, half, nearest`,
        ]);
        assert.match(told.at(-2), /^TypeError: the argument is null, an object is needed that may have rayMode, /);
        assert.match(told.at(-1), /^TypeError: the argument is 7, an object is needed that may have rayMode, /);
    });

    test(`${cpu ? "CPU" : "GPU"}: worlds without the option worlds are refused`, async () => {
        const told = await run(async (cpu) => {
            const objects = new Float32Array([0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1]);
            const worlds = new Uint32Array([0, 1]);
            const cast = { rays: rays(2, 2, 9), worlds };
            const spheres = { spheres: new Float32Array(8), worlds };
            const told = [];
            for (const options of [{ cpu }, { cpu, worlds: 1 }]) {
                const broadPhase = await lib.BroadPhase.create(options);
                broadPhase.step({ objects });
                const set = broadPhase.createQuerySet();
                told.push([
                    await thrown(() => broadPhase.step({ objects, worlds })),
                    await thrown(() => broadPhase.step({ objects, statics: { objects, worlds } })),
                    await thrown(() => broadPhase.step({ objects, rays: cast })),
                    await thrown(() => broadPhase.step({ objects, queries: spheres })),
                    await thrown(() => set.query({ rays: cast })),
                    await thrown(() => set.query({ queries: spheres })),
                    await thrown(() => broadPhase.step({ objects, worlds: new Uint32Array(2) })),
                ]);
                equal(await broadPhase.readPairs(), [0, 1]);
                broadPhase.dispose();
            }
            return told;
        }, cpu);
        const names = ["worlds", "statics.worlds", "rays.worlds", "queries.worlds", "rays.worlds", "queries.worlds"];
        const needs = (name) => `TypeError: ${name} needs the option worlds, which says how many there are`;
        assert.deepEqual(told, [
            [...names, "worlds"].map(needs),
            [...names.map((name) => `RangeError: ${name} has the world 1, the option worlds is 1`), "nothing"],
        ]);
    });
}

test("GPU: buffers that cannot be used are told", async () => {
    const told = await run(async () => {
        const broadPhase = await lib.BroadPhase.create();
        const other = await lib.BroadPhase.create();
        const { device } = broadPhase;
        const mute = device.createBuffer({ size: 3200, usage: GPUBufferUsage.STORAGE });
        const short = broadPhase.createBuffer(64);
        const gone = broadPhase.createBuffer(boxes(1, 100, 1));
        gone.destroy();
        const rows = (buffer, count = 100) => ({ objects: { buffer, count } });
        const foreign = device.createBuffer({ size: 64, usage: GPUBufferUsage.COPY_SRC });
        const objects = boxes(4, 500, 1.5);
        const told = [
            await thrown(() => broadPhase.step(rows(mute))),
            await thrown(() => broadPhase.step(rows(short))),
            await thrown(() => broadPhase.step(rows("boxes"))),
            await thrown(() => broadPhase.step(rows(short, -1))),
            await thrown(() => broadPhase.step({ objects: { buffer: short, count: 1, offset: 2 } })),
            await thrown(() => broadPhase.step({ objects: { buffer: foreign, count: 1, offset: 2 } })),
            await thrown(() => broadPhase.step({ objects: { buffer: foreign, count: 1, stride: 34 } })),
            await thrown(() => broadPhase.step({ objects: { buffer: foreign, count: 2, stride: 28 } })),
            await thrown(() => broadPhase.step({ objects: { buffer: short, count: 1, words: "four" } })),
            await thrown(() => broadPhase.step({ objects: { buffer: short, count: 1, form: "ball" } })),
            await thrown(() => broadPhase.step({ objects, objectCount: { buffer: short, word: 0.5 } })),
            await thrown(() => broadPhase.step({ objects, objectCount: { buffer: short, word: 16 } })),
            await thrown(() => broadPhase.step({ objects, objectCount: { buffer: mute } })),
            await thrown(() => broadPhase.createBuffer(6)),
            await thrown(() => broadPhase.createBuffer(2 * device.limits.maxBufferSize)),
        ];
        const refused = async (buffer, count) => {
            broadPhase.step({ objects: { buffer, count, words: "none" } });
            return thrown(() => broadPhase.readPairs());
        };
        told.push(await refused(gone, 100), await refused(other.createBuffer(boxes(1, 100, 1)), 100));
        broadPhase.step({ objects });
        equal(sorted(await broadPhase.readPairs()), pairsOf(objects));
        const output = broadPhase.step({ objects });
        told.push(
            await thrown(() => output.rays),
            await thrown(() => output.events),
            await thrown(() => broadPhase.readEvents()),
        );
        const first = await lib.BroadPhase.create();
        told.push(
            await thrown(() => first.readPairs()),
            await thrown(() => first.createQuerySet().query({ rays: rays(1, 1, 1) })),
        );
        for (const each of [broadPhase, other, first]) each.dispose();
        return told;
    });
    const wanted = [
        /^TypeError: objects.buffer lacks GPUBufferUsage.COPY_SRC/,
        /^RangeError: objects.buffer has 64 bytes, 3200 are needed$/,
        /^TypeError: objects.buffer is no GPUBuffer$/,
        /^RangeError: objects.count is -1, a whole number/,
        /^RangeError: objects.offset is 2, which is not a multiple of 4$/,
        /^RangeError: objects.offset is 2, which is not a multiple of 4$/,
        /^RangeError: objects.stride is 34, which is not a multiple of 4$/,
        /^RangeError: objects.stride is 28, a row has 32 bytes$/,
        /^TypeError: objects.words is "four"; it can be "filters", "padding", "none"$/,
        /^TypeError: objects.form is "ball"; it can be "min-max", "center-half"$/,
        /^RangeError: objectCount.word is 0.5, a whole number/,
        /^RangeError: objectCount.buffer has 64 bytes, 68 are needed$/,
        /^TypeError: objectCount.buffer lacks GPUBufferUsage.COPY_SRC/,
        /^TypeError: a buffer of 6 bytes cannot be made/,
        /^RangeError: a buffer of \d+ bytes cannot be made: the device allows \d+$/,
        /^DeviceError: the device refused the step: /,
        /^DeviceError: the device refused the step: /,
        // Without rays, reading hits throws nothing and returns an empty list.
        /^nothing$/,
        /^NoResultError: the step has no events/,
        /^NoResultError: the step has no events/,
        /^NoResultError: there was no step yet$/,
        /^NoResultError: there was no step yet$/,
    ];
    for (const [index, pattern] of wanted.entries()) {
        assert.match(told[index], pattern);
    }
    assert.equal(told.length, wanted.length);
});

test("GPU: static rows are kept with their version, and only as they lie", async () => {
    await run(async () => {
        const broadPhase = await lib.BroadPhase.create({ order: "sorted" });
        const { device } = broadPhase;
        const moving = boxes(90, 300, 1.5, 9);
        const of = (seed) => boxes(seed, 200, 1.5, 9);
        const step = async (what, version, still, objects = still) => {
            broadPhase.step({ objects: moving, statics: { objects, version } });
            equal(
                await broadPhase.readPairs(),
                pairsOf(new Float32Array([...still, ...moving]), (a, b) => b >= 200),
                what,
            );
        };
        /** The same boxes in a buffer that is copied: rows of 32 bytes, or of 48 with centre and half extents. */
        const foreign = (still, wide) => {
            const rows = new Float32Array((wide ? 12 : 8) * 200);
            for (let box = 0; box < 200; box += 1) {
                for (let axis = 0; axis < 3; axis += 1) {
                    const [low, high] = [still[6 * box + axis], still[6 * box + 3 + axis]];
                    const at = (wide ? 12 : 8) * box + axis;
                    [rows[at], rows[at + 4]] = wide ? [(low + high) / 2, (high - low) / 2] : [low, high];
                }
            }
            const buffer = device.createBuffer({
                size: rows.byteLength,
                usage: GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
            });
            device.queue.writeBuffer(buffer, 0, rows);
            return { buffer, count: 200, words: "padding", ...(wide ? { stride: 48, form: "center-half" } : {}) };
        };
        await step("an array", 1, of(91));
        // Static objects with an unchanged version are not read again.
        broadPhase.step({ objects: moving, statics: { objects: of(92), version: 1 } });
        equal(
            await broadPhase.readPairs(),
            pairsOf(new Float32Array([...of(91), ...moving]), (a, b) => b >= 200),
            "kept",
        );
        // The version stays, but the row layout changes.
        for (const [what, rows] of [
            ["copied rows", foreign(of(91), false)],
            ["centres", foreign(of(91), true)],
            ["an array again", of(91)],
        ]) {
            broadPhase.step({ objects: moving.subarray(0, 6) });
            await step(what, 1, of(91), rows);
        }
        const own = broadPhase.createBuffer(of(93));
        await step("an own buffer", 2, of(93), { buffer: own, count: 200, words: "none" });
        broadPhase.step({ objects: moving.subarray(0, 6) });
        await step("its rows in an array", 2, of(93));
        broadPhase.dispose();
    });
});

for (const cpu of [false, true]) {
    test(`${cpu ? "CPU" : "GPU"}: undefined stands for what is left out`, async () => {
        await run(async (cpu) => {
            const none = {
                scheme: undefined,
                margin: undefined,
                capacities: { pairs: undefined },
                maxBytes: undefined,
            };
            const ofGpu = {
                pairFilter: undefined,
                requiredFeatures: undefined,
                requiredLimits: cpu ? undefined : { maxBufferSize: undefined },
            };
            const broadPhase = await lib.BroadPhase.create({ cpu, rayMode: "all", ...none, ...ofGpu });
            const objects = { boxes: boxes(1, 300, 1.5), layers: undefined, buffer: undefined };
            const cast = { rays: rays(2, 20, 7), worlds: undefined, buffer: undefined };
            const spheres = new Float32Array([1, 1, 1, 2]);
            broadPhase.step({
                objects,
                rays: cast,
                queries: { boxes: undefined, spheres, nearest: undefined },
                statics: undefined,
                worlds: undefined,
            });
            equal(sorted(await broadPhase.readPairs()), pairsOf(objects.boxes));
            equal([(await broadPhase.readQueryResults()).offsets.length], [2]);
            const hits = await broadPhase.readRayHits();
            const set = broadPhase.createQuerySet({ rayMode: undefined });
            set.query({ rays: cast });
            const again = await set.readRayHits();
            equal(lists(again.objects, again.offsets), lists(hits.objects, hits.offsets));
            broadPhase.dispose();
        }, cpu);
    });
}

test("a device that was opened for settings that are refused is destroyed", async () => {
    const reason = await run(async () => {
        let opened;
        const { requestDevice } = GPUAdapter.prototype;
        GPUAdapter.prototype.requestDevice = function (descriptor) {
            return (opened = requestDevice.call(this, descriptor));
        };
        const error = await thrown(() => lib.BroadPhase.create({ pairFilter: "fn admits(a: u32) {}" }));
        const lost = (await opened).lost.then(({ reason }) => reason);
        const late = new Promise((late) => setTimeout(late, 600000, "open"));
        return `${error.split(":")[0]}, ${await Promise.race([lost, late])}`;
    });
    assert.equal(reason, "RangeError, destroyed");
});

test("CPU: buffers and WGSL are refused by name", async () => {
    const told = await run(async () => {
        const gpu = await lib.BroadPhase.create();
        const cpu = await lib.BroadPhase.create({ cpu: true });
        if (cpu.device !== null) throw new Error("a device");
        const told = [
            await thrown(() => cpu.step({ objects: { buffer: gpu.createBuffer(320), count: 10 } })),
            await thrown(() => lib.BroadPhase.create({ cpu: true, pairFilter: "" })),
        ];
        gpu.dispose();
        cpu.dispose();
        return told;
    });
    assert.match(told[0], /^TypeError: objects is a GPUBuffer, and this broad phase is on the CPU$/);
    assert.match(told[1], /^TypeError: pairFilter is WGSL, and this broad phase is on the CPU$/);
});
