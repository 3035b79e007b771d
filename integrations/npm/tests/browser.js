// Starts Chromium with software WebGPU and without external requests.
import { chromium } from "playwright-core";

const FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
];
const GPU_FLAGS = [
    "--enable-unsafe-webgpu",
    "--use-webgpu-adapter=swiftshader",
    "--enable-features=Vulkan",
    // Without these flags, the device is lost when a canvas texture is first used.
    "--use-angle=vulkan",
    "--use-vulkan=swiftshader",
];

/** Timeout in milliseconds, long enough for a busy machine. */
const GUARD = 600000;

export function launch({ gpu = true, flags = [] } = {}) {
    const off = gpu ? GPU_FLAGS : ["--disable-features=WebGPU", "--disable-gpu"];
    return chromium.launch({
        executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
        args: [...FLAGS, ...off, ...flags],
        timeout: GUARD,
    });
}

/** Opens a page and collects its console warnings and errors. */
export async function open(browser, address) {
    const page = await browser.newPage();
    page.setDefaultTimeout(GUARD);
    page.said = [];
    page.on("console", (message) => {
        if (["error", "warning"].includes(message.type())) {
            page.said.push(message.text());
        }
    });
    page.on("pageerror", (error) => page.said.push(String(error)));
    await page.goto(address);
    return page;
}

/** Number of live JavaScript objects, arrays and functions. V8's compiled code is not counted. */
export async function liveObjects(page) {
    const session = await page.context().newCDPSession(page);
    const chunks = [];
    session.on("HeapProfiler.addHeapSnapshotChunk", ({ chunk }) => chunks.push(chunk));
    // A snapshot collects garbage first. This extra collection also frees objects with finalizers.
    await session.send("HeapProfiler.collectGarbage");
    await session.send("HeapProfiler.takeHeapSnapshot");
    await session.detach();
    const { nodes, snapshot, strings } = JSON.parse(chunks.join(""));
    const { node_fields: fields, node_types: types } = snapshot.meta;
    const counted = ["object", "closure", "array", "native"].map((type) => types[0].indexOf(type));
    const [type, name] = [fields.indexOf("type"), fields.indexOf("name")];
    let count = 0;
    for (let node = 0; node < nodes.length; node += fields.length) {
        count += counted.includes(nodes[node + type]) && !strings[nodes[node + name]].startsWith("system /") ? 1 : 0;
    }
    return count;
}
