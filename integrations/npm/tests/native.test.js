// Results equal those of the native command line, byte for byte.
import { test } from "node:test";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { suite } from "./suite.js";

const { run, data, root } = suite();
const targets = process.env.CARGO_TARGET_DIR ?? join(root, "../../target");
// Mesa needs a runtime folder of the user.
const env = { XDG_RUNTIME_DIR: data, ...process.env };
const broadphase = (...words) =>
    execFileSync(join(targets, "debug/broadphase"), ["--quiet", ...words], { cwd: data, env });

for (const [kind, count, seed] of [
    ["uniform", 20000, 1],
    ["power-law", 8000, 2],
    ["lattice", 6000, 3],
    ["clustered", 5000, 4],
]) {
    test(`${count} boxes of the kind ${kind}: pairs and rays are those of the native command`, async () => {
        broadphase("generate", kind, "--count", count, "--seed", seed, "-o", "boxes.npy");
        broadphase("generate", "rays", "--count", 1500, "--seed", seed, "--side", 20, "-o", "rays.npy");
        broadphase("pairs", "boxes.npy", "-o", "pairs.npy");
        broadphase("rays", "boxes.npy", "rays.npy", "-o", "closest.npy");
        broadphase("rays", "boxes.npy", "rays.npy", "--mode", "all", "-o", "all.npy");
        broadphase("rays", "boxes.npy", "rays.npy", "--mode", "any", "-o", "any.npy");
        const counts = await run(async () => {
            const [objects, cast, pairs, closest, all, any] = await Promise.all(
                ["boxes", "rays", "pairs", "closest", "all", "any"].map((name) => npy(`/data/${name}.npy`)),
            );
            let hits = 0;
            for (const cpu of [false, true]) {
                const where = cpu ? "CPU" : "GPU";
                const broadPhase = await lib.BroadPhase.create({ cpu, order: "sorted" });
                broadPhase.step({ objects, rays: cast });
                equal(await broadPhase.readPairs(), pairs, `${where}: pairs`);
                const first = await broadPhase.readRayHits();
                const told = Array.from(first.objects, (object, ray) => [
                    ray,
                    object === lib.NO_OBJECT ? -1 : object,
                    first.t[ray],
                ]);
                equal(told.flat(), closest, `${where}: closest`);
                for (const rayMode of ["all", "any"]) {
                    const set = broadPhase.createQuerySet({ rayMode });
                    set.query({ rays: cast });
                    const found = await set.readRayHits();
                    if (rayMode === "any") {
                        equal(Array.from(found.any, (is, ray) => [ray, is]).flat(), any, `${where}: any`);
                    } else {
                        equal(
                            lists(found.objects, found.offsets)
                                .flatMap((row, ray) => row.map((object) => [ray, object]))
                                .flat(),
                            all,
                            `${where}: all`,
                        );
                        hits = found.objects.length;
                    }
                    set.dispose();
                }
                broadPhase.dispose();
            }
            return [pairs.length / 2, hits];
        });
        console.log(`${kind}: ${counts[0]} pairs, ${counts[1]} hits of all rays`);
        assert.ok(counts[0] > 3000 && counts[1] > 100, String(counts));
    });
}
