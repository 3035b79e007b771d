// Size of what a page loads, compressed as servers do, and classes of errors.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";

const dist = fileURLToPath(new URL("../dist/", import.meta.url));

test("each refusal has a class of its own", () => {
    for (const name of readdirSync(dist).filter((name) => name.endsWith(".js"))) {
        assert.doesNotMatch(readFileSync(join(dist, name), "utf8"), /throw new Error\b/, name);
    }
});

test("the package is small", () => {
    const sizes = { wasm: [0, 0], js: [0, 0] };
    for (const name of readdirSync(dist, { recursive: true })) {
        const sums = sizes[/\.(\w+)$/.exec(name)?.[1]];
        if (sums !== undefined) {
            const bytes = readFileSync(join(dist, name));
            sums[0] += gzipSync(bytes).length;
            sums[1] += brotliCompressSync(bytes).length;
        }
    }
    console.log(`gzip and brotli, in bytes: ${JSON.stringify(sizes)}`);
    const bounds = { wasm: [520_000, 385_000], js: [48_000, 41_000] };
    for (const [kind, most] of Object.entries(bounds)) {
        sizes[kind].forEach((size, at) =>
            assert.ok(size > 10_000 && size <= most[at], `${kind}: ${size} of ${most[at]}`),
        );
    }
});
