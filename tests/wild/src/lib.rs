//! Random unusual scenes by number, and comparisons of their results with brute force and with the CPU engine. The same
//! number always gives the same scene. Uses no device.

mod agreement;
pub mod answers;
mod boxes;
mod reference_checks;
mod rng;
mod run;
mod scene;
mod searches;
pub mod sized;
mod strided;
mod work;

pub use agreement::{Expected, check, check_order, check_worlds, world_of};
pub use reference_checks::{check_definition, check_distances, check_later, check_reference, check_searches};
pub use rng::Rng;
pub use run::{again, caught, is_selected, selected};
pub use scene::{Wild, WildQueries, descriptor, is_daily, is_large, scene, scene_of};
pub use strided::Strided;
pub use work::check_work;
