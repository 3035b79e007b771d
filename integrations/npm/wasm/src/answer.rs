//! Results on the host, as typed arrays.

use gpu_broad_phase::{Counters, Events, PairEvent, StepResult};
use js_sys::{Float32Array, Object, Reflect, Uint32Array};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
pub struct Answer {
    result: StepResult,
}

impl From<StepResult> for Answer {
    fn from(result: StepResult) -> Self {
        Self { result }
    }
}

#[wasm_bindgen]
impl Answer {
    pub fn pairs(&self) -> Uint32Array {
        words(&self.result.pairs)
    }

    pub fn world_pairs(&self) -> Uint32Array {
        words(&self.result.world_pairs)
    }

    pub fn world_offsets(&self) -> Uint32Array {
        words(&self.result.world_offsets)
    }

    pub fn ray_objects(&self) -> Uint32Array {
        let objects: Vec<_> = self.result.ray_hits.iter().map(|hit| hit.object).collect();
        words(&objects)
    }

    pub fn ray_t(&self) -> Float32Array {
        let parameters: Vec<_> = self.result.ray_hits.iter().map(|hit| hit.t).collect();
        parameters.as_slice().into()
    }

    pub fn ray_offsets(&self) -> Uint32Array {
        words(&self.result.ray_offsets)
    }

    pub fn ray_any(&self) -> Uint32Array {
        words(&self.result.ray_any)
    }

    /// Objects of all query results, or of the nearest objects.
    pub fn query_objects(&self) -> Uint32Array {
        let nearest = self.result.query_nearest.iter().map(|neighbor| neighbor.object);
        let nearest: Vec<_> = nearest.collect();
        words(if nearest.is_empty() {
            &self.result.query_objects
        } else {
            &nearest
        })
    }

    pub fn query_offsets(&self) -> Uint32Array {
        words(&self.result.query_offsets)
    }

    pub fn squared_distances(&self) -> Float32Array {
        let nearest = self.result.query_nearest.iter();
        let distances: Vec<_> = nearest.map(|neighbor| neighbor.squared_distance).collect();
        distances.as_slice().into()
    }

    /// Fields of TypeScript's `Counters`, except `missing`.
    pub fn counters(&self) -> Object {
        of_counters(&self.result.counters)
    }

    pub fn status(&self) -> u32 {
        self.result.counters.status.bits()
    }
}

#[wasm_bindgen]
pub struct EventAnswer {
    events: Events,
}

impl From<Events> for EventAnswer {
    fn from(events: Events) -> Self {
        Self { events }
    }
}

#[wasm_bindgen]
impl EventAnswer {
    pub fn begun(&self) -> Uint32Array {
        words::<PairEvent>(&self.events.begun)
    }

    pub fn ended(&self) -> Uint32Array {
        words::<PairEvent>(&self.events.ended)
    }

    pub fn status(&self) -> u32 {
        self.events.status.bits()
    }

    pub fn unread(&self) -> u32 {
        self.events.unread
    }
}

fn words<T: bytemuck::Pod>(rows: &[T]) -> Uint32Array {
    bytemuck::cast_slice::<_, u32>(rows).into()
}

fn of_counters(counters: &Counters) -> Object {
    let object = Object::new();
    let set = |name: &str, count: f64| {
        let _ = Reflect::set(&object, &name.into(), &count.into());
    };
    set("objects", counters.objects.into());
    set("invalid", counters.invalid.into());
    set("excluded", counters.excluded.into());
    set("large", counters.large.into());
    set("levels", counters.levels.into());
    set("tableCells", counters.table_cells.into());
    set("entriesNeeded", counters.entries_needed as f64);
    set("pairsNeeded", counters.pairs_needed as f64);
    set("hitsNeeded", counters.hits_needed as f64);
    set("resultsNeeded", counters.results_needed as f64);
    set("raysInvalid", counters.rays_invalid.into());
    set("queriesInvalid", counters.queries_invalid.into());
    set("roundsNeeded", counters.rounds_needed.into());
    object
}
