//! Avian with this crate's broad phase, beside Avian with its own.

#[allow(clippy::duplicate_mod, reason = "Avian's two crates have the same interface")]
mod three;
#[allow(clippy::duplicate_mod, reason = "Avian's two crates have the same interface")]
mod two;
