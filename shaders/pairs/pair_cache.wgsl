// uses: pairs/pair_params

// Layout of `pair_cache`, the partners that counting stores for writing.
//   chunks   `pair_params.chunks` chunks of 16 words: 15 partners and the link to the row's next chunk
//   slots    the first `pair_params.cached` partners of each row of counts. If it has more and there are chunks,
//            the last slot is the link to its first chunk, which begins with the partner of that slot
//   statics  the first static partners of each moving object
//
// Partner `k` of all rows is stored together, so that neighbouring invocations share sectors.

const CHUNK_WORDS: u32 = 16u;
const CHUNK_PARTNERS: u32 = 15u;

// Link of a row that found all chunks claimed. Its other partners are not stored.
const NO_CHUNK: u32 = 0xffffffffu;

fn cache_slot(row: u32, place: u32) -> u32 {
    return CHUNK_WORDS * pair_params.chunks + place * pair_params.entry_rows + row;
}
