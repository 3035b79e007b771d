use std::fmt;
use std::sync::Arc;

use super::device_context::DeviceContext;
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
    context: Arc<DeviceContext>,
    parts: Vec<Part>,
    is_refused: bool,
}

type Part = (Arc<Pipelines>, Vec<Variant<'static>>);

impl Preparation {
    pub(crate) fn new(
        context: &Arc<DeviceContext>,
        pipelines: &Arc<Pipelines>,
        variants: Vec<Variant<'static>>,
    ) -> Self {
        Self {
            context: Arc::clone(context),
            parts: vec![(Arc::clone(pipelines), variants)],
            is_refused: false,
        }
    }

    pub(crate) fn refused(mut self, is_refused: bool) -> Self {
        self.is_refused = is_refused;
        self
    }

    /// Merges two preparations of the same device.
    pub fn and(mut self, other: Self) -> Self {
        self.is_refused |= other.is_refused || self.context.check(&other.context).is_err();
        self.parts.extend(other.parts);
        self
    }

    /// Creates the pipelines that are still missing.
    ///
    /// # Errors
    /// - [`CreateError::Device`]: the device rejected a pipeline.
    /// - [`CreateError::DeviceLost`]: the device is lost.
    /// - [`CreateError::OtherDevice`]: a merged preparation belongs to another device.
    pub fn run(self) -> Result<(), CreateError> {
        if self.is_refused {
            return Err(CreateError::OtherDevice);
        }
        // Creating pipelines on a lost device reports no error.
        if self.context.is_lost() {
            return Err(CreateError::DeviceLost);
        }
        let device = self.context.device();
        let scopes = Scopes::begin(device);
        let error = self
            .parts
            .iter()
            .find_map(|(pipelines, variants)| pipelines.make(device, variants));
        match error.or_else(|| scopes.end().now()) {
            None => Ok(()),
            Some(error) => Err(CreateError::Device(error)),
        }
    }
}

impl fmt::Debug for Preparation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variants = self.parts.iter().flat_map(|(_, variants)| variants);
        let passes: Vec<_> = variants.map(|variant| variant.pass.name).collect();
        formatter.debug_struct("Preparation").field("passes", &passes).finish()
    }
}
