// Answers against brute force, in Node.js and Deno. Arguments: `cpu` or `gpu`, and `set` to set `navigator.gpu`.
import process from "node:process";
import "./page.js";

const [where, how] = process.argv.slice(2);
if (how === "set") {
    const { create, globals } = await import("webgpu");
    Object.assign(globalThis, globals);
    Object.defineProperty(globalThis, "navigator", { value: { gpu: create([]) }, configurable: true });
}
const before = Object.getOwnPropertyDescriptor(globalThis, "WorkerGlobalScope");
const cpu = where === "cpu";
const options = { order: "sorted", rayMode: "all" };
const broadPhase = await lib.BroadPhase.create({ cpu, events: true, ...options });
equal([Object.getOwnPropertyDescriptor(globalThis, "WorkerGlobalScope")], [before], "globals");
const objects = boxes(1, 1500, 1.5);
const wanted = pairsOf(objects);

broadPhase.step({ objects, rays: rays(2, 100, 12), neighbors: { radius: 1 } });
equal(await broadPhase.readPairs(), wanted, "pairs");
const [hits, near] = [await broadPhase.readRayHits(), await broadPhase.readQueryResults()];
equal([hits.objects.length > 50, near.objects.length > 1500], [true, true], "hits and neighbours");
equal([(await broadPhase.readEvents()).begun.length], [2 * wanted.length], "events");
const set = broadPhase.createQuerySet({ rayMode: "any" });
set.query({ rays: rays(2, 100, 12) });
equal((await set.readRayHits()).any.length ? [100] : [], [100], "a set");
const culling = broadPhase.createCulling();
culling.cull([{ planes: [1, 0, 0, -5] }]);
const seen = Array.from({ length: 1500 }, (_, box) => box).filter((box) => objects[6 * box + 3] >= 5);
equal((await culling.readVisible()).objects, seen, "culling");
const refused = await thrown(() => broadPhase.step({ objects: new Float32Array(5) }));
equal([refused], ["TypeError: objects has 5 values, which is not a multiple of 6"]);
if (!cpu) {
    const gone = broadPhase.device.createBuffer({ size: 64, usage: GPUBufferUsage.COPY_SRC });
    gone.destroy();
    broadPhase.step({ objects: { buffer: gone, count: 2 } });
    const error = await thrown(() => broadPhase.readPairs());
    equal([error.slice(0, 42)], ["DeviceError: the device refused the step: "]);
    const guest = await lib.BroadPhase.create({ device: broadPhase.device, ...options });
    guest.step({ objects });
    equal(await guest.readPairs(), wanted, "on the same device");
    guest.dispose();
    const buffer = broadPhase.createBuffer(objects);
    broadPhase.step({ objects: { buffer, count: 1500, words: "none" } });
    equal(await broadPhase.readPairs(), wanted, "after the guest is disposed of");
}
broadPhase.dispose();
equal([await thrown(() => broadPhase.readPairs())], ["DisposedError: the broad phase was disposed of"]);
console.log("all is equal");
