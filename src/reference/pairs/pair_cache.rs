//! Reference of `shaders/pairs/pair_cache.wgsl`: partners that counting stores for writing.

use crate::layout::blocks::{CHUNK_PARTNERS, CHUNK_WORDS, NO_CHUNK, PairBlocks};

pub const fn cache_slot(params: &PairBlocks, row: u32, place: u32) -> usize {
    (CHUNK_WORDS * params.pairs.chunks + place * params.pairs.entry_rows + row) as usize
}

/// Number of words of chunks and slots. Static partners follow.
pub const fn cache_words(params: &PairBlocks) -> usize {
    cache_slot(params, 0, params.pairs.cached)
}

pub struct PairCache<'a> {
    params: &'a PairBlocks,
    pub words: Vec<u32>,
    /// Number of claimed chunks, or more if some claims failed.
    pub claimed: u32,
    next_word: u32,
}

impl<'a> PairCache<'a> {
    /// All words are 0.
    pub fn new(params: &'a PairBlocks) -> Self {
        Self {
            params,
            words: vec![0; cache_words(params)],
            claimed: 0,
            next_word: NO_CHUNK,
        }
    }

    fn claim_chunk(&mut self, link: usize) {
        let has_room = self.claimed < self.params.pairs.chunks;
        self.next_word = if has_room { CHUNK_WORDS * self.claimed } else { NO_CHUNK };
        self.claimed += 1;
        self.words[link] = self.next_word;
    }

    fn append(&mut self, partner: u32) {
        if self.next_word != NO_CHUNK {
            self.words[self.next_word as usize] = partner;
            self.next_word += 1;
        }
    }

    pub fn store(&mut self, row: u32, place: u32, partner: u32) {
        let params = self.params;
        if place < params.pairs.cached {
            self.words[cache_slot(params, row, place)] = partner;
            return;
        }
        if params.pairs.chunks == 0 {
            return;
        }
        let last_slot = params.pairs.cached - 1;
        if place == params.pairs.cached {
            let link = cache_slot(params, row, last_slot);
            let moved = self.words[link];
            self.claim_chunk(link);
            self.append(moved);
        } else if (place - last_slot).is_multiple_of(CHUNK_PARTNERS) && self.next_word != NO_CHUNK {
            self.claim_chunk(self.next_word as usize);
        }
        self.append(partner);
    }
}

/// Returns the `count` partners of a row in `words`, or fewer if not all are cached.
pub fn stored_partners(params: &PairBlocks, words: &[u32], row: u32, count: u32) -> Vec<u32> {
    let is_chained = count > params.pairs.cached;
    let mut slots = params.pairs.cached;
    if is_chained {
        if params.pairs.chunks == 0 {
            return Vec::new();
        }
        slots -= 1;
    }
    let of_slots = (0..slots.min(count)).map(|place| words[cache_slot(params, row, place)]);
    let mut word = cache_slot(params, row, slots);
    let chained = (slots..count).map_while(|place| {
        if (place - slots).is_multiple_of(CHUNK_PARTNERS) {
            word = words[word] as usize;
        }
        if word == NO_CHUNK as usize {
            return None;
        }
        word += 1;
        Some(words[word - 1])
    });
    of_slots.chain(chained).collect()
}
