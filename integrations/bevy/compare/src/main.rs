//! Compares the plugin with avian's broad phase and Bevy's mesh ray cast. Exits with status 1 if pairs or nearest hits
//! differ.
//!
//! An argument sets the number of timed frames. With `avian` before it, only frames of Avian are compared, with its own
//! broad phase and with the plugin's.

mod frames;
mod overlaps;
mod picking;

use std::time::{Duration, Instant};

use bevy::prelude::*;
use bevy::time::TimeUpdateStrategy;

const COUNTS: [u32; 3] = [1_000, 10_000, 50_000];

/// Edge of all boxes. Positions are multiples of 1/8, so separate boxes are at least 1/16 apart, more than the engines'
/// tolerances.
const EDGE: f32 = 1.0 + 1.0 / 16.0;

fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    let is_avian = arguments.next_if(|word| word == "avian").is_some();
    let frames = arguments
        .next()
        .map_or(30, |frames| frames.parse().expect("a number of frames"));
    if is_avian {
        return frames::compare(frames);
    }
    let is_same = overlaps::compare(frames) & picking::compare(frames);
    std::process::exit(i32::from(!is_same));
}

fn app() -> App {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, TransformPlugin))
        .insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_millis(16)));
    app
}

fn ready(mut app: App) -> App {
    app.finish();
    app.cleanup();
    for _ in 0..10 {
        app.update();
    }
    app
}

/// Returns two medians over all frames: milliseconds of the frame, and the result of `behind`, called after it.
fn time(app: &mut App, frames: usize, mut behind: impl FnMut(&mut App) -> f64) -> [f64; 2] {
    let mut times: [Vec<f64>; 2] = Default::default();
    for _ in 0..frames {
        let began = Instant::now();
        app.update();
        times[0].push(began.elapsed().as_secs_f64() * 1e3);
        times[1].push(behind(app));
    }
    times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    })
}

#[derive(Component, Clone, Copy)]
struct Number(u32);

/// A position at which the box overlaps about four others.
fn place(number: u32, count: u32) -> Vec3 {
    let side = (2.4 * count as f32).cbrt();
    let of = |axis| (noise(number * 3 + axis) * side * 8.0).floor() / 8.0;
    Vec3::new(of(0), of(1), of(2))
}

fn jostle(mut all: Query<(&Number, &mut Transform)>, mut frame: Local<u32>) {
    *frame += 1;
    let (frame, count) = (*frame, all.iter().len() as u32);
    all.par_iter_mut().for_each(|(&Number(number), mut transform)| {
        let of = |axis| (noise(number * 3 + axis + frame * 7919) * 8.0).floor() / 16.0;
        let by = Vec3::new(of(0), of(1), of(2));
        transform.translation = place(number, count) + (by * 8.0).floor() / 8.0;
    });
}

fn noise(seed: u32) -> f32 {
    let mut bits = seed.wrapping_mul(0x9e37_79b9) ^ 0x5bf0_3635;
    for _ in 0..2 {
        bits = (bits ^ (bits >> 16)).wrapping_mul(0x045d_9f3b);
    }
    ((bits ^ (bits >> 16)) >> 8) as f32 / (1 << 24) as f32
}
