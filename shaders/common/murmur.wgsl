// MurmurHash3 (Appleby, public domain), one word at a time.

fn mixed(hash: u32, word: u32) -> u32 {
    let scattered = word * 0xcc9e2d51u;
    let turned = hash ^ (((scattered << 15u) | (scattered >> 17u)) * 0x1b873593u);
    return ((turned << 13u) | (turned >> 19u)) * 5u + 0xe6546b64u;
}

fn finished(mixed_words: u32) -> u32 {
    var hash = mixed_words;
    hash = (hash ^ (hash >> 16u)) * 0x85ebca6bu;
    hash = (hash ^ (hash >> 13u)) * 0xc2b2ae35u;
    return hash ^ (hash >> 16u);
}
