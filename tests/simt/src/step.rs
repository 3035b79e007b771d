use naga::BuiltIn;

use crate::code::{BufferKind, K, NONE, Op, bin, tri, un};
use crate::findings::Fault;
use crate::machine::{Group, Machine, State, UNWRITTEN, Warp};
use crate::shadow::Access;
use crate::stats::{DEPENDENT, Request};

pub struct Lanes(pub u64);

impl Iterator for Lanes {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let lane = self.0.trailing_zeros();
        self.0 &= self.0 - 1;
        Some(lane as usize)
    }
}

#[inline(always)]
fn mask_of<const L: usize>(row: &[u32; L]) -> u64 {
    let mut mask = 0;
    for (lane, &value) in row.iter().enumerate() {
        mask |= u64::from(value != 0) << lane;
    }
    mask
}

impl<const L: usize> Warp<L> {
    #[inline(always)]
    fn row(&self, row: u32) -> [u32; L] {
        if row == NONE {
            [0; L]
        } else {
            self.registers[row as usize]
        }
    }

    #[inline(always)]
    fn set(&mut self, row: u32, value: [u32; L]) {
        self.registers[row as usize] = value;
    }

    #[inline(always)]
    fn set_lane(&mut self, row: u32, lane: usize, value: u32) {
        self.registers[row as usize][lane] = value;
    }

    /// Sets the active lanes. If none is left, jumps to the next operation that may activate some.
    #[inline(always)]
    fn jump(&mut self, op: &Op) {
        let slot = op.imm as usize;
        match op.k {
            K::If => {
                let taken = mask_of(&self.row(op.a)) & self.mask;
                self.masks[slot] = self.mask & !taken;
                self.mask = taken;
            }
            K::Else => std::mem::swap(&mut self.mask, &mut self.masks[slot]),
            K::EndIf | K::EndIfOnly | K::End => self.mask |= self.masks[slot],
            K::LoopCont => self.mask |= std::mem::take(&mut self.masks[slot + 1]),
            K::LoopEnd => {
                if self.mask != 0 {
                    self.pc = op.a as usize;
                    return;
                }
                self.mask = self.masks[slot];
            }
            _ => self.masks[slot] |= std::mem::take(&mut self.mask),
        }
        if self.mask == 0 {
            self.pc = op.imm2 as usize;
        }
    }
}

impl<const L: usize> Machine<'_, L> {
    /// Runs a warp until it waits, ends, or has run `turn` operations.
    pub fn step(&mut self, group: &mut Group<L>, at: usize, turn: u64) {
        let program = self.program;
        // Takes the warp out, since it changes memory of its group.
        let mut warp = std::mem::replace(
            &mut group.warps[at],
            Warp {
                pc: 0,
                mask: 0,
                full: 0,
                state: State::Ready,
                registers: Vec::new(),
                masks: Vec::new(),
                who: [0; L],
                steps: 0,
                clocks: 0,
            },
        );
        let mut left = turn;
        while left > 0 {
            let pc = warp.pc;
            let op = &program.ops[pc];
            warp.pc += 1;
            warp.steps += 1;
            left -= 1;
            if let Some(stats) = &mut self.stats
                && warp.mask != 0
            {
                stats.warps[pc] += 1;
                stats.lanes[pc] += u64::from(warp.mask.count_ones());
                warp.clocks += DEPENDENT * u64::from(program.weights[pc]);
            }
            self.operate(group, &mut warp, op, pc);
            if warp.state != State::Ready {
                break;
            }
            if warp.steps > self.config.limit {
                let id = group.id;
                self.report(Fault::Endless, NONE, program.lines[pc], || format!("workgroup {id}"));
                self.is_given_up = true;
                warp.state = State::Done;
                break;
            }
        }
        group.warps[at] = warp;
    }

    #[inline(always)]
    fn operate(&mut self, group: &mut Group<L>, warp: &mut Warp<L>, op: &Op, pc: usize) {
        macro_rules! alu {
            ($($b:ident)+; $($u:ident)+; $($t:ident)+; $($rest:tt)+) => {
                match op.k {
                    $(K::$b => {
                        let (a, b) = (warp.row(op.a), warp.row(op.b));
                        warp.set(op.d, std::array::from_fn(|lane| bin(K::$b, a[lane], b[lane])));
                    })+
                    $(K::$u => {
                        let a = warp.row(op.a);
                        warp.set(op.d, std::array::from_fn(|lane| un(K::$u, a[lane])));
                    })+
                    $(K::$t => {
                        let (a, b, c) = (warp.row(op.a), warp.row(op.b), warp.row(op.c));
                        warp.set(op.d, std::array::from_fn(|lane| tri(K::$t, a[lane], b[lane], c[lane])));
                    })+
                    $($rest)+
                }
            };
        }
        alu!(
            IAdd ISub IMul DivU DivS ModU ModS FAdd FSub FMul FDiv FRem Scale AddSat
            EqI NeI LtU LtS LtF LeU LeS LeF EqF NeF
            And Or Xor LAnd LOr Shl ShrU ShrS MinU MaxU MinS MaxS MinF MaxF;
            INeg FNeg Not LNot FAbs IAbs Floor Ceil Trunc Sqrt Popc Ctz Clz Ftb FlbU FlbS Rev
            FToI FToU IToF UToF BToF FToB IToB;
            Sel Fma;
            K::MovU | K::Init => warp.set(op.d, warp.row(op.a)),
            K::MovM => {
                let (a, d) = (warp.row(op.a), warp.row(op.d));
                let mask = warp.mask;
                warp.set(op.d, std::array::from_fn(|lane| {
                    let keep = 0u32.wrapping_sub((mask >> lane & 1) as u32);
                    (a[lane] & keep) | (d[lane] & !keep)
                }));
            }
            K::Load => self.load(group, warp, op, pc),
            K::Store => self.store(group, warp, op, pc),
            K::If | K::Else | K::EndIf | K::EndIfOnly | K::LoopCont | K::LoopEnd | K::Leave | K::End => warp.jump(op),
            K::Loop => warp.masks[op.imm as usize..][..2].fill(0),
            K::Begin => warp.masks[op.imm as usize] = 0,
            K::BreakIf => {
                let out = mask_of(&warp.row(op.a)) & warp.mask;
                warp.masks[op.imm as usize] |= out;
                warp.mask &= !out;
            }
            K::Barrier => warp.state = State::Waiting,
            K::Exit => warp.state = State::Done,
            _ => self.rest(group, warp, op, pc),
        );
    }

    fn rest(&mut self, group: &mut Group<L>, warp: &mut Warp<L>, op: &Op, pc: usize) {
        match op.k {
            K::Builtin => self.builtin(group, warp, op),
            K::LLoad => {
                let a = warp.row(op.a);
                for lane in Lanes(warp.mask) {
                    let at = a[lane].saturating_add(op.imm);
                    let value = if at < op.c {
                        warp.registers[(op.b + at) as usize][lane]
                    } else {
                        0
                    };
                    warp.set_lane(op.d, lane, value);
                }
            }
            K::LStore => {
                let (a, value) = (warp.row(op.a), warp.row(op.d));
                for lane in Lanes(warp.mask) {
                    let at = a[lane].saturating_add(op.imm);
                    if at < op.c {
                        warp.set_lane(op.b + at, lane, value[lane]);
                    }
                }
            }
            K::Check | K::CheckShift if self.config.watches => self.check(group, warp, op, pc),
            K::Check | K::CheckShift => {}
            K::ArrayLen => {
                let length = (self.memories[op.a as usize].words.len() as u32 - op.imm) / op.imm2;
                warp.set(op.d, [length; L]);
            }
            K::Ballot | K::BroadcastFirst | K::Shuffle | K::SubExAdd | K::SubInAdd | K::SubAdd => {
                self.subgroup(group, warp, op, pc);
            }
            _ => self.update(group, warp, op, pc),
        }
    }

    fn builtin(&self, group: &Group<L>, warp: &mut Warp<L>, op: &Op) {
        let (builtin, component) = self.program.builtins[op.imm as usize];
        let [width, height] = self.groups;
        let place = [group.id % width, group.id / width];
        let value = |lane: usize| match builtin {
            BuiltIn::WorkGroupId => [place[0], place[1], 0][component as usize],
            BuiltIn::NumWorkGroups => [width, height, 1][component as usize],
            BuiltIn::LocalInvocationIndex => warp.who[lane],
            BuiltIn::LocalInvocationId => [warp.who[lane], 0, 0][component as usize],
            BuiltIn::GlobalInvocationId => {
                let first = place[0] * self.program.workgroup + warp.who[lane];
                [first, place[1], 0][component as usize]
            }
            BuiltIn::SubgroupInvocationId => lane as u32,
            BuiltIn::SubgroupSize => L as u32,
            other => panic!("{}: the interpreter has no builtin {other:?}", self.program.name),
        };
        let values = std::array::from_fn(value);
        warp.set(op.d, values);
    }

    fn check(&mut self, group: &Group<L>, warp: &Warp<L>, op: &Op, pc: usize) {
        let (fault, bound) = match op.k {
            K::Check => (Fault::IndexPastArray, op.imm),
            _ => (Fault::LongShift, 32),
        };
        let a = warp.row(op.a);
        for lane in Lanes(warp.mask).filter(|&lane| a[lane] >= bound) {
            let (id, who) = (group.id, warp.who[lane]);
            self.report(fault, NONE, self.program.lines[pc], || {
                format!("{} where {bound} is too many, by invocation {id}/{who}", a[lane])
            });
        }
    }

    fn load(&mut self, group: &mut Group<L>, warp: &mut Warp<L>, op: &Op, pc: usize) {
        let program = self.program;
        let (buffer, line) = (op.a as usize, program.lines[pc]);
        let list = &program.lists[op.list as usize..][..2 * op.len as usize];
        if op.b == NONE && program.buffers[buffer].kind == BufferKind::Uniform {
            for pair in list.chunks_exact(2) {
                let value = self.memories[buffer].words.get(pair[0] as usize).copied();
                if value.is_none() {
                    self.report(Fault::OutOfBoundsRead, op.a, line, || format!("word {}", pair[0]));
                }
                warp.set(pair[1], [value.unwrap_or(0); L]);
            }
            return;
        }
        if warp.mask == 0 {
            return;
        }
        let addresses = warp.row(op.b);
        for pair in list.chunks_exact(2) {
            for lane in Lanes(warp.mask) {
                let address = addresses[lane].saturating_add(pair[0]);
                let value = self.read(group, Access::of(op, line, warp.who[lane], address));
                warp.set_lane(pair[1], lane, value);
            }
        }
        if self.config.counts {
            self.count(group, warp, op, pc, addresses);
        }
    }

    fn store(&mut self, group: &mut Group<L>, warp: &mut Warp<L>, op: &Op, pc: usize) {
        let program = self.program;
        if warp.mask == 0 {
            return;
        }
        let line = program.lines[pc];
        let list = &program.lists[op.list as usize..][..2 * op.len as usize];
        let addresses = warp.row(op.b);
        for pair in list.chunks_exact(2) {
            let values = warp.row(pair[1]);
            for lane in Lanes(warp.mask) {
                let address = addresses[lane].saturating_add(pair[0]);
                self.write(group, Access::of(op, line, warp.who[lane], address), values[lane]);
            }
        }
        if self.config.counts {
            self.count(group, warp, op, pc, addresses);
        }
    }

    fn count(&mut self, group: &mut Group<L>, warp: &mut Warp<L>, op: &Op, pc: usize, addresses: [u32; L]) {
        let offsets: Vec<u32> = if op.k.is_atomic() {
            vec![op.imm]
        } else {
            let list = &self.program.lists[op.list as usize..][..2 * op.len as usize];
            list.iter().copied().step_by(2).collect()
        };
        let request = Request {
            pc,
            op,
            mask: warp.mask,
            addresses: &addresses,
            offsets: &offsets,
        };
        warp.clocks += self.count_memory(group, &request);
    }

    fn update(&mut self, group: &mut Group<L>, warp: &mut Warp<L>, op: &Op, pc: usize) {
        if warp.mask == 0 {
            return;
        }
        let line = self.program.lines[pc];
        let (addresses, values, compared) = (warp.row(op.b), warp.row(op.c), warp.row(op.list));
        let by_chance = self.config.seed != 0;
        let first = if by_chance { self.chance.below(L) } else { 0 };
        let mask = warp.mask;
        for lane in (first..L).chain(0..first).filter(|lane| mask >> lane & 1 != 0) {
            // A weak exchange may fail spuriously.
            let fails = op.k == K::AtomicCompare && by_chance && self.chance.below(8) == 0;
            let access = Access::of(op, line, warp.who[lane], addresses[lane].saturating_add(op.imm));
            let before = self.atomic(group, op, access, [values[lane], compared[lane]], fails);
            if op.d != NONE {
                warp.set_lane(op.d, lane, before);
            }
            if op.k == K::AtomicCompare && op.imm2 != NONE {
                warp.set_lane(op.imm2, lane, u32::from(before == compared[lane] && !fails));
            }
        }
        if self.config.counts {
            self.count(group, warp, op, pc, addresses);
        }
    }

    fn subgroup(&mut self, group: &Group<L>, warp: &mut Warp<L>, op: &Op, pc: usize) {
        let mask = warp.mask;
        if mask == 0 {
            return;
        }
        if mask != warp.full && self.config.watches {
            let (id, lanes) = (group.id, mask.count_ones());
            self.report(Fault::DivergentSubgroup, NONE, self.program.lines[pc], || {
                format!("{lanes} of {} lanes in workgroup {id}", warp.full.count_ones())
            });
        }
        let a = warp.row(op.a);
        match op.k {
            K::Ballot => {
                let votes = mask_of(&a) & mask;
                for (at, value) in [votes as u32, (votes >> 32) as u32, 0, 0].into_iter().enumerate() {
                    let row = self.program.lists[op.list as usize + at];
                    if row != NONE {
                        warp.set(row, [value; L]);
                    }
                }
            }
            K::BroadcastFirst => warp.set(op.d, [a[mask.trailing_zeros() as usize]; L]),
            K::Shuffle => {
                let from = warp.row(op.b);
                for lane in Lanes(mask) {
                    let of = from[lane] as usize;
                    // Values of inactive lanes are undefined.
                    let is_there = of < L && mask >> of & 1 != 0;
                    warp.set_lane(op.d, lane, if is_there { a[of] } else { UNWRITTEN });
                }
            }
            _ => {
                let total = Lanes(mask).fold(0u32, |sum, lane| sum.wrapping_add(a[lane]));
                let mut sum = 0u32;
                for lane in Lanes(mask) {
                    let before = sum;
                    sum = sum.wrapping_add(a[lane]);
                    let value = match op.k {
                        K::SubExAdd => before,
                        K::SubInAdd => sum,
                        _ => total,
                    };
                    warp.set_lane(op.d, lane, value);
                }
            }
        }
    }
}
