//! Exits, stores and speculation of blocks.

use std::collections::HashSet;

use naga::valid::FunctionInfo;
use naga::{AddressSpace, BinaryOperator, Block, Expression, Function, Handle, Statement, TypeInner};

use super::{Frame, Lowerer, Ptr, Root, Stored, Val, words_of};

impl<'m> Lowerer<'m> {
    pub(super) fn diverts(block: &Block) -> bool {
        block.iter().any(|statement| match statement {
            Statement::Return { .. } | Statement::Break | Statement::Continue => true,
            Statement::Block(inner) => Self::diverts(inner),
            Statement::If { accept, reject, .. } => Self::diverts(accept) && Self::diverts(reject),
            _ => false,
        })
    }

    pub(super) fn has_return(block: &Block) -> bool {
        block.iter().any(|statement| match statement {
            Statement::Return { .. } => true,
            Statement::Block(inner) => Self::has_return(inner),
            Statement::If { accept, reject, .. } => Self::has_return(accept) || Self::has_return(reject),
            Statement::Loop { body, continuing, .. } => Self::has_return(body) || Self::has_return(continuing),
            Statement::Switch { cases, .. } => cases.iter().any(|case| Self::has_return(&case.body)),
            _ => false,
        })
    }

    pub(super) fn returns_last(block: &Block) -> bool {
        let count = block.len();
        block.iter().enumerate().all(|(at, statement)| {
            let last = at + 1 == count;
            match statement {
                Statement::Return { .. } => last,
                Statement::Block(inner) if last => Self::returns_last(inner),
                Statement::Block(inner) => !Self::has_return(inner),
                Statement::If { accept, reject, .. } => !Self::has_return(accept) && !Self::has_return(reject),
                Statement::Loop { body, continuing, .. } => !Self::has_return(body) && !Self::has_return(continuing),
                Statement::Switch { cases, .. } => cases.iter().all(|case| !Self::has_return(&case.body)),
                _ => true,
            }
        })
    }

    /// Root variable of a pointer, and true if an index is dynamic.
    pub(super) fn root_of(&self, function: &Function, mut expr: Handle<Expression>) -> (Expression, bool) {
        let mut is_dynamic = false;
        loop {
            match &function.expressions[expr] {
                Expression::AccessIndex { base, .. } => expr = *base,
                Expression::Access { base, .. } => {
                    is_dynamic = true;
                    expr = *base;
                }
                other => return (other.clone(), is_dynamic),
            }
        }
    }

    /// Approximate number of operations; `None` if the block cannot be speculated.
    pub(super) fn cheap(&self, function: &Function, info: &FunctionInfo, block: &Block) -> Option<u32> {
        let mut cost = 0;
        for statement in block.iter() {
            cost += match statement {
                Statement::Emit(range) => {
                    let mut sum = 0;
                    for expr in range.clone() {
                        let comps = match info[expr].ty.inner_with(&self.module.types) {
                            &TypeInner::Vector { size, .. } => words_of(size),
                            _ => 1,
                        };
                        sum += match &function.expressions[expr] {
                            Expression::Compose { .. }
                            | Expression::Splat { .. }
                            | Expression::Swizzle { .. }
                            | Expression::AccessIndex { .. } => 0,
                            Expression::Access { .. } => return None,
                            Expression::Load { pointer } => match self.root_of(function, *pointer) {
                                (Expression::LocalVariable(_), false) => 0,
                                (Expression::GlobalVariable(variable), false) => {
                                    match self.module.global_variables[variable].space {
                                        AddressSpace::Private | AddressSpace::Uniform => 0,
                                        _ => return None,
                                    }
                                }
                                _ => return None,
                            },
                            Expression::Binary {
                                op: BinaryOperator::Divide | BinaryOperator::Modulo,
                                ..
                            } => return None,
                            Expression::Unary { .. }
                            | Expression::Binary { .. }
                            | Expression::Select { .. }
                            | Expression::Relational { .. }
                            | Expression::As { .. } => comps,
                            Expression::Math { .. } => comps,
                            _ => return None,
                        };
                    }
                    sum
                }
                Statement::Block(inner) => self.cheap(function, info, inner)?,
                Statement::If { accept, reject, .. } => {
                    1 + self.cheap(function, info, accept)? + self.cheap(function, info, reject)?
                }
                Statement::Store { pointer, .. } => match self.root_of(function, *pointer) {
                    (Expression::LocalVariable(_), false) => 1,
                    (Expression::GlobalVariable(variable), false)
                        if self.module.global_variables[variable].space == AddressSpace::Private =>
                    {
                        1
                    }
                    _ => return None,
                },
                Statement::Call { function: callee, .. } => {
                    let body = &self.module.functions[*callee];
                    if !Self::returns_last(&body.body) {
                        return None;
                    }
                    self.cheap(body, &self.info[*callee], &body.body)?
                }
                Statement::Return { .. } => 0,
                _ => return None,
            };
        }
        Some(cost)
    }

    pub(super) fn stores(&mut self, function: &'m Function, block: &Block, found: &mut HashSet<Stored>) {
        for statement in block.iter() {
            match statement {
                Statement::Store { pointer, .. } => found.extend(self.stored(function, *pointer)),
                Statement::Block(inner) => self.stores(function, inner, found),
                Statement::If { accept, reject, .. } => {
                    self.stores(function, accept, found);
                    self.stores(function, reject, found);
                }
                Statement::Loop { body, continuing, .. } => {
                    self.stores(function, body, found);
                    self.stores(function, continuing, found);
                }
                Statement::Switch { cases, .. } => {
                    for case in cases {
                        self.stores(function, &case.body, found);
                    }
                }
                Statement::Call {
                    function: callee,
                    arguments,
                    ..
                } => {
                    for stored in self.stores_of(*callee) {
                        match stored {
                            Stored::Argument(at) => found.extend(self.stored(function, arguments[at as usize])),
                            other => _ = found.insert(other),
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn stored(&self, function: &Function, pointer: Handle<Expression>) -> Option<Stored> {
        match self.root_of(function, pointer).0 {
            Expression::LocalVariable(variable) => Some(Stored::Local(variable)),
            Expression::GlobalVariable(variable) if self.privates.contains_key(&variable) => {
                Some(Stored::Private(variable))
            }
            Expression::FunctionArgument(at) => Some(Stored::Argument(at)),
            _ => None,
        }
    }

    /// Returns what `callee` stores to, except its own variables.
    pub(super) fn stores_of(&mut self, callee: Handle<Function>) -> HashSet<Stored> {
        if let Some(found) = self.stores_of_function.get(&callee) {
            return found.clone();
        }
        let function = &self.module.functions[callee];
        let mut found = HashSet::new();
        self.stores(function, &function.body, &mut found);
        found.retain(|stored| !matches!(stored, Stored::Local(_)));
        self.stores_of_function.insert(callee, found.clone());
        found
    }

    pub(super) fn forget(&mut self, frame: &Frame<'m>, stored: &HashSet<Stored>) {
        for stored in stored {
            let (block, len) = match stored {
                Stored::Local(variable) => frame.locals[variable],
                Stored::Private(variable) => self.privates[variable],
                Stored::Argument(at) => match &frame.args[*at as usize] {
                    Val::Ptr(Ptr {
                        root: Root::Local { block, len },
                        ..
                    }) => (*block, *len),
                    _ => continue,
                },
            };
            for row in block..block + len {
                self.known.remove(&row);
            }
        }
    }
}
