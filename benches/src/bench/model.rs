//! Modelled times of a step's stages, beside the measured ones.

use super::table::{Table, short};

/// Stage times of the hierarchical scheme on an H100, modelled by `simt cost --stages`. A test of `tests/simt` compares
/// the rows of 10,000 uniform boxes with the current passes.
const MODEL: &str = include_str!("model.csv");

/// Returns a row per stage; `None` if the scene is not modelled or nothing was measured. `measured` returns the
/// milliseconds of a stage, or the sum for `stages`.
pub fn beside_measured(scene: &str, boxes: usize, measured: impl Fn(&str) -> Option<f64>) -> Option<Table> {
    let rows = rows(scene, boxes);
    if rows.is_empty() || measured("stages").is_none() {
        return None;
    }
    let mut table = Table::new(&[
        "stage",
        "measured µs",
        "modelled, roofline µs",
        "modelled, with latency µs",
    ]);
    for (stage, modelled) in rows {
        let measured = measured(if stage == "step" { "stages" } else { stage });
        let measured = measured.map_or_else(String::new, |ms| short(1000.0 * ms));
        let [roofline, latency] = modelled.map(str::to_owned);
        table.push([stage.to_owned(), measured, roofline, latency]);
    }
    Some(table)
}

fn rows(scene: &str, boxes: usize) -> Vec<(&'static str, [&'static str; 2])> {
    let row = |line: &'static str| {
        let [of, count, stage, roofline, latency] = line.split(',').collect::<Vec<_>>().try_into().ok()?;
        (of == scene && count == boxes.to_string()).then_some((stage, [roofline, latency]))
    };
    MODEL.lines().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_stages_stand_beside_modelled_ones() {
        let measured = |stage: &str| match stage {
            "sort" => Some(0.25),
            "pair_count" => Some(0.5),
            "stages" => Some(0.8),
            _ => None,
        };
        for scene in ["uniform", "power-law"] {
            for boxes in super::super::COUNTS {
                let text = beside_measured(scene, boxes as usize, measured)
                    .expect("a scene of the model")
                    .markdown();
                for start in [
                    "| sort | 250.0 |",
                    "| pair_count | 500.0 |",
                    "| gather |  |",
                    "| step | 800.0 |",
                ] {
                    assert!(text.contains(start), "{start} in {text}");
                }
            }
        }
        assert!(beside_measured("uniform", 7, measured).is_none());
        assert!(beside_measured("uniform", 10_000, |_| None).is_none());
    }
}
