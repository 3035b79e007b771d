//! Runs the passes of gpu-broad-phase on an interpreter of warps.

mod allowed;
mod check;
mod code;
#[path = "../../common/mod.rs"]
mod common;
mod cost;
#[path = "../../passes/cull.rs"]
mod cull;
mod devices;
#[path = "../../passes/dispatch.rs"]
mod dispatch;
#[path = "../../passes/draw.rs"]
mod draw;
#[path = "../../passes/events.rs"]
mod events;
mod findings;
#[path = "../../passes/harness.rs"]
mod harness;
#[path = "../../passes/input.rs"]
mod input;
mod lower;
mod machine;
mod mutate;
#[path = "../../passes/order.rs"]
mod order;
#[path = "../../passes/pairs.rs"]
mod pairs;
#[path = "../../passes/queries.rs"]
mod queries;
#[path = "../../passes/rays.rs"]
mod rays;
mod recordings;
#[path = "../../passes/scan.rs"]
mod scan;
mod shadow;
#[path = "../../passes/sort.rs"]
mod sort;
mod stats;
mod step;
#[path = "../../passes/suite.rs"]
mod suite;
#[path = "../../passes/table.rs"]
mod table;
mod wgpu_backend;

use gpu_broad_phase::RayMode;

#[cfg(test)]
mod tests;

fn option(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| *argument != format!("--{name}"));
    arguments.nth(1)
}

fn flag(name: &str) -> bool {
    std::env::args().any(|argument| argument == format!("--{name}"))
}

fn number(name: &str) -> Option<usize> {
    let number = |text: String| text.parse().unwrap_or_else(|_| panic!("--{name} {text}: no number"));
    option(name).map(number)
}

const USAGE: &str = "simt check [--lanes 1|8|16|32|64] [--order order|chance] [--scene NUMBER]
simt mutate [--pass NAME] [--scenes few|all]
simt cost --scene uniform|power-law|FOLDER [--count N] [--rays N [--mode closest|any|all]] [--queries N [--nearest K]]
          [--neighbors RADIUS] [--views N] [--events] [--gpu h100|laptop|integrated] [--csv FILE] [--stages]
          [--lines K]";

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("check") => {
            let lanes = number("lanes").map_or(vec![32, 8, 1, 16, 64], |lanes| vec![lanes]);
            let orders: &[bool] = match option("order").as_deref() {
                None => &[false, true],
                Some("order") => &[false],
                Some("chance") => &[true],
                Some(other) => panic!("--order {other}: order or chance"),
            };
            check::check(&lanes, orders, number("scene"));
        }
        Some("mutate") => {
            let is_held = mutate::mutate(option("pass").as_deref(), option("scenes").as_deref() != Some("few"));
            std::process::exit(i32::from(!is_held));
        }
        Some("cost") => costs(),
        _ => {
            eprintln!("{USAGE}");
            std::process::exit(2);
        }
    }
}

fn costs() {
    let mode = match option("mode").as_deref() {
        None | Some("closest") => RayMode::Closest,
        Some("any") => RayMode::Any,
        Some("all") => RayMode::All,
        Some(other) => panic!("--mode {other}: closest, any or all"),
    };
    let radius =
        option("neighbors").map(|text| text.parse().unwrap_or_else(|_| panic!("--neighbors {text}: no number")));
    let work = match (number("rays"), number("queries"), radius, number("views")) {
        (Some(count), ..) => cost::Work::Rays(count, mode),
        (_, Some(count), ..) => match number("nearest") {
            Some(nearest) => cost::Work::Nearest(count, nearest as u32),
            None => cost::Work::Queries(count),
        },
        (_, _, Some(radius), _) => cost::Work::Neighbors(radius),
        (.., Some(count)) => cost::Work::Views(count),
        _ if flag("events") => cost::Work::Events,
        _ if option("nearest").is_some() => panic!("--nearest goes with --queries"),
        _ => cost::Work::Pairs,
    };
    cost::cost(&cost::Wanted {
        scene: &option("scene").unwrap_or("uniform".to_owned()),
        count: number("count").unwrap_or(100_000),
        work,
        gpu: &cost::Gpu::named(option("gpu").as_deref().unwrap_or("h100")),
        by_stage: flag("stages"),
        csv: option("csv").as_deref().map(std::path::Path::new),
        lines: number("lines").unwrap_or(0),
    });
}
