// The three.js example draws, counts overlaps and highlights boxes on the broad phase's device.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch, open } from "./browser.js";
import { serve } from "./serve.js";

const folder = fileURLToPath(new URL("../examples/three/", import.meta.url));
let browser;
let server;

before(async () => {
    execFileSync(process.execPath, [join(folder, "node_modules/vite/bin/vite.js"), "build", "--logLevel", "error"], {
        cwd: folder,
    });
    server = await serve({ "/": join(folder, "dist") });
    browser = await launch();
});
after(async () => {
    await browser?.close();
    server?.close();
});

/** Mean colour of nine pixels around a point of the page. */
async function colorAt(page, x, y) {
    const picture = (await page.screenshot({ clip: { x: x - 1, y: y - 1, width: 3, height: 3 } })).toString("base64");
    return page.evaluate(async (picture) => {
        const image = new Image();
        image.src = `data:image/png;base64,${picture}`;
        await image.decode();
        const context = new OffscreenCanvas(3, 3).getContext("2d");
        context.drawImage(image, 0, 0);
        const { data } = context.getImageData(0, 0, 3, 3);
        return [0, 1, 2].map((channel) =>
            data.reduce((sum, value, index) => sum + (index % 4 === channel ? value / 9 : 0), 0),
        );
    }, picture);
}

test("boxes are coloured by their overlaps, and the box under the mouse lights up", async () => {
    const page = await open(browser, `${server.address}/?boxes=2000`);
    const frame = () => page.evaluate(() => Number(document.documentElement.dataset.frames ?? 0));
    const further = async () => {
        const now = await frame();
        await page.waitForFunction((least) => Number(document.documentElement.dataset.frames) > least, now + 3);
    };
    await page.waitForFunction(() => Number(document.documentElement.dataset.overlaps) > 0);
    const { width, height } = page.viewportSize();
    let [x, y, lit] = [0, 0, undefined];
    for (let turn = 0; turn < 12 && lit === undefined; turn += 1) {
        [x, y] = [width / 2 + 17 * turn, height / 2 + 11 * turn];
        await page.mouse.move(x, y);
        await further();
        if ((await page.evaluate(() => document.documentElement.dataset.under)) !== String(0xffffffff)) {
            lit = await colorAt(page, x, y);
        }
    }
    assert.ok(lit !== undefined, "a box under the mouse");
    assert.ok(lit[1] > 230 && lit[1] > lit[0], `the box under the mouse is bright green: ${lit}`);
    await page.mouse.move(width - 3, 3);
    await further();
    const dark = await colorAt(page, x, y);
    assert.ok(dark[1] < lit[1] - 30, `without the mouse it is not: ${dark}`);
    const { overlaps } = await page.evaluate(() => ({ ...document.documentElement.dataset }));
    // About one overlap per two boxes.
    assert.ok(overlaps > 300 && overlaps < 4000, `${overlaps} overlaps`);
    assert.deepEqual(page.said, []);
    await page.close();
});

test("a three.js that keeps its buffers in another way is told by name", async () => {
    const { externalStorage } = await import("../examples/three/external_storage.js");
    const over = (make) => {
        const kept = {};
        return externalStorage(
            { backend: { get: () => kept, createStorageAttribute: () => make(kept) } },
            {},
            "uint",
            4,
        );
    };
    assert.equal(typeof over(() => {}).follow, "function");
    const message =
        /^Error: three\.js 187 keeps buffers of attributes in another way than 187: see external_storage\.js$/;
    const other = [
        () => over((kept) => (kept.gpuBuffer = {})),
        () => over((kept) => (kept.buffer = {})),
        () => externalStorage({}, {}, "uint", 4),
    ];
    for (const call of other) {
        assert.throws(call, (error) => message.test(String(error)));
    }
});
