//! Pipelines that are to be made ahead of their use.

use std::fmt;
use std::sync::Arc;

use super::device_context::DeviceContext;
use super::pipelines::Pipelines;
use super::scope::Scopes;
use super::shader::Variant;
use crate::api::error::CreateError;

/// Pipelines that are still to be made: what the `prepare` calls return.
///
/// [`run`](Self::run) makes them, on all processors. Call it at once, as behind a loading screen, or on a thread of
/// your own while frames go on: what it does not borrow cannot get in their way. A frame that needs a pipeline
/// which is being made waits for that one. Browsers have one thread here, and compile in a process of their own.
#[must_use = "nothing is made before `run`"]
pub struct Preparation {
    context: Arc<DeviceContext>,
    parts: Vec<Part>,
    /// Whether the pipelines are those of another device.
    is_refused: bool,
}

/// Variants of passes, and what makes their pipelines.
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

    /// Says whether the pipelines are those of another device.
    pub(crate) fn refused(mut self, is_refused: bool) -> Self {
        self.is_refused = is_refused;
        self
    }

    /// Both of two on the same device, in one call.
    pub fn and(mut self, other: Self) -> Self {
        self.is_refused |= other.is_refused || self.context.check(&other.context).is_err();
        self.parts.extend(other.parts);
        self
    }

    /// Makes what is not there yet.
    ///
    /// # Errors
    /// [`CreateError::Device`] where the device refuses a pipeline, [`CreateError::DeviceLost`] where it is lost,
    /// [`CreateError::OtherDevice`] where what is prepared belongs to another device.
    pub fn run(self) -> Result<(), CreateError> {
        if self.is_refused {
            return Err(CreateError::OtherDevice);
        }
        // Pipelines say nothing of it.
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
