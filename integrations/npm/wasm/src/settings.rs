use gpu_broad_phase::{BroadPhaseDescriptor, Capacities, Dimensions, OutputOptions, RayMode, ResultOrder, Scheme};
use wasm_bindgen::prelude::*;

use crate::failure::Failure;

#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum SchemeKind {
    Hierarchical,
    Uniform,
    Adaptive,
}

#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum RayModeKind {
    Closest,
    All,
    Any,
}

#[wasm_bindgen]
#[derive(Clone)]
pub struct Settings {
    pub scheme: SchemeKind,
    /// Cell size, or smallest scale of the adaptive scheme.
    pub scale: f32,
    pub is_flat: bool,
    pub margin: f32,
    pub period_x: f32,
    pub period_y: f32,
    pub period_z: f32,
    pub worlds: u32,
    pub pairs: bool,
    pub is_sorted: bool,
    pub ray_mode: RayModeKind,
    pub filters: bool,
    pub capacity_pairs: Option<u32>,
    pub capacity_hits: Option<u32>,
    pub capacity_entries: Option<u32>,
    pub capacity_results: Option<u32>,
    pub capacity_rounds: Option<u32>,
    pub max_bytes: Option<f64>,
    pair_filter: Option<String>,
}

#[wasm_bindgen]
impl Settings {
    #[wasm_bindgen(constructor)]
    #[allow(clippy::new_without_default, reason = "TypeScript calls it")]
    pub fn new() -> Self {
        Self {
            scheme: SchemeKind::Hierarchical,
            scale: 1.0,
            is_flat: false,
            margin: 0.0,
            period_x: 0.0,
            period_y: 0.0,
            period_z: 0.0,
            worlds: 1,
            pairs: true,
            is_sorted: false,
            ray_mode: RayModeKind::Closest,
            filters: true,
            capacity_pairs: None,
            capacity_hits: None,
            capacity_entries: None,
            capacity_results: None,
            capacity_rounds: None,
            max_bytes: None,
            pair_filter: None,
        }
    }

    /// Checks all settings except the text of a pair filter.
    pub fn check(&self) -> Result<(), JsValue> {
        let descriptor = BroadPhaseDescriptor {
            pair_filter: None,
            ..self.descriptor()
        };
        Ok(descriptor.validate().map_err(Failure::from)?)
    }

    pub fn set_pair_filter(&mut self, text: String) {
        self.pair_filter = Some(text);
    }
}

impl Settings {
    pub fn descriptor(&self) -> BroadPhaseDescriptor<'_> {
        BroadPhaseDescriptor {
            scheme: match self.scheme {
                SchemeKind::Hierarchical => Scheme::Hierarchical,
                SchemeKind::Uniform => Scheme::Uniform { cell_size: self.scale },
                SchemeKind::Adaptive => Scheme::Adaptive { min_scale: self.scale },
            },
            dimensions: if self.is_flat {
                Dimensions::Two
            } else {
                Dimensions::Three
            },
            margin: self.margin,
            periods: [self.period_x, self.period_y, self.period_z],
            worlds: self.worlds,
            pairs: self.pairs,
            outputs: OutputOptions {
                order: if self.is_sorted {
                    ResultOrder::Sorted
                } else {
                    ResultOrder::Deterministic
                },
                ray_mode: match self.ray_mode {
                    RayModeKind::Closest => RayMode::Closest,
                    RayModeKind::All => RayMode::All,
                    RayModeKind::Any => RayMode::Any,
                },
                capacities: Capacities {
                    pairs: self.capacity_pairs,
                    hits: self.capacity_hits,
                    entries: self.capacity_entries,
                    results: self.capacity_results,
                    rounds: self.capacity_rounds,
                    ..Capacities::default()
                },
                max_bytes: self.max_bytes.map(|bytes| bytes as u64),
                ..Default::default()
            },
            filters: self.filters,
            pair_filter: self.pair_filter.as_deref(),
            ..BroadPhaseDescriptor::default()
        }
    }
}
