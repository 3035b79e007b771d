// Culling against the definition and the CPU; the text of the table against the answers of the same step.
import { test } from "node:test";
import assert from "node:assert/strict";
import { suite } from "./suite.js";

const { run } = suite();

for (const scheme of ["hierarchical", { type: "uniform", cellSize: 1.5 }]) {
    test(`${scheme.type ?? scheme}: views see what the definition says, on GPU and CPU`, async () => {
        const seen = await run(async (scheme) => {
            const [count, still] = [3000, 500];
            const objects = boxes(91, count, 1.5);
            const next = random(92);
            const layers = Uint32Array.from({ length: count }, () => ((1 << (4 * next())) | 0xffff0000) >>> 0);
            const plane = () => {
                const normal = [next() - 0.5, next() - 0.5, next() - 0.5];
                return [...normal, -normal.reduce((sum, value) => sum + value * (2 + 10 * next()), 0)];
            };
            const views = Array.from({ length: 20 }, (_, view) => ({
                planes: Array.from({ length: view % 9 }, plane).flat(),
                layers: view % 3 === 0 ? 0xffff0003 : 0xffffffff,
            }));
            views.push({ planes: [NaN, 0, 0, 0] });
            // A camera in the middle that looks along -z, as three.js makes it.
            const [near, far] = [0.1, 100];
            const depth = far / (near - far);
            const matrix = [1, 0, 0, 0, /**/ 0, 1, 0, 0, /**/ 0, 0, depth, -1, /**/ -7, -7, (near - 7) * depth, 7];
            views.push({ viewProjection: matrix });
            // Distance of the box's farthest corner, scaled, so that rounding may only matter near 0.
            const side = ([x, y, z, d], box) => {
                const corner = [x, y, z].map((n, axis) => n * objects[6 * box + (n > 0 ? 3 : 0) + axis]);
                const size = corner.reduce((sum, term) => sum + Math.abs(term), Math.abs(d));
                return (corner[0] + corner[1] + corner[2] + d) / size;
            };
            const rows = [0, 1, 2, 3].map((row) => [0, 1, 2, 3].map((column) => matrix[4 * column + row]));
            const plus = (a, b, sign) => a.map((value, at) => value + sign * b[at]);
            const [x, y, z, w] = rows;
            const camera = [plus(w, x, 1), plus(w, x, -1), plus(w, y, 1), plus(w, y, -1), z, plus(w, z, -1)];
            const planesOf = (view) =>
                view.planes === undefined
                    ? camera
                    : Array.from({ length: view.planes.length / 4 }, (_, at) => view.planes.slice(4 * at, 4 * at + 4));
            const results = [];
            for (const cpu of [false, true]) {
                const broadPhase = await lib.BroadPhase.create({ cpu, scheme });
                broadPhase.step({
                    objects: { boxes: objects.subarray(6 * still), layers: layers.subarray(still) },
                    statics: { objects: { boxes: objects.subarray(0, 6 * still), layers: layers.subarray(0, still) } },
                });
                const culling = broadPhase.createCulling();
                const output = culling.cull(views, { listCapacity: 0xffffffff, draw: { indices: 36 } });
                results.push(await culling.readVisible());
                if (!cpu) {
                    const { device } = broadPhase;
                    const [{ objects, offsets }] = results;
                    equal((await download(device, output.lists.buffer)).slice(0, objects.length), objects, "lists");
                    equal((await download(device, output.lists.offsets)).slice(0, offsets.length), offsets, "offsets");
                    const draws = [...offsets.slice(1)].flatMap((end, view) => [36, end - offsets[view], 0, 0, 0]);
                    equal((await download(device, output.draws)).slice(0, draws.length), draws, "draws");
                    equal((await download(device, output.counters)).slice(0, 1), [1], "invalid views");
                    const bits = await download(device, output.visible);
                    const first = objects.slice(0, offsets[1]);
                    const bit = (object) => (bits[object >> 5] >>> (object & 31)) & 1;
                    equal([...first].map(bit), first.map(() => 1), "bits");
                    // The same views as rows, in host and device memory.
                    const [words, floats] = [new Uint32Array(36 * 20), new Float32Array(36 * 20)];
                    views.slice(0, 20).forEach(({ planes, layers }, row) => {
                        floats.set(planes, 36 * row);
                        words.set(new Uint32Array(floats.buffer, 144 * row, 36), 36 * row);
                        words.set([planes.length / 4, layers, 0], 36 * row + 32);
                    });
                    const buffer = broadPhase.createBuffer(words);
                    for (const rows of [words.buffer, { buffer, count: 20 }]) {
                        culling.cull(rows);
                        const again = await culling.readVisible();
                        equal(again.offsets, offsets.slice(0, 21), "offsets of rows");
                        equal(again.objects, objects.slice(0, offsets[20]), "rows");
                    }
                }
                culling.dispose();
                broadPhase.dispose();
            }
            const [gpu, cpu] = results;
            equal(gpu.objects, cpu.objects, "GPU and CPU");
            equal(gpu.offsets, cpu.offsets, "GPU and CPU");
            equal([gpu.invalid, cpu.invalid], [1, 1], "invalid");
            const lists = views.map((_, view) => new Set(gpu.objects.slice(gpu.offsets[view], gpu.offsets[view + 1])));
            views.forEach((view, at) => {
                for (let box = 0; box < count && at !== 20; box += 1) {
                    const isOnLayer = (layers[box] & ((view.layers ?? 0xffffffff) >>> 16) & 0xffff) !== 0;
                    const meets = isOnLayer && ((view.layers ?? 0xffffffff) & (layers[box] >>> 16) & 0xffff) !== 0;
                    const far = meets ? Math.min(1, ...planesOf(view).map((plane) => side(plane, box))) : -1;
                    if (Math.abs(far) > 1e-5 && lists[at].has(box) !== far > 0)
                        throw new Error(`view ${at}, box ${box}: ${far}`);
                }
            });
            return lists.map(({ size }) => size);
        }, scheme);
        console.log(`objects in each view: ${seen}`);
        assert.ok(seen.filter((size) => size > 50 && size < 2900).length > 8, String(seen));
    });
}

test("views and options that do not fit, a missing cull and a disposed one are errors by name", async () => {
    const told = await run(async () => {
        const told = [];
        for (const cpu of [false, true]) {
            const broadPhase = await lib.BroadPhase.create({ cpu });
            const culling = broadPhase.createCulling();
            told.push(await thrown(() => culling.cull([])));
            broadPhase.step({ objects: boxes(1, 10) });
            told.push(await thrown(() => culling.readVisible()));
            for (const views of [
                [{ planes: new Float32Array(33) }],
                [{ viewProjection: [1] }],
                [{ layers: 1 }],
                [{ planes: [], depth: 1 }],
                Array(33).fill({ planes: [] }),
                new ArrayBuffer(143),
                5,
            ])
                told.push(await thrown(() => culling.cull(views)));
            culling.cull([{ planes: [] }]);
            const pending = thrown(() => culling.readVisible());
            culling.dispose();
            culling.dispose();
            told.push(await pending, await thrown(() => culling.cull([])), await thrown(() => culling.readVisible()));
            if (!cpu) {
                const other = broadPhase.createCulling();
                const buffer = broadPhase.device.createBuffer({ size: 144, usage: 0x80 });
                told.push(await thrown(() => other.cull({ buffer, count: 1 })));
                told.push(await thrown(() => other.cull({ buffer, count: 2 })));
                told.push(await thrown(() => other.cull([], { draw: { faces: 1 } })));
            }
            broadPhase.dispose();
        }
        return told;
    });
    const both = [
        "NoResultError: there was no step yet",
        "NoResultError: there was no cull yet",
        "TypeError: views[0].planes has 33 numbers, up to 8 times 4 are needed",
        "TypeError: views[0].viewProjection has 1 numbers, 16 are needed",
        "TypeError: views[0] is none of these: an object with planes, an object with viewProjection",
        "TypeError: there is no views[0].depth",
        "RangeError: there are 33 views, 32 are the most",
        "TypeError: views has 143 bytes, which is not a multiple of 144",
        "TypeError: views is 5, an object is needed that may have buffer, count, offset",
        ...Array(3).fill("DisposedError: the culling was disposed of"),
    ];
    assert.deepEqual(told, [
        ...both,
        "TypeError: views.buffer was not made by createBuffer",
        "RangeError: views.buffer has 144 bytes, 288 are needed",
        "TypeError: there is no option draw.faces",
        ...both,
    ]);
});

for (const scheme of ["hierarchical", { type: "uniform", cellSize: 1.5 }, { type: "adaptive", minScale: 0.5 }]) {
    test(`${scheme.type ?? scheme}: shaders that search the table find what the step finds`, async () => {
        const found = await run(async (scheme) => {
            const broadPhase = await lib.BroadPhase.create({ scheme, filters: scheme !== "hierarchical" });
            const { device } = broadPhase;
            const [moving, fixed] = [boxes(93, 1500, 1.5), boxes(94, 300, 1.5, 11)];
            const cast = rays(95, 64, 11).map((value, at) => (at % 7 === 6 ? 30 : value));
            const spheres = Float32Array.from({ length: 256 }, (_, at) => (at % 4 === 3 ? 1 : (7.3 * at) % 11));
            const table = broadPhase.createTableShader({ rays: "plain" });
            const statics = table.second("static_", 2);
            const code = `${table.source}${statics.source}
                struct Search { sphere: vec4f, origin: vec3f, t_max: f32, direction: vec3f, found: vec4u }
                @group(0) @binding(0) var<storage, read_write> searches: array<Search>;
                @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
                    var sum = vec2u();
                    let search = searches[id.x];
                    var walk = bp_begin_walk(bp_sphere_query(search.sphere.xyz, search.sphere.w));
                    while (bp_next_object(&walk)) { sum += vec2u(1, walk.object); }
                    var other = static_begin_walk(static_sphere_query(search.sphere.xyz, search.sphere.w));
                    while (static_next_object(&other)) { sum += vec2u(1, other.object); }
                    let hit = bp_closest_hit(bp_ray(search.origin, search.direction, search.t_max));
                    let far = static_closest_hit(static_ray(search.origin, search.direction, search.t_max));
                    let object = select(hit.object, far.object, far.t <= hit.t);
                    searches[id.x].found = vec4u(sum, object, bitcast<u32>(min(hit.t, far.t)));
                }`;
            const own = device.createBindGroupLayout({
                entries: [{ binding: 0, visibility: GPUShaderStage.COMPUTE, buffer: { type: "storage" } }],
            });
            const pipeline = device.createComputePipeline({
                layout: device.createPipelineLayout({ bindGroupLayouts: [own, table.layout, statics.layout] }),
                compute: { module: device.createShaderModule({ code }) },
            });
            const searches = Float32Array.from({ length: 16 * 64 }, (_, at) => {
                const [row, column] = [at >> 4, at & 15];
                const [low, high] = [cast[7 * row + column - 4], cast[7 * row + column - 5]];
                if (column < 4) return spheres[4 * row + column];
                return column < 7 ? low : column === 7 ? cast[7 * row + 6] : high;
            });
            const buffer = broadPhase.createBuffer(searches);
            const none = await thrown(() => table.bind());
            broadPhase.step({ objects: moving });
            const unfixed = await thrown(() => statics.bind("statics"));
            broadPhase.step({ objects: moving, statics: { objects: fixed }, rays: cast, queries: { spheres } });
            const encoder = device.createCommandEncoder();
            const pass = encoder.beginComputePass();
            pass.setPipeline(pipeline);
            const entries = [{ binding: 0, resource: { buffer } }];
            pass.setBindGroup(0, device.createBindGroup({ layout: own, entries }));
            pass.setBindGroup(1, table.bind());
            pass.setBindGroup(2, statics.bind("statics"));
            pass.dispatchWorkgroups(1);
            pass.end();
            device.queue.submit([encoder.finish()]);
            const words = (await download(device, buffer)).filter((_, at) => (at & 15) > 11);
            const [near, hits] = [await broadPhase.readQueryResults(), await broadPhase.readRayHits()];
            const bits = new Uint32Array(hits.t.buffer);
            const wanted = lists(near.objects, near.offsets).flatMap((row, at) => [
                row.length,
                row.reduce((sum, object) => sum + object, 0),
                hits.objects[at],
                hits.objects[at] === lib.NO_OBJECT ? words[4 * at + 3] : bits[at],
            ]);
            equal(words, wanted, "shader and step");
            const prefix = await thrown(() => broadPhase.createTableShader({ prefix: "un-" }));
            const same = await thrown(() => table.second("bp_", 2));
            broadPhase.dispose();
            const hit = [...hits.objects].filter((object) => object !== lib.NO_OBJECT).length;
            return [near.objects.length, hit, none, unfixed, prefix, same, await thrown(() => table.bind())];
        }, scheme);
        assert.ok(found[0] > 64 && found[1] > 20, String(found));
        assert.equal(found[2], "NoResultError: no step to query, or the last one failed: call step first");
        assert.equal(found[3], "NoResultError: the step has no static objects");
        assert.match(found[4], /^RangeError: .*un-/);
        assert.match(found[5], /^RangeError: .*bp_/);
        assert.match(found[6], /^DisposedError/);
    });
}

test("a page's own device is used, shared and left alone", async () => {
    const told = await run(async () => {
        const device = await (await navigator.gpu.requestAdapter()).requestDevice();
        const objects = boxes(96, 2000, 1.5);
        const [a, b] = [await lib.BroadPhase.create({ device }), await lib.BroadPhase.create({ device, events: true })];
        equal([a.device === device, b.device === device], [true, true]);
        const buffer = device.createBuffer({ size: objects.byteLength, usage: 0x8 | 0x4, mappedAtCreation: true });
        new Float32Array(buffer.getMappedRange()).set(objects);
        buffer.unmap();
        for (const input of [objects, { buffer, count: 2000, words: "none" }]) {
            a.step({ objects: input });
            b.step({ objects: objects.subarray(0, 600) });
            equal(sorted(await a.readPairs()), pairsOf(objects));
            equal(sorted(await b.readPairs()), pairsOf(objects.subarray(0, 600)));
        }
        const pending = thrown(() => b.readEvents());
        b.dispose();
        const told = [await pending];
        a.step({ objects });
        equal(sorted(await a.readPairs()), pairsOf(objects), "after the other");
        told.push(await thrown(() => lib.BroadPhase.create({ device, powerPreference: "low-power" })));
        told.push(await thrown(() => lib.BroadPhase.create({ device: {} })));
        told.push(await thrown(() => lib.BroadPhase.create({ device, margin: -1 })));
        a.step({ objects });
        equal(sorted(await a.readPairs()), pairsOf(objects), "after a refusal");
        device.destroy();
        await device.lost;
        told.push(await thrown(() => a.readPairs()));
        return told;
    });
    assert.equal(told[0], "DisposedError: the broad phase was disposed of");
    assert.equal(told[1], "TypeError: powerPreference is for a new device, and device is given");
    assert.equal(told[2], "TypeError: device is no GPUDevice");
    assert.match(told[3], /^RangeError: /);
    assert.match(told[4], /^DeviceLostError: the device is lost: /);
});
