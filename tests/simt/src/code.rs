//! Flat code: operations, their effect on a lane, and their cost.

use naga::BuiltIn;

macro_rules! kinds {
    ($($name:ident)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum K { $($name),+ }
    };
}

kinds! {
    IAdd ISub IMul DivU DivS ModU ModS FAdd FSub FMul FDiv FRem Scale AddSat
    EqI NeI LtU LtS LtF LeU LeS LeF EqF NeF
    And Or Xor LAnd LOr Shl ShrU ShrS MinU MaxU MinS MaxS MinF MaxF
    INeg FNeg Not LNot FAbs IAbs Floor Ceil Trunc Sqrt Popc Ctz Clz Ftb FlbU FlbS Rev
    FToI FToU IToF UToF BToF FToB IToB
    Sel Fma
    MovU MovM Init Builtin LLoad LStore Load Store ArrayLen Check CheckShift
    AtomicLoad AtomicStore AtomicAdd AtomicSub AtomicAnd AtomicOr AtomicXor AtomicMin AtomicMax AtomicMinS AtomicMaxS
    AtomicExchange AtomicCompare
    Barrier If Else EndIf EndIfOnly Loop LoopCont BreakIf LoopEnd Leave Begin End Exit
    Ballot BroadcastFirst Shuffle SubExAdd SubInAdd SubAdd
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Integer,
    /// Runs at a quarter of the usual rate: bit counts, conversions, roots.
    Slow,
    Other,
}

impl K {
    pub fn is_alu(self) -> bool {
        self <= K::Fma
    }

    pub fn is_atomic(self) -> bool {
        (K::AtomicLoad..=K::AtomicCompare).contains(&self)
    }

    pub fn jumps(self) -> bool {
        use K::*;
        matches!(self, If | Else | EndIf | EndIfOnly | LoopCont | LoopEnd | Leave | End)
    }

    pub fn is_bool(self) -> bool {
        use K::*;
        matches!(
            self,
            EqI | NeI | LtU | LtS | LtF | LeU | LeS | LeF | EqF | NeF | LAnd | LOr | LNot | FToB | IToB
        )
    }

    pub fn class(self) -> Class {
        use K::*;
        match self {
            FAdd | FSub | FMul | FDiv | FRem | FAbs | FNeg | Fma => Class::Other,
            Floor | Ceil | Trunc | Sqrt | Popc | Ctz | Clz | Ftb | FlbU | FlbS | FToI | FToU | IToF | UToF => {
                Class::Slow
            }
            Ballot | BroadcastFirst | Shuffle | SubExAdd | SubInAdd | SubAdd => Class::Integer,
            k if k.is_alu() => Class::Integer,
            _ => Class::Other,
        }
    }

    /// Approximate number of GPU instructions. Moves, constants and combined predicates are free. Memory operations are
    /// counted when executed, one per 16 bytes of a lane.
    pub fn weight(self, second_is_constant: bool) -> u32 {
        use K::*;
        match self {
            LAnd | LOr | LNot | FNeg | FAbs | BToF | IToB => 0,
            DivU | ModU if second_is_constant => 3,
            DivU | ModU => 16,
            DivS | ModS => 20,
            FDiv => 9,
            FRem => 12,
            Sqrt => 8,
            Ctz | Ftb | FlbS => 2,
            AddSat => 0,
            k if k.is_alu() => 1,
            LLoad | LStore => 1,
            Ballot | BroadcastFirst | Shuffle => 1,
            SubExAdd | SubInAdd | SubAdd => 12,
            Barrier => 1,
            // A branch, and the instruction at which its lanes reconverge.
            If => 2,
            LoopEnd => 1,
            _ => 0,
        }
    }
}

fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

#[inline(always)]
pub fn un(k: K, a: u32) -> u32 {
    match k {
        K::INeg => a.wrapping_neg(),
        K::FNeg => a ^ 0x8000_0000,
        K::Not => !a,
        K::LNot => u32::from(a == 0),
        K::FAbs => a & 0x7fff_ffff,
        K::IAbs => (a as i32).wrapping_abs() as u32,
        K::Floor => f(a).floor().to_bits(),
        K::Ceil => f(a).ceil().to_bits(),
        K::Trunc => f(a).trunc().to_bits(),
        K::Sqrt => f(a).sqrt().to_bits(),
        K::Popc => a.count_ones(),
        K::Ctz => a.trailing_zeros(),
        K::Clz => a.leading_zeros(),
        K::Ftb => {
            if a == 0 {
                u32::MAX
            } else {
                a.trailing_zeros()
            }
        }
        K::FlbU => {
            if a == 0 {
                u32::MAX
            } else {
                31 - a.leading_zeros()
            }
        }
        K::FlbS => {
            let b = if (a as i32) < 0 { !a } else { a };
            if b == 0 { u32::MAX } else { 31 - b.leading_zeros() }
        }
        K::Rev => a.reverse_bits(),
        K::FToI => f(a) as i32 as u32,
        K::FToU => f(a) as u32,
        K::IToF => (a as i32 as f32).to_bits(),
        K::UToF => (a as f32).to_bits(),
        K::BToF => {
            if a != 0 {
                1f32.to_bits()
            } else {
                0
            }
        }
        K::FToB => u32::from(f(a) != 0.0),
        K::IToB => u32::from(a != 0),
        other => panic!("{other:?}"),
    }
}

#[inline(always)]
pub fn bin(k: K, a: u32, b: u32) -> u32 {
    let (sa, sb) = (a as i32, b as i32);
    match k {
        K::IAdd => a.wrapping_add(b),
        K::ISub => a.wrapping_sub(b),
        K::IMul => a.wrapping_mul(b),
        K::DivU => a.checked_div(b).unwrap_or(a),
        K::ModU => {
            if b == 0 {
                0
            } else {
                a % b
            }
        }
        K::DivS => {
            if sb == 0 {
                a
            } else {
                sa.wrapping_div(sb) as u32
            }
        }
        K::ModS => {
            if sb == 0 {
                0
            } else {
                sa.wrapping_rem(sb) as u32
            }
        }
        K::FAdd => (f(a) + f(b)).to_bits(),
        K::FSub => (f(a) - f(b)).to_bits(),
        K::FMul => (f(a) * f(b)).to_bits(),
        K::FDiv => (f(a) / f(b)).to_bits(),
        K::FRem => (f(a) % f(b)).to_bits(),
        K::Scale => a.saturating_mul(b),
        K::AddSat => a.saturating_add(b),
        K::EqI => u32::from(a == b),
        K::NeI => u32::from(a != b),
        K::LtU => u32::from(a < b),
        K::LtS => u32::from(sa < sb),
        K::LtF => u32::from(f(a) < f(b)),
        K::LeU => u32::from(a <= b),
        K::LeS => u32::from(sa <= sb),
        K::LeF => u32::from(f(a) <= f(b)),
        K::EqF => u32::from(f(a) == f(b)),
        K::NeF => u32::from(f(a) != f(b)),
        K::And => a & b,
        K::Or => a | b,
        K::Xor => a ^ b,
        K::LAnd => a & b,
        K::LOr => a | b,
        K::Shl => a << (b & 31),
        K::ShrU => a >> (b & 31),
        K::ShrS => (sa >> (b & 31)) as u32,
        K::MinU => a.min(b),
        K::MaxU => a.max(b),
        K::MinS => sa.min(sb) as u32,
        K::MaxS => sa.max(sb) as u32,
        K::MinF => f(a).min(f(b)).to_bits(),
        K::MaxF => f(a).max(f(b)).to_bits(),
        other => panic!("{other:?}"),
    }
}

#[inline(always)]
pub fn tri(k: K, a: u32, b: u32, c: u32) -> u32 {
    match k {
        K::Sel => {
            if a != 0 {
                b
            } else {
                c
            }
        }
        K::Fma => f(a).mul_add(f(b), f(c)).to_bits(),
        other => panic!("{other:?}"),
    }
}

pub const NONE: u32 = u32::MAX;

/// The meaning of the fields depends on `k`.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    pub k: K,
    pub d: u32,
    pub a: u32,
    pub b: u32,
    pub c: u32,
    pub imm: u32,
    pub imm2: u32,
    pub list: u32,
    pub len: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferKind {
    Uniform,
    Read,
    Write,
    Workgroup,
}

#[derive(Clone, Debug)]
pub struct Buffer {
    pub name: String,
    pub group: u32,
    pub binding: u32,
    pub kind: BufferKind,
    pub words: u32,
    pub bank_base: u32,
}

#[derive(Clone, Debug)]
pub struct Program {
    pub name: String,
    pub ops: Vec<Op>,
    pub lists: Vec<u32>,
    pub lines: Vec<u32>,
    pub weights: Vec<u32>,
    pub rows: u32,
    pub constants: Vec<(u32, u32)>,
    pub slots: u32,
    pub builtins: Vec<(BuiltIn, u32)>,
    pub buffers: Vec<Buffer>,
    pub workgroup: u32,
    /// First line and name of each file in the joined text.
    pub files: Vec<(u32, String)>,
}

pub fn files_of(source: &str) -> Vec<(u32, String)> {
    let mut files = Vec::new();
    for (at, line) in source.lines().enumerate() {
        if let Some(name) = line.strip_prefix("// ---- ") {
            files.push((at as u32 + 1, name.to_owned()));
        }
    }
    files
}

impl Program {
    pub fn file(&self, line: u32) -> &str {
        let file = self.files.iter().rev().find(|(first, _)| *first < line);
        file.map_or("", |(_, name)| name)
    }

    pub fn place(&self, line: u32) -> String {
        match self.files.iter().rev().find(|(first, _)| *first < line) {
            Some((first, name)) => format!("{name}:{}", line - first),
            None => format!("line {line}"),
        }
    }
}
