//! Hash of pairs and event rows, as in `shaders/common/murmur.wgsl`.

/// MurmurHash3 (Appleby, public domain).
pub(crate) fn hash(words: &[u32]) -> u32 {
    let hash = words.iter().fold(0u32, |hash, word| {
        let scattered = word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        (hash ^ scattered)
            .rotate_left(13)
            .wrapping_mul(5)
            .wrapping_add(0xe654_6b64)
    });
    let hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    let hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}
