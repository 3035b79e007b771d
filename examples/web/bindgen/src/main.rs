//! Writes JavaScript for a module like `wasm-bindgen --target web`, with fewer dependencies.

use std::path::PathBuf;

use anyhow::{Context, Result};
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<()> {
    let mut words = std::env::args_os().skip(1);
    let usage = "bindgen MODULE FOLDER [--typescript]";
    let (module, folder) = (words.next().context(usage)?, words.next().context(usage)?);
    let (module, folder) = (PathBuf::from(module), PathBuf::from(folder));
    Bindgen::new()
        .input_path(module)
        .web(true)?
        .omit_default_module_path(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        .typescript(words.next().is_some_and(|word| word == "--typescript"))
        .generate(folder)
}
