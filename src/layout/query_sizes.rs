use super::blocks::{QueryParams, RayParams};
use super::grid;
use crate::api::error::InputError;
use crate::api::input::{Queries, Rays, count};
use crate::api::queries::{QueryMode, SelfQuery, self_query};
use crate::api::scene::QueryInput;
use crate::shared::bounds::MAX_NEAREST;
use crate::shared::source::SourceLayout;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct QuerySizes {
    pub rays: u64,
    pub casts: bool,
    /// Four-word vectors per ray.
    pub ray_stride: u32,
    pub queries: u64,
    pub has_queries: bool,
    pub wide_queries: bool,
    pub self_query: Option<SelfQuery>,
    pub query_mode: QueryMode,
    /// Index of the word that holds the number of rays, if only the device knows it.
    pub ray_count_word: Option<u32>,
    pub query_limit: Option<u32>,
    pub ray_layout: Option<SourceLayout>,
    pub query_layout: Option<SourceLayout>,
}

impl QuerySizes {
    pub fn of(input: &QueryInput<'_>, objects: u64, alignment: u32) -> Self {
        Self {
            rays: input.rays.len() as u64,
            casts: !matches!(input.rays, Rays::None),
            ray_stride: input.rays.stride(),
            queries: input.queries.count(objects),
            has_queries: !matches!(input.queries, Queries::None),
            wide_queries: matches!(input.queries, Queries::General(_)),
            self_query: input.self_query(),
            query_mode: input.query_mode,
            ray_count_word: input.ray_count.map(|limit| limit.word),
            query_limit: input.query_count.map(|limit| limit.word),
            ray_layout: input.rays.source_layout(alignment),
            query_layout: input.queries.source_layout(alignment),
        }
    }

    /// Returns the block of rays. Capacities are 0.
    pub fn ray_params(&self) -> Result<RayParams, InputError> {
        Ok(RayParams {
            count: count("rays", self.rays)?,
            stride: self.ray_stride,
            ..RayParams::default()
        })
    }

    /// Returns the block of queries. Their capacity is 0.
    pub fn query_params(&self) -> Result<QueryParams, InputError> {
        let query_count = count("queries", self.queries)?;
        let (kind, radius, half) = match self.self_query {
            None => (self_query::NONE, 0.0, false),
            Some(SelfQuery::Within { radius, half }) => (self_query::NEIGHBORS, radius, half),
            Some(SelfQuery::Overlaps { half }) => (self_query::PARTNERS, 0.0, half),
        };
        if !(radius >= 0.0 && radius.is_finite()) {
            return Err(InputError::Radius(radius));
        }
        let nearest = match self.query_mode {
            QueryMode::All => 0,
            QueryMode::Nearest(0) => {
                return Err(InputError::Zero {
                    what: "nearest objects",
                });
            }
            QueryMode::Nearest(nearest @ ..=MAX_NEAREST) => nearest,
            QueryMode::Nearest(nearest) => {
                return Err(InputError::TooMany {
                    what: "nearest objects",
                    count: nearest.into(),
                    limit: MAX_NEAREST.into(),
                });
            }
        };
        Ok(QueryParams {
            count: query_count,
            is_wide: self.wide_queries.into(),
            self_query: kind,
            half: half.into(),
            radius: grid::flush(radius),
            nearest,
            ..QueryParams::default()
        })
    }
}
