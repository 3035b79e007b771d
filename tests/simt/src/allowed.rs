//! Findings that are accepted, with the reason.

use crate::code::Program;
use crate::findings::{Fault, Finding};

/// Fault, shader file, and reason to accept it.
const ALLOWED: [(Fault, &str, &str); 3] = [
    (
        Fault::AtomicUpdateLoad,
        "table/level_statistics.wgsl",
        "a bound is looked at before it is raised: an old one costs an update that changes nothing",
    ),
    (
        Fault::StaleRead,
        "pairs/pair_sums_single_cell.wgsl",
        "words behind the last row of a tile are read with the others, and nobody uses them",
    ),
    (
        Fault::StaleRead,
        "sort/sort_scatter_serial.wgsl",
        "values that no pass has written yet are read and not chosen",
    ),
];

pub fn is_allowed(program: &Program, finding: &Finding) -> bool {
    let file = program.file(finding.line);
    let is_this = |&(fault, of, _): &(Fault, &str, &str)| fault == finding.fault && of == file && !finding.across;
    ALLOWED.iter().any(is_this)
}
