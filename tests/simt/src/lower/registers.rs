use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use super::{LOp, Lowerer, V};
use crate::code::{K, NONE, Op, Program, files_of};

/// Removes unused operations and allocates registers.
pub fn finish(mut lowerer: Lowerer<'_>, workgroup: u32, name: &str, source: &str) -> Program {
    let keep_loads = lowerer.keep_loads;
    let next = lowerer.next as usize;
    let mut uses = vec![0u32; next];
    let blocks: HashSet<(u32, u32)> = lowerer.ops.iter().filter_map(|op| op.block).collect();
    let mut in_block = vec![false; next];
    for &(block, len) in &blocks {
        in_block[block as usize..(block + len) as usize].fill(true);
    }
    let count_uses = |op: &LOp, uses: &mut [u32], by: i32| {
        let dynamic = op.mem.as_ref().and_then(|mem| mem.dynamic);
        for v in op.s.iter().copied().chain(dynamic) {
            if let V::R(r) = v {
                uses[r as usize] = (uses[r as usize] as i32 + by) as u32;
            }
        }
    };
    for op in &lowerer.ops {
        count_uses(op, &mut uses, 1);
    }
    let mut dead = vec![false; lowerer.ops.len()];
    loop {
        let mut changed = false;
        for at in (0..lowerer.ops.len()).rev() {
            if dead[at] {
                continue;
            }
            let op = &mut lowerer.ops[at];
            let is_pure = op.k.is_alu()
                || matches!(op.k, K::MovU | K::MovM | K::Init | K::LLoad | K::Builtin | K::ArrayLen)
                || (op.k == K::Load && !keep_loads);
            if !is_pure {
                continue;
            }
            if op.k == K::Load {
                let mem = op.mem.as_mut().unwrap();
                let keep: Vec<bool> = op.d.iter().map(|&d| uses[d as usize] > 0).collect();
                if keep.iter().any(|keep| !keep) {
                    let mut at = keep.iter();
                    op.d.retain(|_| *at.next().unwrap());
                    let mut at = keep.iter();
                    mem.offs.retain(|_| *at.next().unwrap());
                    changed = true;
                }
            }
            let is_used = op.d.iter().any(|&d| uses[d as usize] > 0 || in_block[d as usize]);
            if !is_used {
                let op = op.clone();
                count_uses(&op, &mut uses, -1);
                dead[at] = true;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    // Atomics with unused results get no result register.
    for op in &mut lowerer.ops {
        if op.k.is_atomic() && op.k != K::AtomicLoad && op.d.iter().all(|&d| uses[d as usize] == 0) {
            op.d.clear();
        }
    }
    let mut place = vec![0u32; lowerer.ops.len() + 1];
    let mut kept = Vec::new();
    for (at, op) in lowerer.ops.iter().enumerate() {
        place[at] = kept.len() as u32;
        if !dead[at] {
            kept.push(op.clone());
        }
    }
    place[lowerer.ops.len()] = kept.len() as u32;
    for op in &mut kept {
        if op.k.jumps() {
            op.imm2 = place[op.imm2 as usize];
        }
        if op.k == K::LoopEnd {
            let V::C(begin) = op.s[0] else { panic!() };
            op.s[0] = V::C(place[begin as usize]);
        }
    }
    let mut unit: Vec<u32> = (0..next as u32).collect();
    let mut len_of: HashMap<u32, u32> = HashMap::new();
    for &(block, len) in &blocks {
        for row in block..block + len {
            unit[row as usize] = block;
        }
        len_of.insert(block, len);
    }
    let mut range: HashMap<u32, (u32, u32)> = HashMap::new();
    let mut touch = |r: u32, at: u32| {
        let range = range.entry(unit[r as usize]).or_insert((at, at));
        range.0 = range.0.min(at);
        range.1 = range.1.max(at);
    };
    for (at, op) in kept.iter().enumerate() {
        let dynamic = op.mem.as_ref().and_then(|mem| mem.dynamic);
        for v in op.s.iter().copied().chain(dynamic) {
            if let V::R(r) = v {
                touch(r, at as u32);
            }
        }
        for &d in &op.d {
            touch(d, at as u32);
        }
        if let Some((block, _)) = op.block {
            touch(block, at as u32);
        }
    }
    let mut loops: Vec<(u32, u32)> = Vec::new();
    for (at, op) in kept.iter().enumerate() {
        if op.k == K::LoopEnd {
            let V::C(begin) = op.s[0] else { panic!() };
            loops.push((begin, at as u32));
        }
    }
    loops.sort_by_key(|&(begin, end)| end - begin);
    for (_, (first, last)) in range.iter_mut() {
        for &(begin, end) in &loops {
            if *first < begin && *last >= begin && *last < end {
                *last = end;
            }
        }
    }
    let mut units: Vec<(u32, u32, u32)> = range
        .iter()
        .map(|(&unit, &(first, last))| (first, last, unit))
        .collect();
    units.sort_unstable();
    let mut constants: HashMap<u32, u32> = HashMap::new();
    for op in &kept {
        if op.k == K::LoopEnd {
            continue;
        }
        let dynamic = op.mem.as_ref().and_then(|mem| mem.dynamic);
        for v in op.s.iter().copied().chain(dynamic) {
            if let V::C(c) = v {
                let row = constants.len() as u32;
                constants.entry(c).or_insert(row);
            }
        }
    }
    let mut rows = constants.len() as u32;
    let mut free: Vec<u32> = Vec::new();
    let mut active: BinaryHeap<Reverse<(u32, u32)>> = Default::default();
    let mut row_of: HashMap<u32, u32> = HashMap::new();
    for (first, last, unit) in units {
        while let Some(&Reverse((end, row))) = active.peek() {
            // A result must not overwrite an operand of its operation.
            if end >= first {
                break;
            }
            active.pop();
            free.push(row);
        }
        match len_of.get(&unit) {
            Some(&len) => {
                row_of.insert(unit, rows);
                rows += len;
            }
            None => {
                let row = free.pop().unwrap_or_else(|| {
                    rows += 1;
                    rows - 1
                });
                row_of.insert(unit, row);
                active.push(Reverse((last, row)));
            }
        }
    }
    let reg = |r: u32| -> u32 {
        let unit = unit[r as usize];
        row_of[&unit] + (r - unit)
    };
    let row = |v: V| -> u32 {
        match v {
            V::C(c) => constants[&c],
            V::R(r) => reg(r),
        }
    };
    let mut ops = Vec::new();
    let mut lists: Vec<u32> = Vec::new();
    let mut lines = Vec::new();
    let mut weights = Vec::new();
    for op in &kept {
        let s = |at: usize| op.s.get(at).map_or(0, |&v| row(v));
        let d = |at: usize| op.d.get(at).map_or(NONE, |&d| reg(d));
        let mut out = Op {
            k: op.k,
            d: d(0),
            a: 0,
            b: 0,
            c: 0,
            imm: op.imm,
            imm2: op.imm2,
            list: 0,
            len: 0,
        };
        match op.k {
            K::LoopEnd => {
                let V::C(begin) = op.s[0] else { panic!() };
                out.a = begin;
            }
            K::LLoad => {
                let (block, len) = op.block.unwrap();
                (out.a, out.b, out.c) = (s(0), reg(block), len);
            }
            K::LStore => {
                let (block, len) = op.block.unwrap();
                (out.a, out.b, out.c, out.d) = (s(0), reg(block), len, s(1));
            }
            K::Load | K::Store => {
                let mem = op.mem.as_ref().unwrap();
                out.a = mem.buffer;
                out.b = mem.dynamic.map_or(NONE, row);
                out.list = lists.len() as u32;
                out.len = mem.offs.len() as u32;
                for (at, &off) in mem.offs.iter().enumerate() {
                    lists.push(off);
                    lists.push(if op.k == K::Load { d(at) } else { s(at) });
                }
            }
            K::ArrayLen => out.a = op.mem.as_ref().unwrap().buffer,
            K::Ballot => {
                out.a = s(0);
                out.list = lists.len() as u32;
                lists.extend((0..4).map(d));
            }
            k if k.is_atomic() => {
                let mem = op.mem.as_ref().unwrap();
                out.a = mem.buffer;
                out.b = mem.dynamic.map_or(NONE, row);
                out.imm = mem.offs[0];
                out.c = if op.s.is_empty() { NONE } else { s(0) };
                // Registers of the compared value and of the success flag.
                out.list = if op.s.len() > 1 { s(1) } else { NONE };
                out.imm2 = d(1);
            }
            _ => (out.a, out.b, out.c) = (s(0), s(1), s(2)),
        }
        weights.push(op.k.weight(op.s.get(1).is_some_and(|v| matches!(v, V::C(_)))));
        lines.push(op.line);
        ops.push(out);
    }
    let mut constants: Vec<(u32, u32)> = constants.into_iter().map(|(value, row)| (row, value)).collect();
    constants.sort_unstable();
    Program {
        name: name.to_owned(),
        builtins: lowerer
            .builtins
            .iter()
            .map(|&(builtin, comp, _)| (builtin, comp))
            .collect(),
        buffers: lowerer.buffers,
        rows,
        constants,
        slots: lowerer.slots,
        workgroup,
        files: files_of(source),
        ops,
        lists,
        lines,
        weights,
    }
}
