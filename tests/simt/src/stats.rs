use crate::code::{BufferKind, K, NONE, Op, Program};
use crate::machine::{Group, Machine, Memory};
use crate::step::Lanes;

#[derive(Clone, Debug, Default)]
pub struct Stats {
    pub warps: Vec<u64>,
    pub lanes: Vec<u64>,
    /// Memory accesses of a warp, of up to 16 bytes per lane.
    pub requests: Vec<u64>,
    pub sectors: Vec<u64>,
    /// Sectors not in the workgroup's small cache, and all written ones.
    pub misses: Vec<u64>,
    /// Additional accesses due to bank conflicts.
    pub conflicts: Vec<u64>,
    /// A bit per sector of each buffer, set if touched.
    touched: Vec<Vec<u64>>,
    /// Clocks of the slowest workgroup; `clocks` sums all.
    pub longest: u64,
    pub clocks: u64,
    pub workgroups: u64,
}

const SECTOR: u32 = 8;

/// Latencies in clocks: of a dependent instruction, then of memory accesses.
pub const DEPENDENT: u64 = 5;
const UNIFORM: u64 = 30;
const SHARED: u64 = 25;
const CACHED: u64 = 35;
const MISSED: u64 = 300;
const ATOMIC: u64 = 700;
const REQUEST: u64 = 4;

impl Stats {
    pub fn new(program: &Program, memories: &[Memory]) -> Self {
        let zeros = || vec![0; program.ops.len()];
        let sectors = |memory: &Memory| memory.words.len().div_ceil(SECTOR as usize);
        Self {
            warps: zeros(),
            lanes: zeros(),
            requests: zeros(),
            sectors: zeros(),
            misses: zeros(),
            conflicts: zeros(),
            touched: memories
                .iter()
                .map(|memory| vec![0; sectors(memory).div_ceil(64)])
                .collect(),
            ..Self::default()
        }
    }

    pub fn touched_bytes(&self) -> u64 {
        let sectors = self.touched.iter().flatten().map(|bits| u64::from(bits.count_ones()));
        4 * u64::from(SECTOR) * sectors.sum::<u64>()
    }
}

/// A warp's access to the words at `offsets` from each lane's address.
pub struct Request<'a, const L: usize> {
    pub pc: usize,
    pub op: &'a Op,
    pub mask: u64,
    pub addresses: &'a [u32; L],
    pub offsets: &'a [u32],
}

/// Accesses of the most used of 32 banks, beyond one per 32 words. Atomic updates of one word count separately.
fn bank_conflicts(addresses: &[u32], base: u32, updates: bool) -> u64 {
    let mut banks = [0u32; 32];
    let mut distinct = 0;
    for (at, &address) in addresses.iter().enumerate() {
        if at == 0 || address != addresses[at - 1] || updates {
            banks[((base + address) % 32) as usize] += 1;
            distinct += 1;
        }
    }
    let most = banks.into_iter().max().unwrap_or(0);
    u64::from(most.saturating_sub(u32::div_ceil(distinct, 32).max(1)))
}

impl<const L: usize> Machine<'_, L> {
    #[cold]
    pub fn count_memory(&mut self, group: &mut Group<L>, request: &Request<'_, L>) -> u64 {
        let &Request {
            pc,
            op,
            mask,
            addresses,
            offsets,
        } = request;
        let buffer = &self.program.buffers[op.a as usize];
        let Some(stats) = self.stats.as_mut() else { return 0 };
        let has_result = op.d != NONE || op.k == K::Load;
        let updates = op.k.is_atomic() && !matches!(op.k, K::AtomicLoad | K::AtomicStore);
        let writes = matches!(op.k, K::Store | K::AtomicStore);
        if buffer.kind == BufferKind::Uniform {
            // Constant addresses of uniform buffers are free, computed ones are not.
            let is_chosen = op.b != NONE;
            stats.requests[pc] += u64::from(is_chosen);
            return if is_chosen { UNIFORM } else { 0 };
        }
        let [mut requests, mut misses, mut conflicts] = [0; 3];
        let first = mask.trailing_zeros() as usize;
        let mut rest = offsets;
        while let Some(&begin) = rest.first() {
            // Words of the same 16 bytes are one request.
            let chunk = |offset: u32| addresses[first].wrapping_add(offset) / 4;
            let is_next = |at: &usize| chunk(rest[*at]) == chunk(begin) && rest[*at] > rest[*at - 1];
            let end = (1..rest.len()).take_while(is_next).count() + 1;
            let (words, more) = rest.split_at(end);
            rest = more;
            requests += 1;
            let mut list: Vec<u32> = Lanes(mask)
                .flat_map(|lane| words.iter().map(move |&offset| addresses[lane].wrapping_add(offset)))
                .collect();
            list.sort_unstable();
            if buffer.kind == BufferKind::Workgroup {
                conflicts += bank_conflicts(&list, buffer.bank_base, updates);
                continue;
            }
            list.iter_mut().for_each(|address| *address /= SECTOR);
            list.dedup();
            stats.sectors[pc] += list.len() as u64;
            for sector in list {
                if let Some(bits) = stats.touched[op.a as usize].get_mut(sector as usize / 64) {
                    *bits |= 1 << (sector % 64);
                }
                let tag = u64::from(op.a) << 32 | u64::from(sector);
                let place = (tag.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & (group.tags.len() - 1);
                // Atomic updates run in the L2 cache.
                let hits = group.tags[place] == tag && !writes && !updates;
                if !updates {
                    group.tags[place] = tag;
                }
                misses += u64::from(!hits);
            }
        }
        stats.requests[pc] += requests;
        stats.misses[pc] += misses;
        stats.conflicts[pc] += conflicts;
        let waited = match (has_result, buffer.kind) {
            // A warp does not wait for writes.
            (false, _) => 0,
            (true, BufferKind::Workgroup) => SHARED,
            _ if updates => ATOMIC,
            _ if misses > 0 => MISSED,
            _ => CACHED,
        };
        waited + 2 * conflicts + REQUEST * requests
    }
}
