//! What blocks do: whether control leaves them, what they store, whether both sides of a branch may be done ahead.

use std::collections::HashSet;

use naga::valid::FunctionInfo;
use naga::{
    AddressSpace, BinaryOperator, Block, Expression, Function, GlobalVariable, Handle, LocalVariable, Statement,
    TypeInner,
};

use super::{Frame, Lowerer, words_of};

impl<'m> Lowerer<'m> {
    /// Whether control never comes to the end of a block.
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

    /// The only return is the last statement, or there is none.
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

    /// The variable that a pointer expression begins with, and whether an index is dynamic.
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

    /// About how many operations a block takes, if it does nothing that may not be done ahead.
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

    /// Local variables and private ones that a block stores to.
    pub(super) fn stores(
        &mut self,
        function: &'m Function,
        block: &Block,
        locals: &mut HashSet<Handle<LocalVariable>>,
        globals: &mut HashSet<Handle<GlobalVariable>>,
    ) {
        for statement in block.iter() {
            match statement {
                Statement::Store { pointer, .. } => match self.root_of(function, *pointer).0 {
                    Expression::LocalVariable(variable) => {
                        locals.insert(variable);
                    }
                    Expression::GlobalVariable(variable) if self.privates.contains_key(&variable) => {
                        globals.insert(variable);
                    }
                    _ => {}
                },
                Statement::Block(inner) => self.stores(function, inner, locals, globals),
                Statement::If { accept, reject, .. } => {
                    self.stores(function, accept, locals, globals);
                    self.stores(function, reject, locals, globals);
                }
                Statement::Loop { body, continuing, .. } => {
                    self.stores(function, body, locals, globals);
                    self.stores(function, continuing, locals, globals);
                }
                Statement::Switch { cases, .. } => {
                    for case in cases {
                        self.stores(function, &case.body, locals, globals);
                    }
                }
                Statement::Call { function: callee, .. } => globals.extend(self.stores_of(*callee)),
                _ => {}
            }
        }
    }

    pub(super) fn stores_of(&mut self, callee: Handle<Function>) -> HashSet<Handle<GlobalVariable>> {
        if let Some(found) = self.stores_of_function.get(&callee) {
            return found.clone();
        }
        let function = &self.module.functions[callee];
        let (mut locals, mut globals) = (HashSet::new(), HashSet::new());
        self.stores(function, &function.body, &mut locals, &mut globals);
        self.stores_of_function.insert(callee, globals.clone());
        globals
    }

    pub(super) fn forget(
        &mut self,
        frame: &Frame<'m>,
        locals: &HashSet<Handle<LocalVariable>>,
        globals: &HashSet<Handle<GlobalVariable>>,
    ) {
        let blocks = locals.iter().map(|variable| frame.locals[variable]);
        let blocks: Vec<_> = blocks
            .chain(globals.iter().map(|variable| self.privates[variable]))
            .collect();
        for (block, len) in blocks {
            for row in block..block + len {
                self.known.remove(&row);
            }
        }
    }
}
