// Runs the benchmark in headless Chromium on its software adapter and prints a table: `node bench/run.js`.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { launch, open } from "../tests/browser.js";
import { serve } from "../tests/serve.js";

const folder = fileURLToPath(new URL(".", import.meta.url));
execFileSync(process.execPath, ["node_modules/vite/bin/vite.js", "build", "--logLevel", "error"], { cwd: folder });
const server = await serve({ "/": `${folder}dist` });
const browser = await launch();
const page = await open(browser, `${server.address}/?${process.argv[2] ?? ""}`);
await page.waitForFunction(() => document.documentElement.dataset.state, undefined, { timeout: 3600000 });
const state = await page.evaluate(() => document.documentElement.dataset.state);
if (state === "done") {
    const results = await page.evaluate(() => globalThis.results);
    const names = results[0].engines.map(({ name }) => name);
    const cell = (what) => (time) =>
        time[what] < 100 ? time[what].toFixed(1) : Math.round(time[what]).toLocaleString("en");
    console.log(`| | boxes | found | ${names.join(" | ")} |\n|---|--:|--:|${"--:|".repeat(names.length)}`);
    for (const [title, what, found] of [
        ["pairs", "pairs", "pairs"],
        ["closest hits of 1,000 rays", "rays", "hits"],
    ]) {
        for (const result of results) {
            const counts = [result.count, result[found]].map((count) => count.toLocaleString("en"));
            const times = result.engines.map(cell(what)).map((time) => `${time} ms`);
            console.log(`| ${[title, ...counts, ...times].join(" | ")} |`);
        }
    }
} else {
    console.error(state, page.said);
    process.exitCode = 1;
}
await browser.close();
server.close();
