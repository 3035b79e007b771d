//! Resolves branches on pipeline constants, as drivers do, so that dead code costs no register.

use naga::{Block, Expression, Handle, Literal, Module, Statement};

pub(super) fn take_known_branches(module: &mut Module) {
    let Module {
        functions,
        entry_points,
        constants,
        global_expressions,
        ..
    } = module;
    let functions = functions.iter_mut().map(|(_, function)| function);
    for function in functions.chain(entry_points.iter_mut().map(|entry| &mut entry.function)) {
        let expressions = &function.expressions;
        let known = |condition: Handle<Expression>| {
            let literal = match expressions[condition] {
                Expression::Constant(constant) => &global_expressions[constants[constant].init],
                ref other => other,
            };
            match *literal {
                Expression::Literal(Literal::Bool(value)) => Some(value),
                _ => None,
            }
        };
        function.body = taken(&function.body, &known);
    }
}

fn taken(block: &Block, known: &impl Fn(Handle<Expression>) -> Option<bool>) -> Block {
    let mut all = Block::new();
    for (statement, span) in block.span_iter() {
        let mut statement = statement.clone();
        match &mut statement {
            Statement::If {
                condition,
                accept,
                reject,
            } => {
                if let Some(value) = known(*condition) {
                    all.extend_block(taken(if value { accept } else { reject }, known));
                    // Statements after an exit never run.
                    if matches!(
                        all.last(),
                        Some(Statement::Return { .. } | Statement::Break | Statement::Continue)
                    ) {
                        return all;
                    }
                    continue;
                }
                *accept = taken(accept, known);
                *reject = taken(reject, known);
            }
            Statement::Block(inner) => *inner = taken(inner, known),
            Statement::Loop { body, continuing, .. } => {
                *body = taken(body, known);
                *continuing = taken(continuing, known);
            }
            Statement::Switch { cases, .. } => {
                for case in cases {
                    case.body = taken(&case.body, known);
                }
            }
            _ => {}
        }
        all.push(statement, *span);
    }
    all
}
