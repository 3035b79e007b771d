//! A query string holds all settings, so that links reproduce the picture.

use gpu_broad_phase::{Dimensions, Scheme};

/// Slider range of boxes. An address may exceed it.
pub const SLIDER: [u32; 2] = [1_000, 1_000_000];
const MOST_BOXES: u32 = (1 << 31) - 1;

/// Lengths are in units of a middle-sized box's edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemeKind {
    Hierarchical,
    Uniform,
    Adaptive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    Equal,
    Mixed,
    PowerLaw,
}

pub trait Named: Copy + PartialEq + 'static {
    const NAMES: &'static [(&'static str, Self)];

    fn of(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(of, _)| *of == name).map(|&(_, value)| value)
    }

    fn name(self) -> &'static str {
        let mut names = Self::NAMES.iter();
        names.find(|&&(_, value)| value == self).map_or("", |&(name, _)| name)
    }
}

impl Named for SchemeKind {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("hierarchical", Self::Hierarchical),
        ("uniform", Self::Uniform),
        ("adaptive", Self::Adaptive),
    ];
}

impl Named for Sizes {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("equal", Self::Equal),
        ("mixed", Self::Mixed),
        ("power", Self::PowerLaw),
    ];
}

impl Named for Dimensions {
    const NAMES: &'static [(&'static str, Self)] = &[("2", Self::Two), ("3", Self::Three)];
}

impl Named for bool {
    const NAMES: &'static [(&'static str, Self)] = &[("1", true), ("0", false)];
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    pub dimensions: Dimensions,
    pub scheme: SchemeKind,
    /// Cell edge of the uniform scheme, or of the finest adaptive layer.
    pub cell: f32,
    pub boxes: u32,
    pub sizes: Sizes,
    /// Edge of a middle-sized box. Each box has one unit of space.
    pub size: f32,
    pub speed: f32,
    pub paused: bool,
    /// Draws cells of `level`, or of all.
    pub cells: bool,
    pub level: Option<u32>,
    pub colors: bool,
    pub ray: bool,
    pub seed: u64,
    /// Frames until time stops, for the same picture on every visit.
    pub frames: Option<u32>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            dimensions: Dimensions::Two,
            scheme: SchemeKind::Hierarchical,
            cell: 1.5,
            boxes: 10_000,
            sizes: Sizes::Mixed,
            size: 0.5,
            speed: 1.0,
            paused: false,
            cells: false,
            level: None,
            colors: true,
            ray: true,
            seed: 1,
            frames: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the address asks for {key}={value}, which this page does not know")]
pub struct Unknown {
    pub key: String,
    pub value: String,
}

impl Settings {
    /// Invalid entries are ignored, and returned.
    pub fn from_query(query: &str) -> (Self, Vec<Unknown>) {
        let mut settings = Self::default();
        let mut unknown = Vec::new();
        for (key, value) in form_urlencoded::parse(query.trim_start_matches('?').as_bytes()) {
            if settings.set(&key, &value).is_none() {
                let (key, value) = (key.into_owned(), value.into_owned());
                unknown.push(Unknown { key, value });
            }
        }
        (settings, unknown)
    }

    fn set(&mut self, key: &str, value: &str) -> Option<()> {
        let number = |[least, most]: [f32; 2]| value.parse().ok().filter(|value| (least..=most).contains(value));
        match key {
            "dimensions" => self.dimensions = Named::of(value)?,
            "scheme" => self.scheme = Named::of(value)?,
            "cell" => self.cell = number([0.1, 1e3])?,
            "boxes" => self.boxes = value.parse().ok().filter(|boxes| (1..=MOST_BOXES).contains(boxes))?,
            "sizes" => self.sizes = Named::of(value)?,
            "size" => self.size = number([0.01, 4.0])?,
            "speed" => self.speed = number([0.0, 8.0])?,
            "paused" => self.paused = Named::of(value)?,
            "cells" => self.cells = Named::of(value)?,
            "level" if value == "all" => self.level = None,
            "level" => self.level = Some(value.parse().ok().filter(|level| *level < 32)?),
            "colors" => self.colors = Named::of(value)?,
            "ray" => self.ray = Named::of(value)?,
            "seed" => self.seed = value.parse().ok()?,
            "frames" => self.frames = Some(value.parse().ok()?),
            _ => return None,
        }
        Some(())
    }

    /// Omits defaults.
    pub fn to_query(self) -> String {
        let whole = |settings: Self| {
            [
                ("dimensions", settings.dimensions.name().to_owned()),
                ("scheme", settings.scheme.name().to_owned()),
                ("cell", settings.cell.to_string()),
                ("boxes", settings.boxes.to_string()),
                ("sizes", settings.sizes.name().to_owned()),
                ("size", settings.size.to_string()),
                ("speed", settings.speed.to_string()),
                ("paused", settings.paused.name().to_owned()),
                ("cells", settings.cells.name().to_owned()),
                (
                    "level",
                    settings.level.map_or("all".to_owned(), |level| level.to_string()),
                ),
                ("colors", settings.colors.name().to_owned()),
                ("ray", settings.ray.name().to_owned()),
                ("seed", settings.seed.to_string()),
                (
                    "frames",
                    settings.frames.map_or_else(String::new, |frames| frames.to_string()),
                ),
            ]
        };
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (own, default) in std::iter::zip(whole(self), whole(Self::default())) {
            if own != default {
                query.append_pair(own.0, &own.1);
            }
        }
        match query.finish() {
            empty if empty.is_empty() => empty,
            query => format!("?{query}"),
        }
    }

    /// Lengths are in world units.
    pub fn scheme(&self) -> Scheme {
        let length = self.cell * self.size;
        match self.scheme {
            SchemeKind::Hierarchical => Scheme::Hierarchical,
            SchemeKind::Uniform => Scheme::Uniform { cell_size: length },
            SchemeKind::Adaptive => Scheme::Adaptive { min_scale: length },
        }
    }

    pub fn needs_other_world(&self, other: &Self) -> bool {
        let of_world = |settings: &Self| {
            (
                settings.dimensions,
                settings.boxes,
                settings.sizes,
                settings.size.to_bits(),
                settings.seed,
            )
        };
        of_world(self) != of_world(other) || self.frames != other.frames
    }
}

/// Logarithmic slider position, 0 to 1.
pub fn slider_place(boxes: u32) -> f64 {
    let [least, most] = SLIDER.map(f64::from);
    ((f64::from(boxes) / least).ln() / (most / least).ln()).clamp(0.0, 1.0)
}

/// Rounded to two digits.
pub fn slider_boxes(place: f64) -> u32 {
    let [least, most] = SLIDER.map(f64::from);
    let exact = least * (most / least).powf(place.clamp(0.0, 1.0));
    let digit = 10f64.powf(exact.log10().floor() - 1.0);
    ((exact / digit).round() * digit) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_as_they_went() {
        let settings = Settings {
            dimensions: Dimensions::Three,
            scheme: SchemeKind::Uniform,
            cell: 2.25,
            boxes: 4_000_000,
            sizes: Sizes::PowerLaw,
            level: Some(3),
            cells: true,
            paused: true,
            seed: u64::MAX,
            frames: Some(90),
            ..Settings::default()
        };
        assert_eq!(Settings::from_query(&settings.to_query()), (settings, Vec::new()));
        assert_eq!(Settings::default().to_query(), "");
        assert_eq!(Settings::from_query("").0, Settings::default());
    }

    #[test]
    fn what_an_address_cannot_have_is_told_and_the_rest_counts() {
        let (settings, unknown) = Settings::from_query("?boxes=0&size=nan&scheme=octree&level=32&speed=2&sped=2");
        let keys: Vec<_> = unknown.iter().map(|unknown| unknown.key.as_str()).collect();
        assert_eq!(keys, ["boxes", "size", "scheme", "level", "sped"]);
        let expected = Settings {
            speed: 2.0,
            ..Settings::default()
        };
        assert_eq!(settings, expected);
    }

    #[test]
    fn the_slider_is_logarithmic_and_its_numbers_are_round() {
        assert_eq!(
            [0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0].map(slider_boxes),
            [1_000, 10_000, 100_000, 1_000_000]
        );
        for step in 0..=1000 {
            let boxes = slider_boxes(f64::from(step) / 1000.0);
            // Rounding to two digits moves the slider slightly.
            assert!(
                (slider_place(boxes) - f64::from(step) / 1000.0).abs() < 0.008,
                "{boxes}"
            );
            let digits = boxes.to_string();
            assert!(digits[2..].chars().all(|digit| digit == '0'), "{boxes}");
        }
        assert_eq!([1, 4_000_000].map(slider_place), [0.0, 1.0]);
    }
}
