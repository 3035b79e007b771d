//! Arguments of indirect dispatches.

pub mod dispatch_args;
