use naga::{ArraySize, TypeInner};

use super::{Key, Lowerer, Mem, Ptr, PtrTy, Root, V, words_of};
use crate::code::{BufferKind, K};

impl Lowerer<'_> {
    pub(super) fn index_ptr(&mut self, ptr: &Ptr, index: u32) -> Ptr {
        let PtrTy::Ty(ty) = ptr.ty else {
            panic!("index of a scalar")
        };
        let is_local = matches!(ptr.root, Root::Local { .. });
        let (off, ty) = match &self.module.types[ty].inner {
            TypeInner::Vector { .. } => (index, PtrTy::Scalar),
            TypeInner::Array { base, stride, .. } => {
                let step = if is_local { self.comps(*base) } else { stride / 4 };
                (index * step, PtrTy::Ty(*base))
            }
            TypeInner::Struct { members, .. } => {
                let before: u32 = members[..index as usize]
                    .iter()
                    .map(|member| self.comps(member.ty))
                    .sum();
                let member = &members[index as usize];
                (if is_local { before } else { member.offset / 4 }, PtrTy::Ty(member.ty))
            }
            other => panic!("index of {other:?}"),
        };
        Ptr {
            off: ptr.off + off,
            ty,
            ..ptr.clone()
        }
    }

    pub(super) fn access_ptr(&mut self, ptr: &Ptr, index: V) -> Ptr {
        let PtrTy::Ty(ty) = ptr.ty else {
            panic!("index of a scalar")
        };
        let is_local = matches!(ptr.root, Root::Local { .. });
        let (step, len, ty) = match &self.module.types[ty].inner {
            TypeInner::Vector { size, .. } => (1, Some(words_of(*size)), PtrTy::Scalar),
            TypeInner::Array { base, stride, size } => {
                let step = if is_local { self.comps(*base) } else { stride / 4 };
                let len = match size {
                    ArraySize::Constant(count) => Some(count.get()),
                    _ => None,
                };
                (step, len, PtrTy::Ty(*base))
            }
            other => panic!("access of {other:?}"),
        };
        if let V::C(index) = index {
            return Ptr {
                off: ptr.off.saturating_add(index.saturating_mul(step)),
                ty,
                ..ptr.clone()
            };
        }
        if let Some(len) = len {
            let at = self.push(K::Check, vec![], vec![index]);
            self.ops[at].imm = len;
        }
        let dynamic = match ptr.dynamic {
            None if step == 1 => index,
            None => self.alu(K::Scale, &[index, V::C(step)]),
            Some(before) => {
                let scaled = if step == 1 {
                    index
                } else {
                    self.alu(K::Scale, &[index, V::C(step)])
                };
                self.alu(K::AddSat, &[before, scaled])
            }
        };
        Ptr {
            dynamic: Some(dynamic),
            ty,
            ..ptr.clone()
        }
    }

    pub(super) fn offs_of(&self, ptr: &Ptr) -> Vec<u32> {
        match ptr.ty {
            PtrTy::Scalar => vec![ptr.off],
            PtrTy::Ty(ty) => {
                let is_local = matches!(ptr.root, Root::Local { .. });
                let words = if is_local {
                    (0..self.comps(ty)).collect()
                } else {
                    self.layout(ty)
                };
                words.into_iter().map(|word| ptr.off + word).collect()
            }
        }
    }

    pub(super) fn load(&mut self, ptr: &Ptr) -> Vec<V> {
        let offs = self.offs_of(ptr);
        match ptr.root {
            Root::Local { block, len } => match ptr.dynamic {
                None => offs
                    .iter()
                    .map(|off| {
                        assert!(*off < len);
                        let row = block + off;
                        if let Some(&known) = self.known.get(&row) {
                            return known;
                        }
                        let d = self.fresh(1);
                        self.push(K::MovU, vec![d], vec![V::R(row)]);
                        self.known.insert(row, V::R(d));
                        V::R(d)
                    })
                    .collect(),
                Some(dynamic) => offs
                    .iter()
                    .map(|&off| {
                        let d = self.fresh(1);
                        let at = self.push(K::LLoad, vec![d], vec![dynamic]);
                        self.ops[at].imm = off;
                        self.ops[at].block = Some((block, len));
                        V::R(d)
                    })
                    .collect(),
            },
            Root::Buffer(buffer) => {
                let is_const = matches!(
                    self.buffers[buffer as usize].kind,
                    BufferKind::Uniform | BufferKind::Read
                );
                let key = Key::Load(buffer, ptr.dynamic, offs.clone());
                if is_const && let Some(found) = self.cse.iter().rev().find_map(|scope| scope.get(&key)) {
                    return found.iter().map(|&d| V::R(d)).collect();
                }
                let first = self.fresh(offs.len() as u32);
                let d: Vec<u32> = (first..first + offs.len() as u32).collect();
                let at = self.push(K::Load, d.clone(), vec![]);
                self.ops[at].mem = Some(Mem {
                    buffer,
                    dynamic: ptr.dynamic,
                    offs,
                });
                if is_const {
                    self.cse.last_mut().unwrap().insert(key, d.clone());
                }
                d.into_iter().map(V::R).collect()
            }
        }
    }

    pub(super) fn store_row(&mut self, row: u32, value: V) {
        self.known.insert(row, value);
        if let Some(spec) = &mut self.spec {
            spec.insert(row);
        } else {
            self.push(K::MovM, vec![row], vec![value]);
        }
    }

    pub(super) fn store(&mut self, ptr: &Ptr, values: Vec<V>) {
        let offs = self.offs_of(ptr);
        assert_eq!(offs.len(), values.len());
        match ptr.root {
            Root::Local { block, len } => match ptr.dynamic {
                None => {
                    for (off, value) in offs.into_iter().zip(values) {
                        assert!(off < len);
                        self.store_row(block + off, value);
                    }
                }
                Some(dynamic) => {
                    for (off, value) in offs.into_iter().zip(values) {
                        let at = self.push(K::LStore, vec![], vec![dynamic, value]);
                        self.ops[at].imm = off;
                        self.ops[at].block = Some((block, len));
                    }
                    for row in block..block + len {
                        self.known.remove(&row);
                    }
                }
            },
            Root::Buffer(buffer) => {
                let at = self.push(K::Store, vec![], values);
                self.ops[at].mem = Some(Mem {
                    buffer,
                    dynamic: ptr.dynamic,
                    offs,
                });
            }
        }
    }
}
