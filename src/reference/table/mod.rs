//! The table stage: from boxes to sorted entries and the starts of cells.

pub mod base_cell;
pub mod clusters;
pub mod entry_count;
pub mod entry_emit;
pub mod gather;
pub mod keys;
pub(crate) mod large_table;
pub mod large_table_emit;
pub mod layout;
pub mod level_statistics;
pub mod prepare;
pub mod sample_statistics;
pub mod scatter;
pub(crate) mod size;
