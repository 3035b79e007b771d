// uses: common/round, common/rows, common/workgroup, pairs/pair_boxes, pairs/pair_cache, pairs/pair_own
// uses: pairs/pair_params, pairs/pair_sums_single_cell, pairs/pair_walk_single_cell

// Counts the pairs of scenes that are not crowded, one entry per object. Caches partners, so that `pair_emit` seldom
// needs a second walk. Chunks are claimed in any order, but each entry's chunks are linked in the order of its
// partners.

// Upper bound of `pair_params.cached`.
const MAX_CACHED: u32 = 12u;

@group(0) @binding(5) var<storage, read_write> pair_cache: array<u32>;

// True: each partner is stored when found, which is faster on GPUs (docs/tried.md, "On an H100"). False: partners stay
// in registers until the walk ends, since a store in a loop costs software adapters time in every iteration.
override STORES_IN_LOOP: bool = true;

struct Partners {
    first: vec4<u32>,
    next: vec4<u32>,
    last: vec4<u32>,
}

var<private> partners: Partners;

// Word of the next chained partner.
var<private> next_word: u32 = NO_CHUNK;

fn claim_chunk(link: u32) {
    let chunk = atomicAdd(&pair_offsets[claimed_chunks()], 1u);
    next_word = select(NO_CHUNK, CHUNK_WORDS * chunk, chunk < pair_params.chunks);
    pair_cache[link] = next_word;
}

fn append_partner(partner: u32) {
    if (next_word != NO_CHUNK) {
        pair_cache[next_word] = partner;
        next_word += 1u;
    }
}

// Stores a partner past the slots.
fn chain_partner(entry: u32, place: u32, partner: u32) {
    let last_slot = pair_params.cached - 1u;
    if (place == pair_params.cached) {
        let link = cache_slot(entry, last_slot);
        let moved = pair_cache[link];
        claim_chunk(link);
        append_partner(moved);
    } else if ((place - last_slot) % CHUNK_PARTNERS == 0u && next_word != NO_CHUNK) {
        claim_chunk(next_word);
    }
    append_partner(partner);
}

fn cache_partner(entry: u32, place: u32, other: u32, is_pair: bool) {
    if (STORES_IN_LOOP) {
        if (is_pair && place < pair_params.cached) {
            pair_cache[cache_slot(entry, place)] = other;
        } else if (is_pair && pair_params.chunks > 0u) {
            chain_partner(entry, place, other);
        }
        return;
    }
    let takes = vec4<bool>(is_pair);
    partners.first = select(partners.first, vec4<u32>(other), takes & (vec4<u32>(place) == vec4<u32>(0u, 1u, 2u, 3u)));
    partners.next = select(partners.next, vec4<u32>(other), takes & (vec4<u32>(place) == vec4<u32>(4u, 5u, 6u, 7u)));
    partners.last = select(partners.last, vec4<u32>(other), takes & (vec4<u32>(place) == vec4<u32>(8u, 9u, 10u, 11u)));
}

fn store_partner(index: u32, place: u32, partner: u32, before: u32, count: u32) {
    if (place >= before && place < min(count, pair_params.cached)) {
        pair_cache[cache_slot(index, place)] = partner;
    }
}

fn store_partners(index: u32, before: u32, count: u32) {
    if (STORES_IN_LOOP) {
        return;
    }
    store_partner(index, 0u, partners.first.x, before, count);
    store_partner(index, 1u, partners.first.y, before, count);
    store_partner(index, 2u, partners.first.z, before, count);
    store_partner(index, 3u, partners.first.w, before, count);
    store_partner(index, 4u, partners.next.x, before, count);
    store_partner(index, 5u, partners.next.y, before, count);
    store_partner(index, 6u, partners.next.z, before, count);
    store_partner(index, 7u, partners.next.w, before, count);
    store_partner(index, 8u, partners.last.x, before, count);
    store_partner(index, 9u, partners.last.y, before, count);
    store_partner(index, 10u, partners.last.z, before, count);
    store_partner(index, 11u, partners.last.w, before, count);
}

// The dispatch is indirect: the device leaves the other counting variant without workgroups.
fn counting_group(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return flat_indirect(group);
}

fn visit_row(own: Own, row: Row, first: u32) {
    let part = part_of(own, row, first);
    let share = tests_in_round(part.y - part.x);
    for (var k = part.x + share.x; k < part.x + share.y; k += 1u) {
        _ = test_box(own, row_entry(row, k), true);
    }
}

fn end_rows(entry: u32) {
}
