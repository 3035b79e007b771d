// uses: sort/sort, sort/sort_tiles

// Counts a key for the scatter pass of the next digit. If keys are few, this is faster than a histogram pass.

// True with serial tiles, whose scatter pass counts nothing.
override SERIAL_SORT: bool = false;

@group(0) @binding(8) var<storage, read_write> next_counts: array<atomic<u32>>;

fn count_next(key: u32, place: u32) {
    if (!SERIAL_SORT && sort.next_bits > 0u) {
        let digit = (key >> (sort.shift + sort.bits)) & ((1u << sort.next_bits) - 1u);
        let tile = place / sort.tile;
        for (var level = 0u; level <= sort.levels; level += 1u) {
            let row = first_row(level) + group_of(tile, level);
            atomicAdd(&next_counts[sort.next_counts + (row << sort.next_bits) + digit], 1u);
        }
    }
}
