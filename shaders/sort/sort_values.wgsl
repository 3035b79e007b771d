// uses: common/box, sort/sort

// The values of a sort that goes by tiles.

@group(0) @binding(3) var<storage, read> values: array<u32>;

fn value_at(index: u32) -> u32 {
    if (index < sort.unwritten) {
        return index | HOME_FLAGS;
    }
    return values[index];
}
