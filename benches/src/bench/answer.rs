//! An engine's results as a count and a hash that does not depend on their order.

/// One list per parallel task. Rows are pairs in either order, [ray, object], or [ray, bits of t].
pub type Rows = Vec<Vec<[u32; 2]>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    pub results: u64,
    /// Sum of the rows' hashes; `None` for a kernel that only counts.
    pub hash: Option<u64>,
}

impl Answer {
    pub fn of_pairs(rows: &Rows) -> Self {
        Self::of(rows, |[a, b]| [a.min(b), a.max(b)])
    }

    pub fn of_hits(rows: &Rows) -> Self {
        Self::of(rows, |row| row)
    }

    fn of(rows: &Rows, order: impl Fn([u32; 2]) -> [u32; 2]) -> Self {
        let hash_of = |&row: &[u32; 2]| {
            let [first, second] = order(row);
            mixed(u64::from(first) << 32 | u64::from(second))
        };
        let hash = rows.iter().flatten().map(hash_of).fold(0, u64::wrapping_add);
        Self {
            results: rows.iter().map(|part| part.len() as u64).sum(),
            hash: Some(hash),
        }
    }

    pub fn agrees(&self, other: &Self) -> bool {
        let hashes = self.hash.zip(other.hash);
        self.results == other.results && hashes.is_none_or(|(own, others)| own == others)
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014), so that sums of hashes distinguish sets.
pub fn mixed(value: u64) -> u64 {
    let mut value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_parts_do_not_change_an_answer_and_rows_do() {
        let one = Answer::of_pairs(&vec![vec![[1, 2], [3, 4]], vec![[7, 5]]]);
        let other = Answer::of_pairs(&vec![vec![[5, 7], [2, 1], [4, 3]]]);
        assert_eq!(one, other);
        assert_eq!(one.results, 3);
        for rows in [vec![[1, 2], [3, 4], [7, 6]], vec![[1, 2], [1, 2], [3, 4]]] {
            assert!(!Answer::of_pairs(&vec![rows]).agrees(&one));
        }
        let hit = Answer::of_hits(&vec![vec![[1, 2]]]);
        assert!(!Answer::of_hits(&vec![vec![[2, 1]]]).agrees(&hit));
        let counted = |results| Answer { results, hash: None };
        assert!(counted(3).agrees(&one) && !counted(2).agrees(&one));
    }
}
