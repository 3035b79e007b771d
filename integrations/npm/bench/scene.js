// Boxes and rays for all engines.

/** Pseudorandom numbers from 0 to 1 (Mulberry32). */
export function randomOf(seed) {
    let state = seed;
    return () => {
        state = (state + 0x6d2b79f5) | 0;
        let word = Math.imul(state ^ (state >>> 15), 1 | state);
        word = (word + Math.imul(word ^ (word >>> 7), 61 | word)) ^ word;
        return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32;
    };
}

/**
 * Boxes with edges of 0.5 to 1.5 and about 1.5 pairs per box. Coordinates are multiples of 1/1024: even for lower
 * corners and odd for upper ones, so no boxes touch. Centres and half extents are exact.
 */
export function boxesOf(count, seed) {
    const random = randomOf(seed);
    const side = Math.cbrt(2.6 * count);
    const boxes = new Float32Array(6 * count);
    for (let box = 0; box < count; box += 1) {
        for (let axis = 0; axis < 3; axis += 1) {
            const low = 2 * Math.floor(512 * side * random());
            boxes[6 * box + axis] = low / 1024;
            boxes[6 * box + 3 + axis] = (low + 2 * Math.floor(512 * (0.5 + random())) + 1) / 1024;
        }
    }
    return boxes;
}

/** Moves each box by up to 0.1 along each axis, by even multiples of 1/1024. */
export function moved(boxes, seed) {
    const random = randomOf(seed);
    const next = new Float32Array(boxes.length);
    for (let box = 0; box < boxes.length; box += 6) {
        for (let axis = 0; axis < 3; axis += 1) {
            const move = (2 * Math.floor(102 * (random() - 0.5))) / 1024;
            next[box + axis] = boxes[box + axis] + move;
            next[box + 3 + axis] = boxes[box + 3 + axis] + move;
        }
    }
    return next;
}

/** Rays without an end, in random directions, that start among the boxes. */
export function raysOf(count, boxes, seed) {
    const random = randomOf(seed);
    const side = Math.cbrt(2.6 * boxes);
    const rays = new Float32Array(7 * count);
    for (let ray = 0; ray < count; ray += 1) {
        for (let axis = 0; axis < 3; axis += 1) {
            rays[7 * ray + axis] = side * random();
            rays[7 * ray + 3 + axis] = random() - 0.5;
        }
        const length = Math.hypot(rays[7 * ray + 3], rays[7 * ray + 4], rays[7 * ray + 5]);
        for (let axis = 3; axis < 6; axis += 1) rays[7 * ray + axis] /= length;
        rays[7 * ray + 6] = Infinity;
    }
    return rays;
}
