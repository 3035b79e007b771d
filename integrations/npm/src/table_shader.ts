import type { DeviceContext } from "./device_context.js";
import { calling } from "./errors.js";
import { type GpuOptions, demandNames, oneOf, settingsOf, whole } from "./options.js";
import { Casts, TableText } from "./wasm/gpu_broad_phase.js";

/** Options of `createTableShader`. */
export interface TableShaderOptions {
    /** Begins all names of the text. Default: `"bp_"`. */
    readonly prefix?: string;
    /** Bind group of the text. Default: 1. */
    readonly group?: number;
    /** Rays that the text can cast. Default: `"none"`. */
    readonly rays?: "none" | "plain" | "swept";
    /** Bits of `GPUShaderStage`. Default: `COMPUTE`. */
    readonly visibility?: GPUShaderStageFlags;
}

const COMPUTE = 4;
const CASTS = { none: Casts.Nothing, plain: Casts.Plain, swept: Casts.Swept };

/**
 * WGSL with which your shaders search the table of a step. The Rust crate's `TableShader` lists the functions.
 *
 * ```ts
 * const code = table.source + yours; // calls bp_begin_walk(bp_sphere_query(center, radius))
 * pass.setBindGroup(1, table.bind()); // after each step; submit before the next
 * ```
 */
export class TableShader {
    /** The WGSL text. Put it before yours. */
    readonly source: string;
    /** Layout of the bind group. */
    readonly layout: GPUBindGroupLayout;
    readonly #context: DeviceContext;
    readonly #text: TableText;
    readonly #visibility: GPUShaderStageFlags;

    private constructor(context: DeviceContext, text: TableText, visibility: GPUShaderStageFlags) {
        this.#context = context;
        this.#text = text;
        this.#visibility = visibility;
        this.source = text.source();
        this.layout = context.device.createBindGroupLayout({
            label: "gpu_broad_phase/table",
            entries: text.layout_entries(visibility),
        });
    }

    /** @internal */
    static create(context: DeviceContext, of: GpuOptions, options: TableShaderOptions): TableShader {
        demandNames("the argument", "option ", options, ["prefix", "group", "rays", "visibility"]);
        const { prefix = "bp_", group = 1, rays = "none", visibility = COMPUTE } = options;
        const casts = CASTS[oneOf("rays", rays, ["none", "plain", "swept"] as const)];
        const settings = settingsOf(of);
        try {
            const text = calling(() => new TableText(settings, prefix, whole("group", group), casts));
            return new TableShader(context, text, whole("visibility", visibility));
        } finally {
            settings.free();
        }
    }

    /** Creates the text for a second table in the same module, such as that of static objects. Throws RangeError. */
    second(prefix: string, group: number): TableShader {
        this.#context.check();
        const text = calling(() => this.#text.second(prefix, whole("group", group)));
        return new TableShader(this.#context, text, this.#visibility);
    }

    /** Creates the bind group of the last step's table. Throws NoResultError without a step or static objects. */
    bind(table: "objects" | "statics" = "objects"): GPUBindGroup {
        this.#context.check();
        const isOfStatics = oneOf("table", table, ["objects", "statics"]) === "statics";
        return this.#context.device.createBindGroup({
            label: "gpu_broad_phase/table",
            layout: this.layout,
            entries: calling(() => this.#text.entries(this.#context.gpu, isOfStatics)),
        });
    }
}
