use naga::{AtomicFunction, Block, ScalarKind, Statement, TypeInner};

use super::{Frame, Lowerer, Mem, PtrTy, Root, V, Val};
use crate::code::K;

impl<'m> Lowerer<'m> {
    pub(super) fn block(&mut self, frame: &mut Frame<'m>, block: &'m Block) {
        for (statement, span) in block.span_iter() {
            self.line = self.line_at(*span);
            self.statement(frame, statement);
            if matches!(
                statement,
                Statement::Return { .. } | Statement::Break | Statement::Continue
            ) {
                return;
            }
        }
    }

    pub(super) fn jump_out(&mut self, k: K, slot: u32) {
        let at = self.push(k, vec![], vec![]);
        self.ops[at].imm = slot;
        self.joins.last_mut().unwrap().push(at);
    }

    pub(super) fn statement(&mut self, frame: &mut Frame<'m>, statement: &'m Statement) {
        match statement {
            Statement::Emit(range) => {
                for expr in range.clone() {
                    self.emit(frame, expr);
                }
            }
            Statement::Block(inner) => self.block(frame, inner),
            Statement::If {
                condition,
                accept,
                reject,
            } => {
                let condition = self.comps_of(frame, *condition)[0];
                self.branch(frame, condition, accept, reject);
            }
            Statement::Loop {
                body,
                continuing,
                break_if,
            } => self.lower_loop(frame, body, continuing, *break_if),
            Statement::Switch { .. } => panic!("switch"),
            Statement::Break => {
                let slot = *self.loops.last().expect("a loop");
                self.jump_out(K::Leave, slot);
            }
            Statement::Continue => {
                let slot = *self.loops.last().expect("a loop") + 1;
                self.jump_out(K::Leave, slot);
            }
            Statement::Return { value } => {
                let value = value.map(|value| self.comps_of(frame, value));
                match &frame.ret {
                    None => frame.direct = Some(value.unwrap_or_default()),
                    Some((rows, slot)) => {
                        let (rows, slot) = (rows.clone(), *slot);
                        for (row, value) in rows.into_iter().zip(value.unwrap_or_default()) {
                            self.push(K::MovM, vec![row], vec![value]);
                        }
                        self.jump_out(K::Leave, slot);
                    }
                }
            }
            Statement::ControlBarrier(flags) => {
                let at = self.push(K::Barrier, vec![], vec![]);
                self.ops[at].imm = flags.bits();
            }
            Statement::Store { pointer, value } => {
                let ptr = self.ptr_of(frame, *pointer);
                let value = self.comps_of(frame, *value);
                if let (PtrTy::Ty(ty), Root::Buffer(buffer)) = (ptr.ty, ptr.root)
                    && matches!(self.module.types[ty].inner, TypeInner::Atomic(_))
                {
                    let at = self.push(K::AtomicStore, vec![], value);
                    self.ops[at].mem = Some(Mem {
                        buffer,
                        dynamic: ptr.dynamic,
                        offs: vec![ptr.off],
                    });
                    return;
                }
                self.store(&ptr, value);
            }
            Statement::Atomic {
                pointer,
                fun,
                value,
                result,
            } => {
                let ptr = self.ptr_of(frame, *pointer);
                let value = self.comps_of(frame, *value)[0];
                let Root::Buffer(buffer) = ptr.root else {
                    panic!("an atomic of one invocation")
                };
                let is_signed = match ptr.ty {
                    PtrTy::Ty(ty) => match self.module.types[ty].inner {
                        TypeInner::Atomic(scalar) => scalar.kind == ScalarKind::Sint,
                        _ => panic!(),
                    },
                    PtrTy::Scalar => panic!(),
                };
                let mut s = vec![value];
                let k = match fun {
                    AtomicFunction::Add => K::AtomicAdd,
                    AtomicFunction::Subtract => K::AtomicSub,
                    AtomicFunction::And => K::AtomicAnd,
                    AtomicFunction::ExclusiveOr => K::AtomicXor,
                    AtomicFunction::InclusiveOr => K::AtomicOr,
                    AtomicFunction::Min if is_signed => K::AtomicMinS,
                    AtomicFunction::Max if is_signed => K::AtomicMaxS,
                    AtomicFunction::Min => K::AtomicMin,
                    AtomicFunction::Max => K::AtomicMax,
                    AtomicFunction::Exchange { compare: None } => K::AtomicExchange,
                    AtomicFunction::Exchange { compare: Some(compare) } => {
                        s.push(self.comps_of(frame, *compare)[0]);
                        K::AtomicCompare
                    }
                };
                let d = match result {
                    None => vec![],
                    Some(_) if k == K::AtomicCompare => {
                        let first = self.fresh(2);
                        vec![first, first + 1]
                    }
                    Some(_) => vec![self.fresh(1)],
                };
                let at = self.push(k, d.clone(), s);
                self.ops[at].mem = Some(Mem {
                    buffer,
                    dynamic: ptr.dynamic,
                    offs: vec![ptr.off],
                });
                if let Some(result) = result {
                    frame
                        .vals
                        .insert(*result, Val::Comps(d.into_iter().map(V::R).collect()));
                }
            }
            Statement::WorkGroupUniformLoad { pointer, result } => {
                let ptr = self.ptr_of(frame, *pointer);
                let at = self.push(K::Barrier, vec![], vec![]);
                self.ops[at].imm = 2;
                let value = self.load(&ptr);
                let at = self.push(K::Barrier, vec![], vec![]);
                self.ops[at].imm = 2;
                frame.vals.insert(*result, Val::Comps(value));
            }
            Statement::Call {
                function,
                arguments,
                result,
            } => {
                let arguments = arguments.iter().map(|&argument| self.eval(frame, argument)).collect();
                let callee = &self.module.functions[*function];
                let values = self.call(callee, &self.info[*function], Some(*function), arguments);
                if let Some(result) = result {
                    frame.vals.insert(*result, Val::Comps(values));
                }
            }
            Statement::SubgroupBallot { result, predicate } => {
                let predicate = predicate.map_or(V::C(1), |predicate| self.comps_of(frame, predicate)[0]);
                let first = self.fresh(4);
                let d: Vec<u32> = (first..first + 4).collect();
                self.push(K::Ballot, d.clone(), vec![predicate]);
                // A ballot of 32 lanes sets bits of the first word only, as compilers know.
                let words = if self.keep_loads {
                    d.into_iter().map(V::R).collect()
                } else {
                    vec![V::R(first), V::C(0), V::C(0), V::C(0)]
                };
                frame.vals.insert(*result, Val::Comps(words));
            }
            Statement::SubgroupGather { mode, argument, result } => {
                let argument = self.comps_of(frame, *argument);
                let (k, index) = match mode {
                    naga::GatherMode::BroadcastFirst => (K::BroadcastFirst, None),
                    naga::GatherMode::Broadcast(index) | naga::GatherMode::Shuffle(index) => {
                        (K::Shuffle, Some(self.comps_of(frame, *index)[0]))
                    }
                    other => panic!("{other:?}"),
                };
                let mut comps = Vec::new();
                for v in argument {
                    let d = self.fresh(1);
                    self.push(k, vec![d], [Some(v), index].into_iter().flatten().collect());
                    comps.push(V::R(d));
                }
                frame.vals.insert(*result, Val::Comps(comps));
            }
            Statement::SubgroupCollectiveOperation {
                op,
                collective_op,
                argument,
                result,
            } => {
                let kind = Self::scalar_of(&self.inner(frame, *argument)).kind;
                assert!(kind != ScalarKind::Float, "{op:?} of floats");
                let k = match (op, collective_op) {
                    (naga::SubgroupOperation::Add, naga::CollectiveOperation::ExclusiveScan) => K::SubExAdd,
                    (naga::SubgroupOperation::Add, naga::CollectiveOperation::Reduce) => K::SubAdd,
                    (naga::SubgroupOperation::Add, naga::CollectiveOperation::InclusiveScan) => K::SubInAdd,
                    other => panic!("{other:?}"),
                };
                let argument = self.comps_of(frame, *argument);
                let mut comps = Vec::new();
                for v in argument {
                    let d = self.fresh(1);
                    self.push(k, vec![d], vec![v]);
                    comps.push(V::R(d));
                }
                frame.vals.insert(*result, Val::Comps(comps));
            }
            other => panic!("statement {other:?}"),
        }
    }
}
