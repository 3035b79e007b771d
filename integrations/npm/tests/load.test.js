// The package loads in a plain page and in a Vite build. It reports a missing GPU or worker.
import { test } from "node:test";
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch, open } from "./browser.js";
import { project } from "./project.js";
import { serve } from "./serve.js";
import { suite } from "./suite.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const vite = join(root, "node_modules/vite/bin/vite.js");

const SCRIPT = (from) => `
import { BroadPhase } from ${JSON.stringify(from)};
const objects = new Float32Array([0, 0, 0, 1, 1, 1, 0.5, 0.5, 0.5, 2, 2, 2]);
const found = [];
for (const cpu of [false, true]) {
    const broadPhase = await BroadPhase.create({ cpu });
    broadPhase.step({ objects });
    found.push([...(await broadPhase.readPairs())].join(","));
    broadPhase.dispose();
}
document.title = found.join(" ");
`;
const page = (script) =>
    `<!doctype html><link rel="icon" href="data:,"><title>-</title><script type="module">${script}</script>`;

async function titleOf(address) {
    const browser = await launch();
    try {
        const tab = await open(browser, address);
        await tab
            .waitForFunction(() => document.title !== "-")
            .catch((error) => {
                throw new Error(`${tab.said.join("\n")}\n${error.message}`);
            });
        assert.deepEqual(tab.said, []);
        return await tab.title();
    } finally {
        await browser.close();
    }
}

test("a plain page with a relative import", async () => {
    const folder = project({ "index.html": page(SCRIPT("./node_modules/gpu-broad-phase/dist/index.js")) });
    const server = await serve({ "/": folder });
    assert.equal(await titleOf(`${server.address}/`), "0,1 0,1");
    server.close();
});

test("a page under a path, built by Vite", async () => {
    const folder = project({ "index.html": page('import "./main.js";'), "main.js": SCRIPT("gpu-broad-phase") });
    execFileSync(process.execPath, [vite, "build", "--base", "./", "--logLevel", "warn"], { cwd: folder });
    const deployed = join(folder, "site/deep");
    mkdirSync(deployed, { recursive: true });
    cpSync(join(folder, "dist"), deployed, { recursive: true });
    const modules = readdirSync(join(deployed, "assets")).filter((name) => name.endsWith(".wasm"));
    assert.equal(modules.length, 1, "the module is there once");
    const server = await serve({ "/": join(folder, "site") });
    assert.equal(await titleOf(`${server.address}/deep/`), "0,1 0,1");
    server.close();
});

test("Vite's development server", async () => {
    const folder = project({ "index.html": page('import "./main.js";'), "main.js": SCRIPT("gpu-broad-phase") });
    const port = 20000 + (process.pid % 20000);
    const server = spawn(process.execPath, [vite, "--host", "127.0.0.1", "--port", port, "--strictPort"], {
        cwd: folder,
    });
    try {
        await new Promise((ready, failed) => {
            server.stdout.on("data", (text) => String(text).includes("ready") && ready());
            server.on("exit", (status) => failed(new Error(`Vite ended with ${status}`)));
        });
        assert.equal(await titleOf(`http://127.0.0.1:${port}/`), "0,1 0,1");
    } finally {
        server.kill();
    }
});

test("CPU: a worker that cannot start or fails is an error by name, under an answer and later", async () => {
    const [page, other] = await Promise.all([serve({ "/": root }), serve({ "/": root })]);
    const browser = await launch({ gpu: false });
    const tab = await open(browser, `${page.address}/tests/page.html`);
    await tab.waitForFunction(() => globalThis.ready);
    const told = await tab.evaluate(async (other) => {
        const foreign = await import(`${other}/dist/index.js`);
        const told = [await thrown(() => foreign.BroadPhase.create({ cpu: true }))];
        // These identical boxes have more pairs than fit the module's memory.
        const broadPhase = await lib.BroadPhase.create({ cpu: true, events: true });
        broadPhase.step({ objects: new Float32Array(6 * 33000) });
        const reads = ["readPairs", "readEvents"];
        for (const name of reads) told.push(await thrown(() => broadPhase[name]()));
        broadPhase.step({ objects: new Float32Array(6) });
        told.push(await thrown(() => broadPhase.readPairs()));
        return told;
    }, other.address);
    const reads = await tab.evaluate(async () => {
        const broadPhase = await lib.BroadPhase.create({ cpu: true });
        broadPhase.step({ objects: new Float32Array(6 * 33000) });
        return [await thrown(() => broadPhase.readPairs()), await thrown(() => broadPhase.readCounters())];
    });
    await tab.route("**/worker.js", (route) => route.abort());
    told.push(await tab.evaluate(() => thrown(() => lib.BroadPhase.create({ cpu: true }))));
    const bare = await open(browser, `${page.address}/tests/page.html`);
    await bare.waitForFunction(() => globalThis.ready);
    await bare.route("**/*.wasm", (route) => route.abort());
    const unloaded = await bare.evaluate(() => thrown(() => lib.BroadPhase.create({ cpu: true })));
    await bare.unroute("**/*.wasm");
    // The next call tries again.
    const loaded = await bare.evaluate(() => thrown(() => lib.BroadPhase.create({ cpu: true })));
    await browser.close();
    page.close();
    other.close();
    assert.match(
        told[0],
        /^WorkerError: the worker could not be started, whose script has to come from the page's own origin: /,
    );
    const wanted = "WorkerError: the worker failed: ";
    const fault = `${wanted}the module has no memory left, or has a fault: unreachable`;
    assert.match(unloaded, /^ModuleError: the WebAssembly module could not be loaded: TypeError: Failed to fetch/);
    assert.equal(loaded, "nothing");
    assert.deepEqual(reads, [fault, fault]);
    assert.deepEqual(told.slice(1), [fault, fault, fault, `${wanted}it could not be loaded`]);
});

const { run } = suite({ gpu: false });

test("without WebGPU: an error by name, and the CPU answers", async () => {
    const told = await run(
        async () => {
            const has = navigator.gpu !== undefined;
            const none = await thrown(() => lib.BroadPhase.create());
            const broadPhase = await lib.BroadPhase.create({ cpu: true });
            const objects = boxes(1, 1000, 1.5);
            broadPhase.step({ objects });
            equal(sorted(await broadPhase.readPairs()), pairsOf(objects));
            broadPhase.dispose();
            Object.defineProperty(Navigator.prototype, "gpu", { get: () => undefined, configurable: true });
            return [has, none, await thrown(() => lib.BroadPhase.create())];
            // Chromium warns about the missing adapter.
        },
        undefined,
        { silent: false },
    );
    assert.match(
        told[1],
        told[0]
            ? /^NoWebGpuError: WebGPU has no adapter here$/
            : /^NoWebGpuError: this browser has no WebGPU/,
    );
    assert.match(told[2], /^NoWebGpuError: this browser has no WebGPU/);
});
