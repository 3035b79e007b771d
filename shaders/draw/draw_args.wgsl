// uses: draw/lines

// How many vertices are drawn, where each row has places of its own.

// Vertices that are drawn, instances, first vertex and first instance; then vertices that there are.
@group(0) @binding(9) var<storage, read_write> draw_args: array<u32>;

fn write_args(rows: u32, vertices: u32) {
    let fits = min(rows, draw.capacity / vertices);
    draw_args[0] = fits * vertices;
    draw_args[1] = 1u;
    draw_args[2] = 0u;
    draw_args[3] = 0u;
    draw_args[4] = rows * vertices;
}
