// Lifetime of devices, buffers and memory.
import { test } from "node:test";
import assert from "node:assert/strict";
import { suite } from "./suite.js";

const { run } = suite();

test("a lost device rejects every promise and is told by every call", async () => {
    const told = await run(async () => {
        const broadPhase = await lib.BroadPhase.create({ events: true });
        const set = broadPhase.createQuerySet();
        const objects = boxes(1, 2000, 1.5);
        broadPhase.step({ objects, rays: rays(2, 10, 12), partners: {} });
        set.query({ rays: rays(2, 10, 12), queries: { boxes: boxes(7, 5, 3, 9) } });
        await broadPhase.readPairs();
        broadPhase.step({ objects, rays: rays(2, 10, 12), partners: {} });
        const reads = (of) =>
            [
                "readPairs",
                "readWorldPairs",
                "readWorldOffsets",
                "readRayHits",
                "readQueryResults",
                "readCounters",
                "readEvents",
            ].filter((name) => name in of);
        const pending = [broadPhase, set].flatMap((of) => reads(of).map((name) => thrown(() => of[name]())));
        broadPhase.device.destroy();
        const under = await Promise.all(pending);
        const later = await Promise.all(
            [broadPhase, set].flatMap((of) => reads(of).map((name) => thrown(() => of[name]()))),
        );
        const calls = [
            () => broadPhase.step({ objects }),
            () => set.query({ rays: rays(2, 1, 1) }),
            () => broadPhase.createBuffer(16),
            () => broadPhase.createQuerySet(),
        ];
        const thrownBy = await Promise.all(calls.map(thrown));
        broadPhase.dispose();
        const after = await thrown(() => broadPhase.step({ objects }));
        const next = await lib.BroadPhase.create();
        next.step({ objects });
        equal(sorted(await next.readPairs()), pairsOf(objects));
        next.dispose();
        return { under, later, thrownBy, after };
    });
    assert.equal(told.under.length, 10);
    for (const error of [...told.under, ...told.later, ...told.thrownBy]) {
        assert.match(error, /^DeviceLostError: the device is lost: /);
    }
    assert.match(told.after, /^(DisposedError|DeviceLostError)/);
});

for (const cpu of [false, true]) {
    test(`${cpu ? "CPU" : "GPU"}: disposing twice is fine, and use after that is an error by name`, async () => {
        const told = await run(async (cpu) => {
            const broadPhase = await lib.BroadPhase.create({ cpu });
            const objects = boxes(3, 3000, 1.5);
            broadPhase.step({ objects });
            const set = broadPhase.createQuerySet();
            const gone = broadPhase.createQuerySet();
            gone.dispose();
            gone.dispose();
            const ofSet = [await thrown(() => gone.query({})), await thrown(() => gone.readRayHits())];
            equal(sorted(await broadPhase.readPairs()), pairsOf(objects));
            const pending = [thrown(() => broadPhase.readPairs()), thrown(() => broadPhase.readCounters())];
            broadPhase.dispose();
            broadPhase.dispose();
            set.dispose();
            const calls = [
                () => broadPhase.step({ objects }),
                () => broadPhase.readPairs(),
                () => broadPhase.readCounters(),
                () => broadPhase.createQuerySet(),
                () => set.query({}),
                () => set.readRayHits(),
            ];
            return [...ofSet, ...(await Promise.all(pending)), ...(await Promise.all(calls.map(thrown)))];
        }, cpu);
        for (const error of told) {
            assert.match(error, /^DisposedError: the (broad phase|set of queries) was disposed of$/);
        }
    });
}

for (const cpu of [false, true]) {
    test(`${cpu ? "CPU" : "GPU"}: a set that is disposed of under an answer rejects it by name`, async () => {
        const told = await run(async (cpu) => {
            const objects = boxes(4, 3000, 3);
            const cast = rays(5, 400, 14);
            const broadPhase = await lib.BroadPhase.create({ cpu, rayMode: "all" });
            broadPhase.step({ objects });
            await broadPhase.readPairs();
            const told = [];
            // On the GPU, hits overflow, so the query is read, settled and repeated.
            for (const delay of [undefined, 0, 5, 10, 20]) {
                const set = broadPhase.createQuerySet({ capacities: { hits: 1 } });
                set.query({ rays: cast, queries: { boxes: objects.subarray(0, 60) } });
                const pending = ["readRayHits", "readQueryResults", "readCounters"].map((name) =>
                    thrown(() => set[name]()),
                );
                if (delay !== undefined) await new Promise((later) => setTimeout(later, delay));
                set.dispose();
                told.push(await Promise.all(pending));
            }
            equal(sorted(await broadPhase.readPairs()), pairsOf(objects));
            broadPhase.dispose();
            return told;
        }, cpu);
        const wanted = "DisposedError: the set of queries was disposed of";
        assert.deepEqual(told[0], [wanted, wanted, wanted]);
        assert.ok(
            told.flat().every((error) => error === wanted || error === "nothing"),
            String(told),
        );
    });
}

test("5,000 frames: memory of the module, buffers and the heap stay as they are", async () => {
    const marks = await run(async () => {
        const { default: init } = await import("/dist/wasm/gpu_broad_phase.js");
        const { memory } = await init();
        let created = 0;
        const { createBuffer } = GPUDevice.prototype;
        GPUDevice.prototype.createBuffer = function (descriptor) {
            created += 1;
            return createBuffer.call(this, descriptor);
        };
        const broadPhase = await lib.BroadPhase.create({ events: true });
        const picking = broadPhase.createQuerySet();
        const objects = boxes(5, 150, 1.2);
        const cast = rays(6, 8, 5);
        const own = broadPhase.createBuffer(objects);
        const measure = async () => ({ created, wasm: memory.buffer.byteLength, objects: await liveObjects() });
        const marks = [];
        const begin = performance.now();
        for (let frame = 0; frame < 5000; frame += 1) {
            const move = Math.sin(frame / 50) / 100;
            for (let value = 0; value < objects.length; value += 6) {
                objects[value] += move;
                objects[value + 3] += move;
            }
            broadPhase.step(
                frame % 2 === 0
                    ? { objects, rays: cast }
                    : { objects: { buffer: own, count: 150, words: "none" }, rays: cast },
            );
            picking.query({ rays: cast });
            if (frame % 4 === 0)
                await Promise.all([broadPhase.readPairs(), broadPhase.readEvents(), picking.readRayHits()]);
            else await broadPhase.device.queue.onSubmittedWorkDone();
            if (frame % 1000 === 999) marks.push(await measure());
        }
        console.log(`${(performance.now() - begin) / 5000} ms per frame`);
        broadPhase.dispose();
        return marks;
    });
    console.log(`after each 1,000 frames: ${JSON.stringify(marks)}`);
    const [early, late] = [marks[0], marks.at(-1)];
    assert.equal(late.wasm, early.wasm, "memory of the module");
    assert.ok(
        late.created - early.created <= 8,
        `${early.created} buffers after 1,000 frames, ${late.created} after 5,000`,
    );
    // The heap grows by a few bytes per frame for V8's compiled code, so objects are compared.
    assert.ok(Math.abs(late.objects - early.objects) <= 50, `${early.objects} objects, then ${late.objects}`);
});

test("broad phases that come and go leave no device and no memory of the module behind", async () => {
    const [sizes, reasons, objects] = await run(async () => {
        const { default: init } = await import("/dist/wasm/gpu_broad_phase.js");
        const { memory } = await init();
        const [sizes, reasons, objects] = [[], [], []];
        for (let turn = 0; turn < 7; turn += 1) {
            const broadPhase = await lib.BroadPhase.create({ events: true });
            const buffer = broadPhase.createBuffer(boxes(turn, 3000, 1));
            broadPhase.step({
                objects: { buffer, count: 3000, words: "none" },
                statics: { objects: boxes(turn, 50, 1) },
            });
            const set = broadPhase.createQuerySet();
            set.query({ rays: rays(turn, 10, 14) });
            await Promise.all([broadPhase.readPairs(), broadPhase.readEvents(), set.readRayHits()]);
            if (turn % 2 === 0) buffer.destroy();
            broadPhase.dispose();
            reasons.push((await broadPhase.device.lost).reason);
            sizes.push(memory.buffer.byteLength);
            if (turn % 5 === 1) objects.push(await liveObjects());
        }
        return [sizes, reasons, objects];
    });
    assert.deepEqual(new Set(reasons), new Set(["destroyed"]));
    assert.equal(sizes.at(-1), sizes[1], String(sizes));
    assert.ok(objects.at(-1) - objects[0] <= 100, `${objects} objects`);
});
