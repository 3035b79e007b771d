//! Records the last accesses of each word. Conflicting accesses without a barrier between them are a race.

use crate::code::{BufferKind, K, Op};
use crate::findings::{Fault, Finding};
use crate::harness::STALE;
use crate::machine::{Group, Machine};

#[derive(Clone, Copy, Default)]
pub struct Touch {
    /// Workgroup index plus one, or 0 for none.
    group: u32,
    /// Local invocation index, and flags.
    who: u32,
    epoch: u32,
    line: u32,
}

const SEVERAL_GROUPS: u32 = 1 << 31;
const SEVERAL: u32 = 1 << 30;
const CHANGED: u32 = 1 << 29;
const WHO: u32 = 0xffff;

impl Touch {
    /// Returns `Some` if the access was by another invocation and no barrier followed; true if by another workgroup.
    #[inline(always)]
    fn unordered(&self, by: &Touch) -> Option<bool> {
        if self.group == 0 {
            None
        } else if self.group != by.group || self.who & SEVERAL_GROUPS != 0 {
            Some(true)
        } else {
            let is_other = self.who & WHO != by.who || self.who & SEVERAL != 0;
            (self.epoch == by.epoch && is_other).then_some(false)
        }
    }

    #[inline(always)]
    fn add(&mut self, by: &Touch, changes: bool) {
        let changed = if changes { CHANGED } else { 0 };
        let who = by.who | changed;
        if self.group == 0 {
            *self = Touch { who, ..*by };
        } else if self.group != by.group {
            let who = who | SEVERAL_GROUPS;
            *self = Touch { who, ..*by };
        } else if self.epoch != by.epoch {
            let who = who | (self.who & SEVERAL_GROUPS);
            *self = Touch { who, ..*by };
        } else {
            // Keeps the first invocation of an epoch, to recognise a second one.
            let several = if self.who & WHO != by.who { SEVERAL } else { 0 };
            self.who |= several | changed;
            self.line = by.line;
        }
    }

    fn place(&self, group: u32) -> String {
        format!("{}/{}", group, self.who & WHO)
    }
}

/// Last accesses: writes and reads, or atomic stores, updates and loads.
#[derive(Clone, Copy, Default)]
pub struct Word {
    touches: [Touch; 3],
}

#[derive(Clone, Copy)]
pub struct Access {
    pub buffer: usize,
    pub address: u32,
    pub who: u32,
    pub line: u32,
}

impl Access {
    pub fn of(op: &Op, line: u32, who: u32, address: u32) -> Self {
        Self {
            buffer: op.a as usize,
            address,
            who,
            line,
        }
    }
}

impl<const L: usize> Machine<'_, L> {
    fn is_shared(&self, buffer: usize) -> bool {
        self.program.buffers[buffer].kind == BufferKind::Workgroup
    }

    fn words<'a>(&'a mut self, group: &'a mut Group<L>, buffer: usize) -> &'a mut [u32] {
        if self.is_shared(buffer) {
            &mut group.shared[buffer]
        } else {
            &mut self.memories[buffer].words
        }
    }

    fn shadows<'a>(&'a mut self, group: &'a mut Group<L>, buffer: usize) -> &'a mut [Word] {
        if self.is_shared(buffer) {
            &mut group.shadow[buffer]
        } else {
            &mut self.shadow[buffer]
        }
    }

    fn out_of_bounds(&mut self, access: Access, is_write: bool) {
        let fault = if is_write {
            Fault::OutOfBoundsWrite
        } else {
            Fault::OutOfBoundsRead
        };
        self.report(fault, access.buffer as u32, access.line, || {
            format!("word {}", access.address)
        });
    }

    /// For workgroup memory, `group` is always 1, since each workgroup has its own.
    fn touch(&self, group: &Group<L>, access: Access) -> Touch {
        let is_shared = self.is_shared(access.buffer);
        Touch {
            group: if is_shared { 1 } else { group.id + 1 },
            who: access.who,
            epoch: group.epochs[usize::from(!is_shared)],
            line: access.line,
        }
    }

    #[inline(always)]
    fn hold(&mut self, fault: Fault, access: Access, id: u32, [earlier, own]: [Touch; 2], is_idle: bool) {
        if let Some(across) = earlier.unordered(&own) {
            let first = if self.is_shared(access.buffer) {
                id
            } else {
                earlier.group - 1
            };
            let finding = Finding {
                fault,
                buffer: access.buffer as u32,
                earlier: earlier.line,
                line: own.line,
                across,
            };
            self.note(finding, is_idle, || {
                let (first, then) = (earlier.place(first), own.place(id));
                format!("word {}: first invocation {first}, then {then}", access.address)
            });
        }
    }

    #[inline(always)]
    pub fn read(&mut self, group: &mut Group<L>, access: Access) -> u32 {
        let Access {
            buffer, address, line, ..
        } = access;
        let at = address as usize;
        let Some(&mut value) = self.words(group, buffer).get_mut(at) else {
            self.out_of_bounds(access, false);
            return 0;
        };
        if !self.config.watches {
            return value;
        }
        let own = self.touch(group, access);
        let is_shared = self.is_shared(buffer);
        let mut write = Touch::default();
        if let Some(word) = self.shadows(group, buffer).get_mut(at) {
            write = word.touches[0];
            word.touches[1].add(&own, false);
            self.hold(
                Fault::WriteThenRead,
                access,
                group.id,
                [write, own],
                write.who & CHANGED == 0,
            );
        }
        let example = || format!("word {address} by invocation {}/{}", group.id, access.who);
        if is_shared {
            if !group.written[buffer][at] {
                self.report(Fault::UnwrittenWorkgroupRead, buffer as u32, line, example);
            }
        } else if at >= self.memories[buffer].given {
            self.report(Fault::PastEndRead, buffer as u32, line, example);
        } else if value == STALE && write.group == 0 {
            self.report(Fault::StaleRead, buffer as u32, line, example);
        }
        value
    }

    #[inline(always)]
    pub fn write(&mut self, group: &mut Group<L>, access: Access, value: u32) {
        let Access {
            buffer, address, line, ..
        } = access;
        let at = address as usize;
        let Some(word) = self.words(group, buffer).get_mut(at) else {
            self.out_of_bounds(access, true);
            return;
        };
        let before = std::mem::replace(word, value);
        if !self.config.watches {
            return;
        }
        let own = self.touch(group, access);
        let is_shared = self.is_shared(buffer);
        if is_shared {
            group.written[buffer][at] = true;
        }
        let shadow = &mut self.shadows(group, buffer)[at];
        let [write, read, _] = shadow.touches;
        let changes = before != value;
        shadow.touches[0].add(&own, changes);
        if !is_shared && at >= self.memories[buffer].given {
            let example = || format!("word {address} by invocation {}/{}", group.id, access.who);
            self.report(Fault::PastEndWrite, buffer as u32, line, example);
        }
        self.hold(Fault::WriteWrite, access, group.id, [write, own], !changes);
        self.hold(Fault::ReadThenWrite, access, group.id, [read, own], !changes);
    }

    /// Returns the old value. A weak exchange that `fails` does nothing.
    #[inline(always)]
    pub fn atomic(
        &mut self,
        group: &mut Group<L>,
        op: &Op,
        access: Access,
        [value, compare]: [u32; 2],
        fails: bool,
    ) -> u32 {
        let Access {
            buffer, address, line, ..
        } = access;
        let at = address as usize;
        let Some(word) = self.words(group, buffer).get_mut(at) else {
            self.out_of_bounds(access, op.k != K::AtomicLoad);
            return 0;
        };
        let before = *word;
        let after = match op.k {
            K::AtomicLoad => before,
            K::AtomicStore | K::AtomicExchange => value,
            K::AtomicAdd => before.wrapping_add(value),
            K::AtomicSub => before.wrapping_sub(value),
            K::AtomicAnd => before & value,
            K::AtomicOr => before | value,
            K::AtomicXor => before ^ value,
            K::AtomicMin => before.min(value),
            K::AtomicMax => before.max(value),
            K::AtomicMinS => (before as i32).min(value as i32) as u32,
            K::AtomicMaxS => (before as i32).max(value as i32) as u32,
            K::AtomicCompare if before == compare && !fails => value,
            K::AtomicCompare => before,
            other => unreachable!("{other:?} is no atomic operation"),
        };
        *word = after;
        if !self.config.watches {
            return before;
        }
        let own = self.touch(group, access);
        let class = match op.k {
            K::AtomicStore => 0,
            K::AtomicLoad => 2,
            _ => 1,
        };
        let is_shared = self.is_shared(buffer);
        let mut is_written = true;
        if is_shared {
            is_written = group.written[buffer][at] || class == 0;
            group.written[buffer][at] |= class != 2;
        }
        let shadow = &mut self.shadows(group, buffer)[at];
        let touches = shadow.touches;
        let changes = before != after;
        shadow.touches[class].add(&own, changes);
        let example = || format!("word {address} by invocation {}/{}, atomic", group.id, access.who);
        if !is_written {
            self.report(Fault::UnwrittenWorkgroupRead, op.a, line, example);
        }
        if !is_shared {
            let is_first = touches[0].group == 0 && touches[1].group == 0;
            if at >= self.memories[buffer].given {
                let fault = if class == 2 {
                    Fault::PastEndRead
                } else {
                    Fault::PastEndWrite
                };
                self.report(fault, op.a, line, example);
            } else if before == STALE && class != 0 && is_first {
                self.report(Fault::StaleRead, op.a, line, example);
            }
        }
        let kinds: &[(Fault, usize)] = match class {
            0 => &[
                (Fault::AtomicStoreStore, 0),
                (Fault::AtomicStoreUpdate, 1),
                (Fault::AtomicStoreLoad, 2),
            ],
            1 => &[(Fault::AtomicStoreUpdate, 0), (Fault::AtomicUpdateLoad, 2)],
            _ => &[(Fault::AtomicStoreLoad, 0), (Fault::AtomicUpdateLoad, 1)],
        };
        for &(fault, other) in kinds {
            let earlier = touches[other];
            let is_idle = if class == 2 {
                earlier.who & CHANGED == 0
            } else {
                !changes
            };
            self.hold(fault, access, group.id, [earlier, own], is_idle);
        }
        before
    }
}
