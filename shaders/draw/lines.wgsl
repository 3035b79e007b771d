// Lines for a renderer: two vertices each, with position and colour.

// For fields, see src/layout/blocks.rs.
struct DrawParams {
    rows: u32,
    first: u32,
    capacity: u32,
    color: u32,
    levels: u32,
}

@group(0) @binding(10) var<uniform> draw: DrawParams;
@group(0) @binding(8) var<storage, read_write> lines: array<vec4<u32>>;

// Indirect draw: drawn vertices, instances, first vertex, first instance. The fifth word is the number of vertices of
// all rows.
@group(0) @binding(9) var<storage, read_write> draw_args: array<atomic<u32>>;

const BOX_VERTICES: u32 = 24u;

fn write_vertex(place: u32, position: vec3<f32>, color: u32) {
    lines[place] = vec4<u32>(bitcast<vec3<u32>>(position), color);
}

fn write_box(first: u32, low: vec3<f32>, high: vec3<f32>, color: u32) {
    for (var vertex = 0u; vertex < BOX_VERTICES; vertex += 1u) {
        let end = vertex & 1u;
        let edge = (vertex >> 1u) & 3u;
        let axis = vertex >> 3u;
        let sides = vec2<u32>(edge & 1u, edge >> 1u);
        let along_y = select(vec3<u32>(end, sides), vec3<u32>(sides.x, end, sides.y), axis == 1u);
        let corner = select(along_y, vec3<u32>(sides, end), axis == 2u);
        write_vertex(first + vertex, select(low, high, corner == vec3<u32>(1u)), color);
    }
}

fn write_args(rows: u32, vertices: u32) {
    let fits = min(rows, draw.capacity / vertices);
    atomicStore(&draw_args[0], fits * vertices);
    atomicStore(&draw_args[1], 1u);
    atomicStore(&draw_args[2], 0u);
    atomicStore(&draw_args[3], 0u);
    atomicStore(&draw_args[4], rows * vertices);
}
