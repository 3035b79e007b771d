use std::fmt;
use std::sync::Arc;

use super::device_context::{DeviceContext, is_lost};
use super::pipelines::Pipelines;
use super::scope::Scopes;
use super::shader::Variant;
use crate::api::error::CreateError;

/// Pipelines that are still to be created, returned by the `prepare` calls.
///
/// [`run`](Self::run) creates them on all CPU cores. Call it behind a loading screen, or on your own thread while
/// frames continue: it borrows nothing. A frame that needs a pipeline in creation waits for that pipeline. In browsers,
/// `run` uses one thread, since the browser compiles in another process.
#[must_use = "nothing is made before `run`"]
pub struct Preparation {
    parts: Vec<Part>,
}

type Part = (Arc<DeviceContext>, Arc<Pipelines>, Vec<Variant>);

impl Preparation {
    pub(crate) fn new(context: &Arc<DeviceContext>, pipelines: &Arc<Pipelines>, variants: Vec<Variant>) -> Self {
        Self {
            parts: vec![(Arc::clone(context), Arc::clone(pipelines), variants)],
        }
    }

    /// Merges two preparations.
    pub fn and(mut self, other: Self) -> Self {
        self.parts.extend(other.parts);
        self
    }

    /// Creates the pipelines that are still missing.
    ///
    /// # Errors
    /// - [`CreateError::Device`]: the device rejected a pipeline.
    /// - [`CreateError::DeviceLost`]: the device is lost.
    pub fn run(self) -> Result<(), CreateError> {
        for (context, pipelines, variants) in self.parts {
            let device = context.device();
            // Creating pipelines on a lost device reports no error.
            if is_lost(device) {
                return Err(CreateError::DeviceLost);
            }
            let scopes = Scopes::begin(device);
            let error = pipelines.make(device, &variants);
            if let Some(error) = error.or_else(|| scopes.end().now()) {
                return Err(CreateError::Device(error));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Preparation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variants = self.parts.iter().flat_map(|(_, _, variants)| variants);
        let passes: Vec<_> = variants.map(|variant| variant.pass.name).collect();
        formatter.debug_struct("Preparation").field("passes", &passes).finish()
    }
}
