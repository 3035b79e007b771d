use naga::{
    ArraySize, BinaryOperator, Expression, Handle, MathFunction, RelationalFunction, ScalarKind, SwizzleComponent,
    TypeInner, UnaryOperator,
};

use super::{Frame, Lowerer, Mem, Ptr, PtrTy, Root, V, Val, words_of};
use crate::code::K;

impl<'m> Lowerer<'m> {
    pub(super) fn comps_of(&mut self, frame: &mut Frame<'m>, expr: Handle<Expression>) -> Vec<V> {
        match self.eval(frame, expr) {
            Val::Comps(comps) => comps,
            Val::Ptr(ptr) => panic!("a pointer for a value: {ptr:?}"),
        }
    }

    pub(super) fn ptr_of(&mut self, frame: &mut Frame<'m>, expr: Handle<Expression>) -> Ptr {
        match self.eval(frame, expr) {
            Val::Ptr(ptr) => ptr,
            Val::Comps(_) => panic!("a value for a pointer"),
        }
    }

    pub(super) fn eval(&mut self, frame: &mut Frame<'m>, expr: Handle<Expression>) -> Val {
        if let Some(val) = frame.vals.get(&expr) {
            return val.clone();
        }
        let function = frame.function;
        match &function.expressions[expr] {
            Expression::Literal(literal) => Val::Comps(vec![V::C(Self::constant_literal(literal))]),
            Expression::Constant(constant) => Val::Comps(self.global_const(self.module.constants[*constant].init)),
            Expression::ZeroValue(ty) => Val::Comps(vec![V::C(0); self.comps(*ty) as usize]),
            Expression::FunctionArgument(index) => frame.args[*index as usize].clone(),
            Expression::GlobalVariable(variable) => {
                let ty = PtrTy::Ty(self.module.global_variables[*variable].ty);
                let root = match self.privates.get(variable) {
                    Some(&(block, len)) => Root::Local { block, len },
                    None => Root::Buffer(self.buffer_of[variable]),
                };
                Val::Ptr(Ptr {
                    root,
                    off: 0,
                    dynamic: None,
                    ty,
                })
            }
            Expression::LocalVariable(variable) => {
                let (block, len) = frame.locals[variable];
                let ty = PtrTy::Ty(function.local_variables[*variable].ty);
                Val::Ptr(Ptr {
                    root: Root::Local { block, len },
                    off: 0,
                    dynamic: None,
                    ty,
                })
            }
            // Composed constants are in no `Emit` statement, so they are evaluated here.
            _ => {
                self.emit(frame, expr);
                frame.vals[&expr].clone()
            }
        }
    }

    pub(super) fn emit(&mut self, frame: &mut Frame<'m>, expr: Handle<Expression>) {
        let function = frame.function;
        self.line = self.line_at(function.expressions.get_span(expr));
        let val = match &function.expressions[expr] {
            Expression::Compose { components, .. } => Val::Comps(
                components
                    .iter()
                    .flat_map(|&component| self.comps_of(frame, component))
                    .collect(),
            ),
            Expression::Splat { size, value } => {
                let value = self.comps_of(frame, *value)[0];
                Val::Comps(vec![value; words_of(*size) as usize])
            }
            Expression::Swizzle { size, vector, pattern } => {
                let vector = self.comps_of(frame, *vector);
                let of = |component: &SwizzleComponent| vector[*component as usize];
                Val::Comps(pattern[..words_of(*size) as usize].iter().map(of).collect())
            }
            Expression::AccessIndex { base, index } => match self.eval(frame, *base) {
                Val::Ptr(ptr) => Val::Ptr(self.index_ptr(&ptr, *index)),
                Val::Comps(comps) => match self.inner(frame, *base) {
                    TypeInner::Vector { .. } => Val::Comps(vec![comps[*index as usize]]),
                    TypeInner::Array { base, .. } => {
                        let step = self.comps(base) as usize;
                        Val::Comps(comps[*index as usize * step..][..step].to_vec())
                    }
                    TypeInner::Struct { members, .. } => {
                        let before: u32 = members[..*index as usize].iter().map(|m| self.comps(m.ty)).sum();
                        let step = self.comps(members[*index as usize].ty) as usize;
                        Val::Comps(comps[before as usize..][..step].to_vec())
                    }
                    other => panic!("index of a {other:?}"),
                },
            },
            Expression::Access { base, index } => {
                let index = self.comps_of(frame, *index)[0];
                match self.eval(frame, *base) {
                    Val::Ptr(ptr) => Val::Ptr(self.access_ptr(&ptr, index)),
                    Val::Comps(comps) => {
                        let (count, step) = match self.inner(frame, *base) {
                            TypeInner::Vector { size, .. } => (words_of(size), 1),
                            TypeInner::Array {
                                base,
                                size: ArraySize::Constant(count),
                                ..
                            } => (count.get(), self.comps(base)),
                            other => panic!("access of a {other:?}"),
                        };
                        let at = self.push(K::Check, vec![], vec![index]);
                        self.ops[at].imm = count;
                        let mut chosen = comps[..step as usize].to_vec();
                        for place in 1..count {
                            let is_place = self.alu(K::EqI, &[index, V::C(place)]);
                            for (comp, chosen) in chosen.iter_mut().enumerate() {
                                let of_place = comps[(place * step) as usize + comp];
                                *chosen = self.alu(K::Sel, &[is_place, of_place, *chosen]);
                            }
                        }
                        Val::Comps(chosen)
                    }
                }
            }
            Expression::Load { pointer } => {
                let ptr = self.ptr_of(frame, *pointer);
                // Atomics need an atomic load.
                if let (PtrTy::Ty(ty), Root::Buffer(buffer)) = (ptr.ty, ptr.root)
                    && matches!(self.module.types[ty].inner, TypeInner::Atomic(_))
                {
                    let d = self.fresh(1);
                    let at = self.push(K::AtomicLoad, vec![d], vec![]);
                    self.ops[at].mem = Some(Mem {
                        buffer,
                        dynamic: ptr.dynamic,
                        offs: vec![ptr.off],
                    });
                    frame.vals.insert(expr, Val::Comps(vec![V::R(d)]));
                    return;
                }
                Val::Comps(self.load(&ptr))
            }
            Expression::Unary { op, expr: of } => {
                let kind = Self::scalar_of(&self.inner(frame, *of)).kind;
                let of = self.comps_of(frame, *of);
                let k = match (op, kind) {
                    (UnaryOperator::Negate, ScalarKind::Float) => K::FNeg,
                    (UnaryOperator::Negate, _) => K::INeg,
                    (UnaryOperator::LogicalNot, _) => K::LNot,
                    (UnaryOperator::BitwiseNot, _) => K::Not,
                };
                Val::Comps(of.into_iter().map(|v| self.alu(k, &[v])).collect())
            }
            Expression::Binary { op, left, right } => {
                let kind = Self::scalar_of(&self.inner(frame, *left)).kind;
                let (left, right) = (self.comps_of(frame, *left), self.comps_of(frame, *right));
                let count = left.len().max(right.len());
                let part = |list: &[V], at: usize| if list.len() == 1 { list[0] } else { list[at] };
                Val::Comps(
                    (0..count)
                        .map(|at| self.binary(*op, kind, part(&left, at), part(&right, at)))
                        .collect(),
                )
            }
            Expression::Select {
                condition,
                accept,
                reject,
            } => {
                let condition = self.comps_of(frame, *condition);
                let (accept, reject) = (self.comps_of(frame, *accept), self.comps_of(frame, *reject));
                let of = |at: usize| {
                    if condition.len() == 1 {
                        condition[0]
                    } else {
                        condition[at]
                    }
                };
                Val::Comps(
                    (0..accept.len())
                        .map(|at| self.alu(K::Sel, &[of(at), accept[at], reject[at]]))
                        .collect(),
                )
            }
            Expression::Relational { fun, argument } => {
                let comps = self.comps_of(frame, *argument);
                let k = match fun {
                    RelationalFunction::All => K::LAnd,
                    RelationalFunction::Any => K::LOr,
                    other => panic!("{other:?}"),
                };
                let joined = comps[1..].iter().fold(comps[0], |before, &v| self.alu(k, &[before, v]));
                Val::Comps(vec![joined])
            }
            Expression::As {
                expr: of,
                kind,
                convert,
            } => {
                let from = Self::scalar_of(&self.inner(frame, *of)).kind;
                let comps = self.comps_of(frame, *of);
                let k = match (convert, from, kind) {
                    (None, ..) => None,
                    (_, ScalarKind::Float, ScalarKind::Sint) => Some(K::FToI),
                    (_, ScalarKind::Float, ScalarKind::Uint) => Some(K::FToU),
                    (_, ScalarKind::Sint, ScalarKind::Float) => Some(K::IToF),
                    (_, ScalarKind::Uint, ScalarKind::Float) => Some(K::UToF),
                    (_, ScalarKind::Bool, ScalarKind::Float) => Some(K::BToF),
                    (_, ScalarKind::Float, ScalarKind::Bool) => Some(K::FToB),
                    (_, ScalarKind::Uint | ScalarKind::Sint, ScalarKind::Bool) => Some(K::IToB),
                    _ => None,
                };
                Val::Comps(match k {
                    None => comps,
                    Some(k) => comps.into_iter().map(|v| self.alu(k, &[v])).collect(),
                })
            }
            Expression::Math {
                fun, arg, arg1, arg2, ..
            } => {
                let kind = Self::scalar_of(&self.inner(frame, *arg)).kind;
                let a = self.comps_of(frame, *arg);
                let b = arg1.map(|arg| self.comps_of(frame, arg));
                let c = arg2.map(|arg| self.comps_of(frame, arg));
                Val::Comps(self.math(*fun, kind, a, b, c))
            }
            Expression::ArrayLength(of) => {
                let ptr = self.ptr_of(frame, *of);
                let Root::Buffer(buffer) = ptr.root else {
                    panic!("length of a local")
                };
                let PtrTy::Ty(ty) = ptr.ty else { panic!() };
                let TypeInner::Array { stride, .. } = self.module.types[ty].inner else {
                    panic!()
                };
                let d = self.fresh(1);
                let at = self.push(K::ArrayLen, vec![d], vec![]);
                self.ops[at].imm = ptr.off;
                self.ops[at].imm2 = stride / 4;
                self.ops[at].mem = Some(Mem {
                    buffer,
                    dynamic: None,
                    offs: vec![],
                });
                Val::Comps(vec![V::R(d)])
            }
            other => panic!("expression {other:?}"),
        };
        frame.vals.insert(expr, val);
    }

    pub(super) fn binary(&mut self, op: BinaryOperator, kind: ScalarKind, a: V, b: V) -> V {
        use BinaryOperator as B;
        use ScalarKind::{Bool, Float, Sint};
        let (k, swap) = match (op, kind) {
            (B::Add, Float) => (K::FAdd, false),
            (B::Add, _) => (K::IAdd, false),
            (B::Subtract, Float) => (K::FSub, false),
            (B::Subtract, _) => (K::ISub, false),
            (B::Multiply, Float) => (K::FMul, false),
            (B::Multiply, _) => (K::IMul, false),
            (B::Divide, Float) => (K::FDiv, false),
            (B::Divide, Sint) => (K::DivS, false),
            (B::Divide, _) => (K::DivU, false),
            (B::Modulo, Float) => (K::FRem, false),
            (B::Modulo, Sint) => (K::ModS, false),
            (B::Modulo, _) => (K::ModU, false),
            (B::Equal, Float) => (K::EqF, false),
            (B::Equal, _) => (K::EqI, false),
            (B::NotEqual, Float) => (K::NeF, false),
            (B::NotEqual, _) => (K::NeI, false),
            (B::Less | B::Greater, Float) => (K::LtF, op == B::Greater),
            (B::Less | B::Greater, Sint) => (K::LtS, op == B::Greater),
            (B::Less | B::Greater, _) => (K::LtU, op == B::Greater),
            (B::LessEqual | B::GreaterEqual, Float) => (K::LeF, op == B::GreaterEqual),
            (B::LessEqual | B::GreaterEqual, Sint) => (K::LeS, op == B::GreaterEqual),
            (B::LessEqual | B::GreaterEqual, _) => (K::LeU, op == B::GreaterEqual),
            (B::And, Bool) | (B::LogicalAnd, _) => (K::LAnd, false),
            (B::And, _) => (K::And, false),
            (B::InclusiveOr, Bool) | (B::LogicalOr, _) => (K::LOr, false),
            (B::InclusiveOr, _) => (K::Or, false),
            (B::ExclusiveOr, _) => (K::Xor, false),
            (B::ShiftLeft, _) => (K::Shl, false),
            (B::ShiftRight, Sint) => (K::ShrS, false),
            (B::ShiftRight, _) => (K::ShrU, false),
        };
        if matches!(k, K::Shl | K::ShrU | K::ShrS) && matches!(b, V::R(_)) && self.spec.is_none() {
            self.push(K::CheckShift, vec![], vec![b]);
        }
        let (a, b) = if swap { (b, a) } else { (a, b) };
        match (k, a, b) {
            (K::LAnd, V::C(0), _) | (K::LAnd, _, V::C(0)) => V::C(0),
            (K::LAnd, V::C(_), v) | (K::LAnd, v, V::C(_)) => v,
            (K::LOr, V::C(0), v) | (K::LOr, v, V::C(0)) => v,
            (K::LOr, V::C(_), _) | (K::LOr, _, V::C(_)) => V::C(1),
            _ => self.alu(k, &[a, b]),
        }
    }

    pub(super) fn math(
        &mut self,
        fun: MathFunction,
        kind: ScalarKind,
        a: Vec<V>,
        b: Option<Vec<V>>,
        c: Option<Vec<V>>,
    ) -> Vec<V> {
        use MathFunction as M;
        use ScalarKind::{Float, Sint};
        let min = match kind {
            Float => K::MinF,
            Sint => K::MinS,
            _ => K::MinU,
        };
        let max = match kind {
            Float => K::MaxF,
            Sint => K::MaxS,
            _ => K::MaxU,
        };
        let map = |this: &mut Self, k: K| a.iter().map(|&v| this.alu(k, &[v])).collect::<Vec<_>>();
        match fun {
            M::Abs if kind == Float => map(self, K::FAbs),
            M::Abs if kind == Sint => map(self, K::IAbs),
            M::Abs => a,
            M::Floor => map(self, K::Floor),
            M::Ceil => map(self, K::Ceil),
            M::Trunc => map(self, K::Trunc),
            M::Sqrt => map(self, K::Sqrt),
            M::CountOneBits => map(self, K::Popc),
            M::CountTrailingZeros => map(self, K::Ctz),
            M::CountLeadingZeros => map(self, K::Clz),
            M::FirstTrailingBit => map(self, K::Ftb),
            M::FirstLeadingBit if kind == Sint => map(self, K::FlbS),
            M::FirstLeadingBit => map(self, K::FlbU),
            M::ReverseBits => map(self, K::Rev),
            M::Min | M::Max => {
                let k = if fun == M::Min { min } else { max };
                let b = b.unwrap();
                (0..a.len()).map(|at| self.alu(k, &[a[at], b[at]])).collect()
            }
            M::Clamp => {
                let (low, high) = (b.unwrap(), c.unwrap());
                (0..a.len())
                    .map(|at| {
                        let raised = self.alu(max, &[a[at], low[at]]);
                        self.alu(min, &[raised, high[at]])
                    })
                    .collect()
            }
            M::Dot => {
                let b = b.unwrap();
                let (mul, add) = if kind == Float {
                    (K::FMul, K::FAdd)
                } else {
                    (K::IMul, K::IAdd)
                };
                let products: Vec<V> = (0..a.len()).map(|at| self.alu(mul, &[a[at], b[at]])).collect();
                vec![
                    products[1..]
                        .iter()
                        .fold(products[0], |sum, &v| self.alu(add, &[sum, v])),
                ]
            }
            M::Fma => {
                let (b, c) = (b.unwrap(), c.unwrap());
                (0..a.len())
                    .map(|at| self.alu(K::Fma, &[a[at], b[at], c[at]]))
                    .collect()
            }
            other => panic!("function {other:?}"),
        }
    }
}
