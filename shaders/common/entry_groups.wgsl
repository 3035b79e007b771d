// Entries of the uniform scheme in groups by their home flags: all of them; all but x; all but y; all but z; the rest.
// Within a cell they come in this order. A pair is of interest where each flag is set on one of its entries, so that
// only the first four groups look for partners, and only behind them. After Tsitsigkos and others, "A Two-layer
// Partitioning for Non-point Spatial Data" (2021).

const ENTRY_GROUPS: u32 = 5u;

fn entry_group(value: u32) -> u32 {
    let flags = value >> 29u;
    return select(select(select(select(4u, 3u, flags == 3u), 2u, flags == 5u), 1u, flags == 6u), 0u, flags == 7u);
}
