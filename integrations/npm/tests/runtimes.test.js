// Node.js and Deno: on the CPU, and on the GPU by the package `webgpu` (Dawn) and by Deno's WebGPU.
import { test } from "node:test";
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { project } from "./project.js";

const tests = fileURLToPath(new URL(".", import.meta.url));
const runtimes = join(tests, "runtimes/node_modules");
const swiftShader = "/usr/lib/chromium/vk_swiftshader_icd.json";
const env = { ...process.env, ...(existsSync(swiftShader) && { VK_ICD_FILENAMES: swiftShader }) };
const BARE = `
import { BroadPhase, NoWebGpuError } from "gpu-broad-phase";
const refusal = await BroadPhase.create().catch((error) => error);
console.log(refusal instanceof NoWebGpuError, refusal.message);
`;
const files = {
    "script.js": readFileSync(join(tests, "runtimes/script.js")),
    "page.js": readFileSync(join(tests, "page.js")),
    "bare.js": BARE,
    "gpu.js": `Object.defineProperty(globalThis, "navigator", { value: { gpu: {} } });${BARE}`,
    "keep.js": `
import { BroadPhase } from "gpu-broad-phase";
const broadPhase = await BroadPhase.create({ cpu: true });
broadPhase.step({ objects: new Float32Array(12) });
console.log(await broadPhase.readPairs());
`,
};
const [bare, folder] = [project(files), project(files)];
for (const name of ["webgpu", "@webgpu"]) {
    symlinkSync(join(runtimes, name), join(folder, "node_modules", name));
}
const NODES = { "this Node.js": [process.execPath], "Node.js 22": [join(runtimes, ".bin/node")] };
const DENO = [join(runtimes, ".bin/deno"), "run", "--no-config", "--node-modules-dir=manual", "--allow-read"];

/** Runs a script until its process ends by itself. Returns what it prints. */
function run([command, ...words], script, { cwd = folder, more = {} } = {}) {
    return new Promise((resolve, reject) => {
        const settings = { cwd, env: { ...env, ...more }, timeout: 600000 };
        execFile(command, [...words, ...script.split(" ")], settings, (error, printed, told) =>
            error ? reject(new Error(`${error.message}\n${printed}${told}`)) : resolve(printed.trim()),
        );
    });
}

for (const [name, runtime] of [...Object.entries(NODES), ["Deno", DENO]]) {
    test(`${name}, CPU`, async () => assert.equal(await run(runtime, "script.js cpu"), "all is equal"));
    test(`${name}, GPU`, async () => assert.equal(await run(runtime, "script.js gpu"), "all is equal"));
}

for (const [name, runtime] of Object.entries(NODES)) {
    test(`${name}, GPU by navigator.gpu`, async () =>
        assert.equal(await run(runtime, "script.js gpu set"), "all is equal"));

    test(`${name}: the process ends without dispose`, async () =>
        assert.match(await run(runtime, "keep.js"), /^Uint32Array\(2\) \[ 0, 1 \]$/));

    test(`${name}: without the package, its globals or an adapter, a NoWebGpuError`, async () => {
        const none = await run(runtime, "bare.js", { cwd: bare });
        assert.match(none, /^true there is no navigator.gpu, .* npm package webgpu, .*'webgpu'/);
        const partial = await run(runtime, "gpu.js", { cwd: bare });
        assert.match(partial, /^true there is WebGPU but not GPUBuffer: .* webgpu global/);
        const more = { VK_ICD_FILENAMES: "/none" };
        assert.equal(await run(runtime, "bare.js", { more }), "true WebGPU has no adapter here");
    });
}
