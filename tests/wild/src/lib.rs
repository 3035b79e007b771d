//! Random unusual scenes by number, and comparisons of their results with brute force and with the CPU engine. The same
//! number always gives the same scene. Uses no device.

mod agreement;
pub mod answers;
mod boxes;
mod reference_checks;
mod rng;
mod run;
mod scene;
pub mod sized;
mod strided;
mod work;

pub use agreement::{Expected, check, check_order};
pub use reference_checks::{
    check_definition, check_distances, check_read_back_of_query, check_reference, check_searches,
};
pub use rng::Rng;
pub use run::{again, caught, is_selected, selected};
pub use scene::{Asks, Wild, descriptor, is_daily, is_large, scene};
pub use strided::Strided;
pub use work::check_work;
