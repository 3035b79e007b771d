use bytemuck::{Pod, Zeroable};
use gpu_broad_phase::{NONE, QueryInput, Ray, RayHit, RayMode, Rays, Source, StepResult, SweptRay};

use crate::agreement::RankError;
use crate::asking::Rows;
use crate::communicator::Communicator;
use crate::engine::Engine;
use crate::ranks::Ranks;

/// A box that a ray hits.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Hit {
    /// Id of the box.
    pub id: u64,
    /// Ray parameter of the hit point `origin + t · direction`.
    pub t: f32,
    /// 1 for a moving box, 0 for a static box. Static boxes come first at equal `t`.
    pub is_moving: u32,
}

/// A type of ray: [`Ray`] or [`SweptRay`].
pub trait Cast: Pod + Into<SweptRay> {
    #[doc(hidden)]
    fn all(rays: &[Self]) -> Rays<'_>;
}

impl Cast for Ray {
    fn all(rays: &[Self]) -> Rays<'_> {
        Rays::Plain(Source::Host(rays))
    }
}

impl Cast for SweptRay {
    fn all(rays: &[Self]) -> Rays<'_> {
        Rays::Swept(Source::Host(rays))
    }
}

impl Hit {
    fn key(&self) -> (u32, u32, u64) {
        // `t` is not negative, so its bits sort like the value.
        (self.t.to_bits(), self.is_moving, self.id)
    }
}

impl<C: Communicator> Ranks<C> {
    /// Finds the first box of the last step that each ray hits, on all ranks. Collective.
    ///
    /// # Errors
    /// Before the first step, if calls or ray types differ between ranks, or if a device fails.
    pub fn closest_hits<R: Cast>(&mut self, rays: &[R]) -> Result<Vec<Option<Hit>>, RankError> {
        let hits = self.cast(rays, RayMode::Closest, |ranks, _, found| {
            let row = |hit: &RayHit| (hit.object != NONE).then(|| ranks.hit(hit)).into_iter().collect();
            found.ray_hits.iter().map(row).collect()
        })?;
        Ok(hits
            .iter()
            .map(|hits| hits.iter().min_by_key(|hit| hit.key()).copied())
            .collect())
    }

    /// Returns `true` for each ray that hits a box of the last step, on any rank. Collective.
    ///
    /// # Errors
    /// As [`closest_hits`](Self::closest_hits).
    pub fn any_hits<R: Cast>(&mut self, rays: &[R]) -> Result<Vec<bool>, RankError> {
        let hits = self.cast(rays, RayMode::Any, |_, _, found| {
            found.ray_any.iter().map(|&any| vec![0u8; any as usize]).collect()
        })?;
        Ok(hits.iter().map(|hits| !hits.is_empty()).collect())
    }

    /// Finds all boxes of the last step that each ray hits, on all ranks, sorted along the ray. Collective.
    ///
    /// # Errors
    /// As [`closest_hits`](Self::closest_hits).
    pub fn all_hits<R: Cast>(&mut self, rays: &[R]) -> Result<Rows<Hit>, RankError> {
        let hits = self.cast(rays, RayMode::All, |ranks, count, found| {
            let list = |ray: usize| {
                let [first, end] = [ray, ray + 1].map(|at| found.ray_offsets[at] as usize);
                // Ghosts are skipped: their owners report them.
                let held = found.ray_hits[first..end]
                    .iter()
                    .filter(|hit| ranks.local.is_held(hit.object));
                held.map(|hit| ranks.hit(hit)).collect()
            };
            (0..count).map(list).collect()
        })?;
        Ok(Rows::from_lists(hits.into_iter().map(|mut hits| {
            hits.sort_unstable_by_key(Hit::key);
            hits
        })))
    }

    fn hit(&self, hit: &RayHit) -> Hit {
        Hit {
            id: self.local.id(hit.object),
            t: hit.t,
            is_moving: self.local.is_moving(hit.object).into(),
        }
    }

    /// `rows` converts a step's result to one list per ray.
    fn cast<R: Cast, T: Pod>(
        &mut self,
        rays: &[R],
        mode: RayMode,
        rows: impl FnOnce(&Self, usize, StepResult) -> Vec<Vec<T>>,
    ) -> Result<Vec<Vec<T>>, RankError> {
        self.clock.start(&self.ranks);
        self.agree_to_ask("rays", size_of::<R>() as u64 + ((mode as u64) << 32), Ok(()))?;
        let wide: Vec<SweptRay> = rays.iter().map(|&ray| ray.into()).collect();
        let routes = self.all_bounds(&self.bounds).of_rays(&wide);
        self.clock.end(&self.ranks, "route");
        self.ask(rays, routes, |ranks, rays| {
            if rays.is_empty() {
                return Ok(Vec::new());
            }
            let Engine(broad_phase) = &mut ranks.engine;
            broad_phase.set_ray_mode(mode);
            let found = ranks.engine.ask(&QueryInput {
                rays: R::all(rays),
                ..QueryInput::default()
            })?;
            Ok(rows(ranks, rays.len(), found))
        })
    }
}
