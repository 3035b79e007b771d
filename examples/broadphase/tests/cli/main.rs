mod support;

mod bad_input;
mod bench;
mod commands;
mod exporters;
mod far;
mod inputs;
mod meshes;
mod outputs;
mod queries;
mod replay;
mod skins;
mod streams;
mod tables;
mod why;
