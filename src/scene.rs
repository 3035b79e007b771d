//! What a step is asked, on the host.

use crate::types::{Aabb, Ray};

/// The whole input of a step on the host: what [`Headless::step_scene`](crate::Headless::step_scene) and
/// [`reference::step_scene`](crate::reference::step_scene) answer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scene<'a> {
    /// The boxes.
    pub objects: &'a [Aabb],
    /// The world of each object; empty with one world. An object whose world does not exist is invalid.
    pub worlds: &'a [u32],
    /// The rays.
    pub rays: &'a [Ray],
}
