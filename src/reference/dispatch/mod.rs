pub mod dispatch_args;
