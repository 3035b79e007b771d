//! Avian with this crate's broad phase, beside Avian with its own.

mod three;
mod two;
