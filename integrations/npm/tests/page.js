// Helper functions for tests that run in the page.
import * as lib from "gpu-broad-phase";

/** Reads a NumPy file as a typed array. */
async function npy(url) {
    const bytes = await (await fetch(url)).arrayBuffer();
    const start = 10 + new DataView(bytes).getUint16(8, true);
    const header = new TextDecoder().decode(bytes.slice(10, start));
    const type = /'descr': '<(..)'/.exec(header)[1];
    return new { f4: Float32Array, f8: Float64Array, u4: Uint32Array }[type](bytes.slice(start));
}

/** Pseudorandom numbers from 0 to 1 (Mulberry32). */
function random(seed) {
    let state = seed;
    return () => {
        state = (state + 0x6d2b79f5) | 0;
        let word = Math.imul(state ^ (state >>> 15), 1 | state);
        word = (word + Math.imul(word ^ (word >>> 7), 61 | word)) ^ word;
        return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32;
    };
}

/** Boxes with edges up to `size` in a cube. With `step`, coordinates are on a lattice, so boxes share faces. */
function boxes(seed, count, size = 1, side = Math.cbrt(count), step = 0) {
    const next = random(seed);
    const on = (value) => (step > 0 ? Math.round(value / step) * step : value);
    const array = new Float32Array(6 * count);
    for (let row = 0; row < count; row += 1) {
        for (let axis = 0; axis < 3; axis += 1) {
            const low = on(next() * side);
            array[6 * row + axis] = low;
            array[6 * row + 3 + axis] = low + on(next() * size);
        }
    }
    return array;
}

function rays(seed, count, side) {
    const next = random(seed);
    const array = new Float32Array(7 * count);
    for (let ray = 0; ray < count; ray += 1) {
        for (let axis = 0; axis < 3; axis += 1) {
            array[7 * ray + axis] = next() * side;
            array[7 * ray + 3 + axis] = next() - 0.5;
        }
        array[7 * ray + 6] = next() < 0.5 ? Infinity : 10 * next();
    }
    return array;
}

function overlap(array, a, b, margin = 0) {
    for (let axis = 0; axis < 3; axis += 1) {
        if (
            array[6 * a + axis] > array[6 * b + 3 + axis] + margin ||
            array[6 * b + axis] > array[6 * a + 3 + axis] + margin
        ) {
            return false;
        }
    }
    return true;
}

/** All pairs by brute force, ascending. */
function pairsOf(array, admits = () => true) {
    const found = [];
    const count = array.length / 6;
    for (let a = 0; a < count; a += 1) {
        for (let b = a + 1; b < count; b += 1) {
            if (overlap(array, a, b) && admits(a, b)) {
                found.push(a, b);
            }
        }
    }
    return found;
}

/** Sorts rows of `width` words. */
function sorted(words, width = 2) {
    const rows = [];
    for (let row = 0; row < words.length; row += width) {
        rows.push([...words.subarray(row, row + width)]);
    }
    rows.sort((a, b) => {
        const differs = a.findIndex((word, index) => word !== b[index]);
        return differs < 0 ? 0 : a[differs] - b[differs];
    });
    return rows.flat();
}

/** Converts CSR offsets to lists and sorts each list. */
function lists(objects, offsets) {
    return Array.from({ length: offsets.length - 1 }, (_, list) =>
        [...objects.subarray(offsets[list], offsets[list + 1])].sort((a, b) => a - b),
    );
}

function equal(found, wanted, what = "rows") {
    const [a, b] = [Array.from(found), Array.from(wanted)];
    const same = (x, y) =>
        Array.isArray(x) && Array.isArray(y)
            ? x.length === y.length && x.every((value, index) => same(value, y[index]))
            : Object.is(x, y);
    if (!same(a, b)) {
        const at = a.findIndex((value, index) => !same(value, b[index]));
        throw new Error(
            `${what}: ${a.length} and ${b.length}, at ${at}: ${JSON.stringify(a[at])} and ${JSON.stringify(b[at])}`,
        );
    }
    return a.length;
}

/** Name and message of the exception that `call` throws. */
async function thrown(call) {
    try {
        await call();
    } catch (error) {
        return `${error.name}: ${error.message}`;
    }
    return "nothing";
}

/** Reads all words of a GPU buffer. */
async function download(device, buffer) {
    const staging = device.createBuffer({
        size: buffer.size,
        usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ,
    });
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, 0, staging, 0, buffer.size);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const words = new Uint32Array(staging.getMappedRange().slice(0));
    staging.destroy();
    return words;
}

Object.assign(globalThis, {
    lib,
    npy,
    random,
    boxes,
    rays,
    pairsOf,
    sorted,
    lists,
    equal,
    thrown,
    download,
    ready: true,
});
