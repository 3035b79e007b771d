//! Reference passes of indirect dispatch arguments.

pub mod dispatch_args;
