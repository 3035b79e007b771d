// uses: common/prelude, common/round, common/rows, common/workgroup, pairs/pair_boxes, pairs/pair_own
// uses: pairs/pair_sums_single_cell, pairs/pair_walk_single_cell

// Counts the pairs of scenes that are not crowded, with one entry an object. The first partners of every entry are
// kept, so that writing its pairs seldom needs a second walk.

// `partners_kept` is no more than this.
const MOST_KEPT: u32 = 12u;

@group(0) @binding(5) var<storage, read_write> pair_slots: array<u32>;

// True: each partner is stored when it is found, which is faster on GPUs (docs/tried.md, "On an H100"). False: partners
// stay in registers until the walk ends. Software adapters pay for a store in a loop as if each iteration made it.
override STORES_IN_LOOP: bool = true;

var<private> first_partners: vec4<u32>;
var<private> next_partners: vec4<u32>;
var<private> last_partners: vec4<u32>;

fn keep_partner(entry: u32, place: u32, other: u32, is_pair: bool) {
    if (STORES_IN_LOOP) {
        if (is_pair && place < params.partners_kept) {
            pair_slots[place * params.entry_capacity + entry] = other;
        }
        return;
    }
    let takes = vec4<bool>(is_pair);
    first_partners = select(first_partners, vec4<u32>(other), takes & (vec4<u32>(place) == vec4<u32>(0u, 1u, 2u, 3u)));
    next_partners = select(next_partners, vec4<u32>(other), takes & (vec4<u32>(place) == vec4<u32>(4u, 5u, 6u, 7u)));
    last_partners = select(last_partners, vec4<u32>(other), takes & (vec4<u32>(place) == vec4<u32>(8u, 9u, 10u, 11u)));
}

fn store_partner(index: u32, place: u32, partner: u32, before: u32, count: u32) {
    if (place >= before && place < min(count, params.partners_kept)) {
        pair_slots[place * params.entry_capacity + index] = partner;
    }
}

// Those that this round found, which begin behind what earlier ones kept.
fn store_partners(index: u32, before: u32, count: u32) {
    if (STORES_IN_LOOP) {
        return;
    }
    store_partner(index, 0u, first_partners.x, before, count);
    store_partner(index, 1u, first_partners.y, before, count);
    store_partner(index, 2u, first_partners.z, before, count);
    store_partner(index, 3u, first_partners.w, before, count);
    store_partner(index, 4u, next_partners.x, before, count);
    store_partner(index, 5u, next_partners.y, before, count);
    store_partner(index, 6u, next_partners.z, before, count);
    store_partner(index, 7u, next_partners.w, before, count);
    store_partner(index, 8u, last_partners.x, before, count);
    store_partner(index, 9u, last_partners.y, before, count);
    store_partner(index, 10u, last_partners.z, before, count);
    store_partner(index, 11u, last_partners.w, before, count);
}

// As many workgroups as entries need, or none: the device decides which variant of the pass counts.
fn counting_group(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return flat_indirect(group);
}

// Tests the boxes of a row one by one.
fn visit_row(own: Own, row: Row, first: u32) {
    let share = share_of(row.count - first);
    for (var k = first + share.x; k < first + share.y; k += 1u) {
        _ = test_box(own, row_entry(row, k), true);
    }
}

// No bits are kept.
fn end_rows(entry: u32) {
}
