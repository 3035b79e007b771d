// Valid and invalid uses in TypeScript, compiled and never run.
import {
    type Answers,
    BroadPhase,
    type Boxes,
    type Counters,
    type CpuBroadPhase,
    type Culling,
    DeviceError,
    DeviceLostError,
    DisposedError,
    EXCLUDED_OBJECT,
    type GpuBroadPhase,
    type GpuOptions,
    ModuleError,
    NO_OBJECT,
    NoResultError,
    NoWebGpuError,
    OverflowError,
    type QuerySet,
    STATIC_NAME,
    STATIC_OBJECT,
    type Scheme,
    type StepInput,
    type StepOutput,
} from "gpu-broad-phase";

const floats = new Float32Array(12);
const words = new Uint32Array(2);

export async function onGpu(): Promise<void> {
    const options: GpuOptions = {
        scheme: { type: "uniform", cellSize: 2 },
        dimensions: 3,
        margin: 0.1,
        periods: [0, 0, 10],
        worlds: 2,
        rayMode: "all",
        order: "sorted",
        capacities: { pairs: 100, rounds: 2 },
        maxBytes: 2 ** 28,
        events: true,
        pairFilter: "fn admits_pair(a: u32, b: u32) -> bool { return true; }",
        powerPreference: "high-performance",
        requiredFeatures: ["float32-filterable"],
        requiredLimits: { maxTextureDimension2D: 8192 },
    };
    const broadPhase: GpuBroadPhase = await BroadPhase.create(options);
    const device: GPUDevice = broadPhase.device;
    const adapter: GPUAdapterInfo = broadPhase.adapter;
    const own: GPUBuffer = broadPhase.createBuffer(floats, { usage: 0x20, label: "boxes" });
    const inputs: StepInput[] = [
        { objects: floats },
        { objects: new ArrayBuffer(64) },
        { objects: { boxes: floats, layers: words, groups: words }, worlds: words },
        { objects: { buffer: own, count: 2, words: "none", form: "center-half", offset: 16, stride: 80 } },
        { objects: floats, statics: { objects: floats, version: 3, worlds: words, generations: words } },
        { objects: floats, rays: { rays: floats, halfExtents: floats, tMin: floats, worlds: words } },
        { objects: floats, rays: { buffer: own, count: 1, swept: true }, rayCount: { buffer: own, word: 1 } },
        { objects: floats, queries: { boxes: floats, nearest: 4 } },
        { objects: floats, queries: { spheres: floats, worlds: words } },
        { objects: floats, neighbors: { radius: 1, half: true, nearest: 2 } },
        { objects: floats, partners: { half: true }, excludedPairs: words, pairFilterData: words },
    ];
    for (const input of inputs) {
        const output: StepOutput = broadPhase.step(input);
        const buffers: (GPUBuffer | null)[] = [
            output.pairs.buffer,
            output.pairs.perWorld,
            output.pairs.worldOffsets,
            output.rays.offsets,
            output.queries.buffer,
            output.events.rows,
            output.table.grid,
            output.counters,
        ];
        const capacity: number = output.pairs.capacity + output.events.endedCapacity;
        void [buffers, capacity, device, adapter];
    }
    const pairs: Uint32Array = await broadPhase.readPairs();
    const { objects, t, offsets, any } = await broadPhase.readRayHits();
    const { begun, ended } = await broadPhase.readEvents();
    const counters: Counters = await broadPhase.readCounters();
    const isWhole: boolean = counters.missing.length === 0;
    const set = broadPhase.createQuerySet({ rayMode: "any" });
    set.query({ rays: floats }).rays.buffer.destroy();
    void [
        pairs,
        objects,
        t,
        offsets,
        any,
        begun,
        ended,
        isWhole,
        STATIC_NAME,
        STATIC_OBJECT,
        EXCLUDED_OBJECT,
        NO_OBJECT,
    ];
    set.dispose();
    const culling = broadPhase.createCulling();
    const seen = culling.cull([{ planes: floats, layers: 1 }, { viewProjection: floats, world: 1 }], {
        listCapacity: 9,
        draw: { vertices: 36 },
    });
    culling.cull({ buffer: own, count: 1 });
    const visible: Uint32Array = (await culling.readVisible()).objects;
    const table = broadPhase.createTableShader({ prefix: "bp_", group: 2, rays: "swept", visibility: 4 });
    const group: GPUBindGroup = table.second("static_", 3).bind("statics");
    const guest = await BroadPhase.create({ device });
    void [seen.lists?.offsets, seen.draws, visible, table.source, table.layout, group, guest];
    broadPhase.dispose();
}

export async function anywhere(): Promise<BroadPhase> {
    const scheme: Scheme = { type: "adaptive", minScale: 1 };
    try {
        return await BroadPhase.create({ scheme });
    } catch (error) {
        if (!(error instanceof NoWebGpuError)) {
            throw error;
        }
        const cpu: CpuBroadPhase = await BroadPhase.create({ cpu: true, scheme });
        const none: null = cpu.device;
        const nothing: undefined = cpu.step({ objects: floats });
        void [none, nothing];
        return cpu;
    }
}

export function either(broadPhase: BroadPhase, boxes: Boxes): [GPUBuffer | undefined, QuerySet, Answers] {
    const set = broadPhase.createQuerySet();
    return [broadPhase.step({ objects: boxes })?.pairs.buffer, set, broadPhase];
}

export async function seenBy(broadPhase: BroadPhase): Promise<Uint32Array> {
    const culling: Culling = broadPhase.createCulling();
    culling.cull([{ planes: [] }])?.visible.destroy();
    return (await culling.readVisible()).offsets;
}

export function handled(error: unknown): string {
    if (error instanceof ModuleError || error instanceof NoResultError) {
        return error.message;
    }
    if (error instanceof DeviceLostError || error instanceof DisposedError) {
        return error.name;
    }
    return error instanceof OverflowError || error instanceof DeviceError ? error.message : "";
}

export async function refused(gpu: GpuBroadPhase, cpu: CpuBroadPhase): Promise<void> {
    // @ts-expect-error unknown option
    await BroadPhase.create({ dimension: 2 });
    // @ts-expect-error no WGSL on the CPU
    await BroadPhase.create({ cpu: true, pairFilter: "" });
    // @ts-expect-error a plain array
    gpu.step({ objects: [0, 0, 0, 1, 1, 1] });
    // @ts-expect-error objects are missing
    gpu.step({ rays: floats });
    // @ts-expect-error unknown mode
    gpu.createQuerySet({ rayMode: "nearest" });
    // @ts-expect-error no planes
    gpu.createCulling().cull([{ layers: 1 }]);
    // @ts-expect-error no shaders
    cpu.createTableShader();
    // @ts-expect-error no buffers on the CPU
    cpu.createBuffer(16);
    // @ts-expect-error use create
    new BroadPhase();
}
