use std::collections::{BTreeSet, HashMap, HashSet};

use naga::valid::FunctionInfo;
use naga::{BinaryOperator, Block, Expression, Function, Handle, ScalarKind};

use super::{Frame, Known, Lowerer, V, Val};
use crate::code::K;

impl<'m> Lowerer<'m> {
    pub(super) fn join(&mut self, a: Known, b: &Known) {
        self.known = a.into_iter().filter(|(row, value)| b.get(row) == Some(value)).collect();
    }

    pub(super) fn branch(&mut self, frame: &mut Frame<'m>, condition: V, accept: &'m Block, reject: &'m Block) {
        if let V::C(condition) = condition {
            return self.block(frame, if condition != 0 { accept } else { reject });
        }
        const LIMIT: u32 = 12;
        let is_cheap = |this: &Self, block: &Block| {
            !Self::has_return(block)
                && this
                    .cheap(frame.function, frame.info, block)
                    .is_some_and(|cost| cost <= LIMIT)
        };
        if is_cheap(self, accept) && is_cheap(self, reject) {
            return self.select(frame, condition, accept, reject);
        }
        assert!(self.spec.is_none(), "a branch ahead of its condition");
        let (condition, accept, reject) = if accept.is_empty() {
            (self.alu(K::LNot, &[condition]), reject, accept)
        } else {
            (condition, accept, reject)
        };
        let line = self.line;
        let slot = self.take_slots(1);
        let at = self.push(K::If, vec![], vec![condition]);
        self.ops[at].imm = slot;
        let before = self.known.clone();
        self.cse.push(HashMap::new());
        self.joins.push(Vec::new());
        self.block(frame, accept);
        let pending = self.joins.pop().unwrap();
        self.cse.pop();
        self.line = line;
        let after_accept = std::mem::replace(&mut self.known, before);
        if reject.is_empty() {
            self.patch(pending);
            self.patch(vec![at]);
            let end = self.push(K::EndIfOnly, vec![], vec![]);
            self.ops[end].imm = slot;
            self.joins.last_mut().unwrap().push(end);
        } else {
            self.patch(pending);
            self.patch(vec![at]);
            let other = self.push(K::Else, vec![], vec![]);
            self.ops[other].imm = slot;
            self.cse.push(HashMap::new());
            self.joins.push(Vec::new());
            self.block(frame, reject);
            let pending = self.joins.pop().unwrap();
            self.cse.pop();
            self.line = line;
            self.patch(pending);
            self.patch(vec![other]);
            let end = self.push(K::EndIf, vec![], vec![]);
            self.ops[end].imm = slot;
            self.joins.last_mut().unwrap().push(end);
        }
        self.slot = slot;
        match (Self::diverts(accept), Self::diverts(reject)) {
            (true, _) => {}
            (_, true) => self.known = after_accept,
            _ => {
                let after_reject = std::mem::take(&mut self.known);
                self.join(after_accept, &after_reject);
            }
        }
    }

    pub(super) fn select(&mut self, frame: &mut Frame<'m>, condition: V, accept: &'m Block, reject: &'m Block) {
        let line = self.line;
        let outer = self.spec.take();
        let before = self.known.clone();
        self.spec = Some(BTreeSet::new());
        self.block(frame, accept);
        let mut rows = self.spec.take().unwrap();
        let after_accept = std::mem::replace(&mut self.known, before.clone());
        self.spec = Some(BTreeSet::new());
        self.block(frame, reject);
        rows.extend(self.spec.take().unwrap());
        let after_reject = std::mem::replace(&mut self.known, before);
        self.spec = outer;
        self.line = line;
        for row in rows {
            let side = |this: &mut Self, known: &Known| match known.get(&row) {
                Some(&value) => value,
                None => {
                    if let Some(&known) = this.known.get(&row) {
                        return known;
                    }
                    let d = this.fresh(1);
                    this.push(K::MovU, vec![d], vec![V::R(row)]);
                    this.known.insert(row, V::R(d));
                    V::R(d)
                }
            };
            let (a, b) = (side(self, &after_accept), side(self, &after_reject));
            let value = match (a, b) {
                (a, V::C(0)) if self.is_bool(a) => {
                    self.binary(BinaryOperator::LogicalAnd, ScalarKind::Bool, condition, a)
                }
                (V::C(1), b) if self.is_bool(b) => {
                    self.binary(BinaryOperator::LogicalOr, ScalarKind::Bool, condition, b)
                }
                _ => self.alu(K::Sel, &[condition, a, b]),
            };
            self.store_row(row, value);
        }
    }

    pub(super) fn is_bool(&self, v: V) -> bool {
        let V::R(r) = v else { return false };
        self.ops
            .iter()
            .rev()
            .take(200)
            .find(|op| op.d.first() == Some(&r))
            .is_some_and(|op| op.k.is_bool())
    }

    pub(super) fn lower_loop(
        &mut self,
        frame: &mut Frame<'m>,
        body: &'m Block,
        continuing: &'m Block,
        break_if: Option<Handle<Expression>>,
    ) {
        assert!(self.spec.is_none());
        let mut stored = HashSet::new();
        self.stores(frame.function, body, &mut stored);
        self.stores(frame.function, continuing, &mut stored);
        self.forget(frame, &stored);
        let before = self.known.clone();
        let line = self.line;
        let slot = self.take_slots(2);
        let at = self.push(K::Loop, vec![], vec![]);
        self.ops[at].imm = slot;
        let begin = self.ops.len() as u32;
        self.loops.push(slot);
        self.cse.push(HashMap::new());
        self.joins.push(Vec::new());
        self.block(frame, body);
        let pending = self.joins.pop().unwrap();
        self.patch(pending);
        // Lanes that `continue` early may have skipped computations, so these cannot be reused.
        self.cse.pop();
        self.line = line;
        self.joins.push(Vec::new());
        let at = self.push(K::LoopCont, vec![], vec![]);
        self.ops[at].imm = slot;
        self.joins.last_mut().unwrap().push(at);
        // A `continue` may come from anywhere in the body, so stored values are unknown.
        self.forget(frame, &stored);
        let known = before.clone();
        self.known.retain(|row, value| known.get(row) == Some(value));
        self.cse.push(HashMap::new());
        self.block(frame, continuing);
        if let Some(break_if) = break_if {
            let condition = self.comps_of(frame, break_if)[0];
            let at = self.push(K::BreakIf, vec![], vec![condition]);
            self.ops[at].imm = slot;
        }
        self.cse.pop();
        let pending = self.joins.pop().unwrap();
        self.patch(pending);
        self.line = line;
        let at = self.push(K::LoopEnd, vec![], vec![V::C(begin)]);
        self.ops[at].imm = slot;
        self.joins.last_mut().unwrap().push(at);
        self.loops.pop();
        self.slot = slot;
        self.known = before;
    }

    pub(super) fn call(
        &mut self,
        function: &'m Function,
        info: &'m FunctionInfo,
        handle: Option<Handle<Function>>,
        args: Vec<Val>,
    ) -> Vec<V> {
        let line = self.line;
        let slot = self.slot;
        let is_direct = handle.is_some() && Self::returns_last(&function.body);
        let results = function.result.as_ref().map_or(0, |result| self.comps(result.ty));
        let mut frame = Frame {
            function,
            info,
            vals: HashMap::new(),
            locals: HashMap::new(),
            args,
            ret: None,
            direct: None,
        };
        for (variable, local) in function.local_variables.iter() {
            let len = self.comps(local.ty);
            let block = self.fresh(len);
            frame.locals.insert(variable, (block, len));
            let init = match local.init {
                None => vec![V::C(0); len as usize],
                Some(init) => self.comps_of(&mut frame, init),
            };
            for (row, value) in (block..).zip(init) {
                self.known.insert(row, value);
                self.push(K::Init, vec![row], vec![value]);
            }
        }
        if is_direct {
            self.block(&mut frame, &function.body);
            self.line = line;
            self.slot = slot;
            return frame.direct.unwrap_or_default();
        }
        assert!(self.spec.is_none());
        let slot = self.take_slots(1);
        let at = self.push(K::Begin, vec![], vec![]);
        self.ops[at].imm = slot;
        let first = self.fresh(results);
        let rows: Vec<u32> = (first..first + results).collect();
        for &row in &rows {
            self.push(K::Init, vec![row], vec![V::C(0)]);
        }
        frame.ret = Some((rows.clone(), slot));
        let before = self.known.clone();
        self.cse.push(HashMap::new());
        self.joins.push(Vec::new());
        self.block(&mut frame, &function.body);
        let pending = self.joins.pop().unwrap();
        self.patch(pending);
        self.cse.pop();
        self.line = line;
        let at = self.push(K::End, vec![], vec![]);
        self.ops[at].imm = slot;
        if let Some(joins) = self.joins.last_mut() {
            joins.push(at);
        }
        self.slot = slot;
        self.known = before;
        if let Some(handle) = handle {
            let stored = self.stores_of(handle);
            self.forget(&frame, &stored);
        }
        rows.into_iter().map(V::R).collect()
    }
}
