use crate::api::types::{Pair, RayHit};

#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    /// Pairs, sorted by first object, then second.
    Pairs(&'a [Pair]),
    /// Hits, sorted by ray, then object.
    Hits(&'a [RayHit], Walks<'a>),
    /// Results, sorted by query, then object.
    Results(&'a [u32], Walks<'a>),
}

#[derive(Clone, Copy, Debug)]
pub struct Walks<'a> {
    /// Scanned counts of the rays or queries, then the total.
    pub offsets: &'a [u32],
    /// Place of the page's first row.
    pub first: u32,
}

impl Walks<'_> {
    fn of(&self, row: usize) -> u32 {
        let walks = &self.offsets[..self.offsets.len() - 1];
        let place = self.first + row as u32;
        walks.partition_point(|&offset| offset <= place) as u32 - 1
    }
}

impl Rows<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Pairs(rows) => rows.len(),
            Self::Hits(rows, _) => rows.len(),
            Self::Results(rows, _) => rows.len(),
        }
    }

    pub(crate) fn first_key(&self, row: usize) -> u32 {
        match self {
            Self::Pairs(rows) => rows[row].a,
            Self::Hits(_, walks) | Self::Results(_, walks) => walks.of(row),
        }
    }

    pub(crate) fn second_key(&self, row: usize) -> u32 {
        match self {
            Self::Pairs(rows) => rows[row].b,
            Self::Hits(rows, _) => rows[row].object,
            Self::Results(rows, _) => rows[row],
        }
    }
}
