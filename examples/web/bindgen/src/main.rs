//! Writes the JavaScript that a page imports for a module: what `wasm-bindgen --target web` does, without its test
//! runner and all that it brings along.

use std::path::PathBuf;

use anyhow::{Context, Result};
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<()> {
    let mut paths = std::env::args_os().skip(1).map(PathBuf::from);
    let usage = "bindgen MODULE FOLDER";
    let (module, folder) = (paths.next().context(usage)?, paths.next().context(usage)?);
    Bindgen::new()
        .input_path(module)
        .web(true)?
        .omit_default_module_path(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        .typescript(false)
        .generate(folder)
}
