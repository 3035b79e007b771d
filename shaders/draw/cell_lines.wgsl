// uses: common/cells, common/grid, common/prelude, draw/lines

// Cells as line boxes, coloured by level.

const LEVEL_COLORS: array<u32, 8> = array<u32, 8>(
    0x5050ffu, 0x50a0ffu, 0x50e6e6u, 0x6ee650u, 0xd2dc46u, 0xffa05au, 0xff6ea0u, 0xdc6effu,
);

fn level_color(level: u32) -> u32 {
    var colors = LEVEL_COLORS;
    return colors[level & 7u] | (draw.color & 0xff000000u);
}

fn write_cell(first: u32, level: Level, stretch: u32, cell: vec3<i32>, color: u32) {
    let side = 1.0 / whole_cell_inverse(level.inverse, stretch);
    // In the adaptive scheme, `side` is half a cell, and the centre of cell c is at 2c sides.
    let is_shifted = SCHEME == SCHEME_ADAPTIVE;
    let begin = select(cell, 2 * cell - vec3<i32>(1), is_shifted);
    let low = vec3<f32>(begin) * side;
    let high = vec3<f32>(begin + vec3<i32>(select(1, 2, is_shifted))) * side;
    let is_flat = params.dimensions == 2u;
    write_box(
        first,
        vec3<f32>(low.xy, select(low.z, 0.0, is_flat)),
        vec3<f32>(high.xy, select(high.z, 0.0, is_flat)),
        color,
    );
}
