// Boxes move in a three.js compute shader, are coloured by their overlaps, and light up under the mouse. The material
// reads the broad phase's buffers, so neither boxes nor overlaps reach the CPU.
import { BroadPhase, NoWebGpuError } from "gpu-broad-phase";
import * as THREE from "three/webgpu";
import {
    Fn,
    If,
    float,
    hash,
    instanceIndex,
    mix,
    positionGeometry,
    select,
    storage,
    uint,
    uniform,
    varying,
    vec3,
    vec4,
} from "three/tsl";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { externalStorage } from "./external_storage.js";

const COUNT = Number(new URLSearchParams(location.search).get("boxes") ?? 50000);
// With this edge, a box has about one overlap.
const SIDE = 1.35 * Math.cbrt(COUNT);
const status = document.getElementById("status");

let broadPhase;
try {
    // Each box gets a list of partners instead, so pairs are off.
    broadPhase = await BroadPhase.create({ pairs: false });
} catch (error) {
    status.textContent = error instanceof NoWebGpuError ? `This page needs WebGPU: ${error.message}.` : String(error);
    throw error;
}

const renderer = new THREE.WebGPURenderer({ device: broadPhase.device, antialias: true });
renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
renderer.setSize(innerWidth, innerHeight);
document.body.append(renderer.domElement);
await renderer.init();

// Two rows of four floats per box, min and max. The fourth float is unused.
const boxBuffer = broadPhase.createBuffer(32 * COUNT, { label: "boxes" });
const boxes = externalStorage(renderer, boxBuffer, "vec4", 2 * COUNT);
const velocities = storage(new THREE.StorageBufferAttribute(COUNT, 4), "vec4", COUNT);
const low = boxes.element(instanceIndex.mul(2));
const high = boxes.element(instanceIndex.mul(2).add(1));
const random = (place) => hash(instanceIndex.mul(8).add(place));
const random3 = (place) => vec3(random(place), random(place + 1), random(place + 2));

await renderer.computeAsync(
    Fn(() => {
        const center = random3(0).mul(SIDE);
        const half = random3(3).mul(0.45).add(0.12);
        low.assign(vec4(center.sub(half), 0));
        high.assign(vec4(center.add(half), 0));
        velocities.element(instanceIndex).assign(vec4(random3(5).sub(0.5).mul(2), 0));
    })().compute(COUNT),
);
const seconds = uniform(0);
const move = Fn(() => {
    const velocity = velocities.element(instanceIndex);
    for (const axis of ["x", "y", "z"]) {
        If(low[axis].lessThan(0).or(high[axis].greaterThan(SIDE)), () => {
            velocity[axis].assign(velocity[axis].abs().mul(select(low[axis].lessThan(0), float(1), float(-1))));
        });
    }
    low.addAssign(velocity.mul(seconds));
    high.addAssign(velocity.mul(seconds));
})().compute(COUNT);

// A first step creates the output buffers that the material reads.
const ray = new Float32Array(7);
const input = { objects: { buffer: boxBuffer, count: COUNT, words: "padding" }, rays: ray, partners: {} };
let output = broadPhase.step(input);
// Box i has `offsets[i + 1] - offsets[i]` partners. A hit is the object index and a float.
const offsets = externalStorage(renderer, output.queries.offsets, "uint", COUNT + 1).toReadOnly();
const hit = externalStorage(renderer, output.rays.buffer, "uint", 2).toReadOnly();

const shownLow = boxes.element(instanceIndex.mul(2)).xyz;
const shownHigh = boxes.element(instanceIndex.mul(2).add(1)).xyz;
const partners = offsets.element(instanceIndex.add(1)).sub(offsets.element(instanceIndex));
const heat = float(partners).div(4).min(1);
const touched = mix(vec3(1, 0.72, 0.18), vec3(0.92, 0.12, 0.16), heat);
const color = select(partners.equal(uint(0)), vec3(0.2, 0.34, 0.52), touched);
const material = new THREE.MeshLambertNodeMaterial();
const isHit = hit.element(0).equal(instanceIndex);
// Enlarges the box under the mouse.
const spread = select(isHit, float(2.5), float(1));
material.positionNode = mix(shownLow, shownHigh, positionGeometry.mul(spread).add(0.5));
material.colorNode = varying(color);
material.emissiveNode = varying(select(isHit, vec3(0.3, 1, 0.4), vec3(0)));

const mesh = new THREE.Mesh(new THREE.BoxGeometry(), material);
mesh.count = COUNT;
mesh.frustumCulled = false;
const scene = new THREE.Scene();
scene.background = new THREE.Color(0x10141c);
scene.add(mesh, new THREE.HemisphereLight(0xffffff, 0x30384a, 2.2));
const light = new THREE.DirectionalLight(0xffffff, 1.6);
light.position.set(2, 3, 1);
scene.add(light);
const camera = new THREE.PerspectiveCamera(45, innerWidth / innerHeight, 0.1, 10 * SIDE);
camera.position.set(1.25 * SIDE, 0.95 * SIDE, 1.5 * SIDE);
const controls = new OrbitControls(camera, renderer.domElement);
controls.target.setScalar(SIDE / 2);
controls.update();

addEventListener("resize", () => {
    camera.aspect = innerWidth / innerHeight;
    camera.updateProjectionMatrix();
    renderer.setSize(innerWidth, innerHeight);
});
const pointer = new THREE.Vector2(2, 2);
renderer.domElement.addEventListener("pointermove", ({ clientX, clientY }) => {
    pointer.set((2 * clientX) / innerWidth - 1, 1 - (2 * clientY) / innerHeight);
});
const raycaster = new THREE.Raycaster();

let [before, frames, isReading] = [performance.now(), 0, false];
renderer.setAnimationLoop(() => {
    const now = performance.now();
    seconds.value = Math.min((now - before) / 1000, 0.05);
    before = now;
    renderer.compute(move);

    raycaster.setFromCamera(pointer, camera);
    const { origin, direction } = raycaster.ray;
    ray.set([...origin, ...direction, Infinity]);
    output = broadPhase.step(input);
    // Output buffers are replaced when they grow.
    offsets.follow(output.queries.offsets);
    hit.follow(output.rays.buffer);

    renderer.render(scene, camera);
    frames += 1;
    // Only for the status text. Counters arrive some frames later, without waiting.
    if (!isReading) {
        isReading = true;
        tell()
            .catch(fail)
            .finally(() => (isReading = false));
    }
});

function fail(error) {
    renderer.setAnimationLoop(null);
    status.textContent = String(error);
}

async function tell() {
    const [counters, hits] = await Promise.all([broadPhase.readCounters(), broadPhase.readRayHits()]);
    const object = hits.objects[0];
    const under = Number.isFinite(hits.t[0]) ? `box ${object} under the mouse` : "no box under the mouse";
    const overlaps = counters.resultsNeeded / 2;
    const said = [counters.objects, overlaps].map((count) => count.toLocaleString("en"));
    status.textContent = `${said[0]} boxes, ${said[1]} overlaps\n${under}`;
    Object.assign(document.documentElement.dataset, { frames, overlaps, under: object });
}
void broadPhase.device.lost.then(({ message }) => fail(`The device is lost: ${message}`));
