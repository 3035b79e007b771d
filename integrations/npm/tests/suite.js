// A browser, a server of this package and test pages, shared by the tests of a file.
import { after, before } from "node:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { launch, liveObjects, open } from "./browser.js";
import { serve } from "./serve.js";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Returns `run(function, argument)`, which calls a function in a new page and requires an empty console. */
export function suite(options = {}) {
    const data = mkdtempSync(join(tmpdir(), "gpu-broad-phase-"));
    let browser;
    let server;
    before(async () => {
        server = await serve({ "/dist/": join(root, "dist"), "/tests/": join(root, "tests"), "/data/": data });
        browser = await launch(options);
    });
    after(async () => {
        try {
            await browser?.close();
        } finally {
            server?.close();
            rmSync(data, { recursive: true, force: true, maxRetries: 3 });
        }
    });
    const run = async (call, argument, { silent = true } = {}) => {
        const page = await open(browser, `${server.address}/tests/page.html`);
        try {
            await page.exposeFunction("liveObjects", () => liveObjects(page));
            await page.waitForFunction(() => globalThis.ready);
            const value = await page.evaluate(call, argument);
            if (silent) {
                assert.deepEqual(page.said, [], "the console is silent");
            }
            return value;
        } finally {
            await page.close();
        }
    };
    return { run, data, root };
}
