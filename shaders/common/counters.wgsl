// Word indices of the counter buffer, and status bits. A 64-bit count takes two words, low first.

const COUNTER_INVALID: u32 = 0u;
const COUNTER_EXCLUDED: u32 = 1u;
const COUNTER_LARGE: u32 = 2u;
const COUNTER_LEVELS: u32 = 3u;
const COUNTER_TABLE_CELLS: u32 = 4u;
const COUNTER_STATUS: u32 = 5u;
const COUNTER_RAYS_INVALID: u32 = 6u;
const COUNTER_CROWDED: u32 = 7u;
const COUNTER_PAIR_CANDIDATES: u32 = 14u;
const COUNTER_RAY_CANDIDATES: u32 = 16u;
const COUNTER_QUERIES_INVALID: u32 = 24u;
const COUNTER_QUERY_CANDIDATES: u32 = 26u;
const COUNTER_ENTRIES_NEEDED: u32 = 8u;
const COUNTER_PAIRS_NEEDED: u32 = 10u;
const COUNTER_HITS_NEEDED: u32 = 12u;
const COUNTER_RAY_CELLS_NEEDED: u32 = 20u;
const COUNTER_RESULTS_NEEDED: u32 = 22u;
const COUNTER_ROUNDS_NEEDED: u32 = 28u;
const COUNTER_UNFINISHED: u32 = 29u;
const STATUS_PAIRS: u32 = 2u;
const STATUS_ROUNDS: u32 = 8u;
const STATUS_CUT: u32 = 64u;
