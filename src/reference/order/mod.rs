pub mod order_firsts;
pub mod order_rows;
pub mod order_seconds;
pub mod order_worlds;
pub mod shown;
pub mod world_offsets;
