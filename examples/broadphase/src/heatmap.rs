use anyhow::{Result, bail};
use gpu_broad_phase::{Aabb, LocalOrigin};
use measure::bench::is_finite;
use measure::grouped;

use crate::Status;
use crate::args::{Axis, HeatmapArgs};
use crate::input;
use crate::output::{OutputFile, is_device};
use crate::picture::canvas::{Align, Canvas, Rectangle, TEXT_HEIGHT};
use crate::picture::{colour, write_png};
use crate::report::Reporter;

const MAP: usize = 960;
const FEWEST: f64 = 160.0;
const MOST: f64 = 480.0;

const MARGIN: usize = 72;
const BAR_WIDTH: usize = 22;
const BAR_GAP: usize = 30;
const BAR_LABELS: usize = 110;
/// Smallest height at which the colour bar has room for its labels.
const LEAST_HEIGHT: usize = 240;

pub fn run(args: &HeatmapArgs, reporter: Reporter) -> Result<Status> {
    if !is_device(&args.output) && args.output.extension().is_none_or(|extension| extension != "png") {
        bail!("{}: wrong ending; use .png", args.output.display());
    }
    let mut output = OutputFile::open(&args.output)?;
    let scene = input::scene(&args.scene.scene, &args.scene.reading, reporter)?;
    let boxes: Vec<_> = scene.boxes.iter().filter(|boxed| is_finite(boxed)).collect();
    if boxes.is_empty() {
        bail!("{}: no finite boxes", args.scene.scene.display());
    }
    let grid = Grid::new(&boxes, args.axis);
    reporter.say(format!(
        "{} boxes ({} infinite or invalid ones skipped), {} × {} cells of {}, up to {} boxes per cell",
        boxes.len(),
        scene.boxes.len() - boxes.len(),
        grid.size[0],
        grid.size[1],
        short(grid.cell),
        grid.most()
    ));
    let canvas = picture(&grid, scene.origin, boxes.len());
    output.save(|file| write_png(file, &canvas))?;
    Ok(Status::Done)
}

/// Boxes over each cell, row by row from the lower left corner.
struct Grid {
    axes: [usize; 2],
    low: [f64; 2],
    high: [f64; 2],
    cell: f64,
    size: [usize; 2],
    counts: Vec<u32>,
}

impl Grid {
    fn new(boxes: &[&Aabb], along: Option<Axis>) -> Self {
        let low: [f64; 3] = std::array::from_fn(|axis| {
            boxes
                .iter()
                .map(|boxed| f64::from(boxed.min[axis]))
                .fold(f64::INFINITY, f64::min)
        });
        let high: [f64; 3] = std::array::from_fn(|axis| {
            boxes
                .iter()
                .map(|boxed| f64::from(boxed.max[axis]))
                .fold(f64::NEG_INFINITY, f64::max)
        });
        let extent = |axis: usize| high[axis] - low[axis];
        let smallest = (0..3).rev().min_by(|&a, &b| extent(a).total_cmp(&extent(b)));
        let along = along.map_or(smallest.unwrap_or(2), |axis| axis as usize);
        let axes = match along {
            0 => [1, 2],
            1 => [0, 2],
            _ => [0, 1],
        };
        let longer = axes.map(extent).into_iter().fold(0.0, f64::max);
        let longer = if longer > 0.0 { longer } else { 1.0 };
        // Cells are whole pixels wide, so that they look equal.
        let wanted = longer / median_side(boxes, axes);
        let pixels = (MAP as f64 / wanted.clamp(FEWEST, MOST)).floor();
        let cell = longer * pixels / MAP as f64;
        let size = axes.map(|axis| ((extent(axis) / cell).ceil() as usize).max(1));
        let mut grid = Self {
            axes,
            low: axes.map(|axis| low[axis]),
            high: axes.map(|axis| high[axis]),
            cell,
            size,
            counts: Vec::new(),
        };
        grid.count(boxes);
        grid
    }

    /// Adds ±1 at the corners of each box's cell range, then takes prefix sums along both axes.
    fn count(&mut self, boxes: &[&Aabb]) {
        let [width, height] = self.size;
        let stride = width + 1;
        let mut sums = vec![0_i64; stride * (height + 1)];
        let cell = |value: f32, side: usize| {
            let cell = ((f64::from(value) - self.low[side]) / self.cell) as usize;
            cell.min(self.size[side] - 1)
        };
        for boxed in boxes {
            let [x, y] = [0, 1].map(|side| {
                let axis = self.axes[side];
                (cell(boxed.min[axis], side), cell(boxed.max[axis], side) + 1)
            });
            sums[y.0 * stride + x.0] += 1;
            sums[y.0 * stride + x.1] -= 1;
            sums[y.1 * stride + x.0] -= 1;
            sums[y.1 * stride + x.1] += 1;
        }
        for at in 1..sums.len() {
            if !at.is_multiple_of(stride) {
                sums[at] += sums[at - 1];
            }
        }
        for at in stride..sums.len() {
            sums[at] += sums[at - stride];
        }
        let rows = sums.chunks(stride).take(height);
        self.counts = rows.flat_map(|row| &row[..width]).map(|&sum| sum as u32).collect();
    }

    fn most(&self) -> u32 {
        self.counts.iter().copied().max().unwrap_or_default()
    }
}

fn median_side(boxes: &[&Aabb], axes: [usize; 2]) -> f64 {
    let side = |boxed: &&Aabb| {
        axes.map(|axis| f64::from(boxed.max[axis]) - f64::from(boxed.min[axis]))
            .into_iter()
            .fold(0.0, f64::max)
    };
    let mut sides: Vec<_> = boxes.iter().map(side).collect();
    let middle = sides.len() / 2;
    *sides.select_nth_unstable_by(middle, f64::total_cmp).1
}

fn picture(grid: &Grid, origin: LocalOrigin, boxes: usize) -> Canvas {
    let [columns, rows] = grid.size;
    let pixels = (MAP / columns.max(rows)).max(1);
    let map = Rectangle {
        x: MARGIN,
        y: MARGIN,
        width: columns * pixels,
        height: rows * pixels,
    };
    let height = map.height.max(LEAST_HEIGHT);
    let mut canvas = Canvas::new(
        MARGIN + map.width + BAR_GAP + BAR_WIDTH + BAR_LABELS,
        MARGIN + height + MARGIN,
    );
    let most = grid.most();
    let share = |count: f64| (1.0 + count).ln() / (1.0 + f64::from(most)).ln();

    for (at, &count) in grid.counts.iter().enumerate() {
        let (column, row) = (at % columns, at / columns);
        let cell = Rectangle {
            x: map.x + column * pixels,
            y: map.y + (rows - 1 - row) * pixels,
            width: pixels,
            height: pixels,
        };
        canvas.fill(cell, colour::inferno(share(f64::from(count))));
    }
    canvas.frame(map);

    let label = |side: usize, local: f64| match origin.position[grid.axes[side]] {
        0.0 => short(local),
        // Short numbers would be the same at both ends.
        origin => {
            let decimals = 3.0 - (grid.high[side] - grid.low[side]).log10().floor();
            format!("{:.*}", decimals.clamp(0.0, 9.0) as usize, local + origin)
        }
    };
    let names = grid.axes.map(|axis| ["x", "y", "z"][axis]);
    let title = format!("{} boxes, cells of {}", grouped(boxes as u64), short(grid.cell));
    canvas.text(map.x, MARGIN - 32, &title, Align::Left);
    let below = map.y + map.height + 12;
    canvas.text(map.x, below, &label(0, grid.low[0]), Align::Left);
    canvas.text(map.x + map.width / 2, below, names[0], Align::Middle);
    canvas.text(map.x + map.width, below, &label(0, grid.high[0]), Align::Right);
    let left = map.x - 12 - TEXT_HEIGHT;
    canvas.text_up(left, map.y + map.height / 2, names[1], Align::Middle);
    if map.height >= LEAST_HEIGHT {
        canvas.text_up(left, map.y + map.height, &label(1, grid.low[1]), Align::Left);
        canvas.text_up(left, map.y, &label(1, grid.high[1]), Align::Right);
    }

    let bar = Rectangle {
        x: map.x + map.width + BAR_GAP,
        y: MARGIN,
        width: BAR_WIDTH,
        height,
    };
    for row in 0..bar.height {
        let line = Rectangle {
            y: bar.y + row,
            height: 1,
            ..bar
        };
        canvas.fill(line, colour::inferno(1.0 - row as f64 / (bar.height - 1) as f64));
    }
    canvas.frame(bar);
    canvas.text(bar.x, MARGIN - 32, "boxes", Align::Left);
    let mut last_y = usize::MAX;
    for count in ticks(most) {
        let y = bar.y + ((1.0 - share(count as f64)) * (bar.height - 1) as f64).round() as usize;
        // Skips a label that is too close to the last one.
        if last_y.abs_diff(y) >= 2 * TEXT_HEIGHT {
            canvas.fill(
                Rectangle {
                    x: bar.x + bar.width,
                    y,
                    width: 6,
                    height: 1,
                },
                colour::INK,
            );
            canvas.text(
                bar.x + bar.width + 12,
                y - TEXT_HEIGHT / 2,
                &grouped(count),
                Align::Left,
            );
            last_y = y;
        }
    }
    canvas
}

/// Counts to label: the largest, descending powers of ten, then zero.
fn ticks(most: u32) -> Vec<u64> {
    let most = u64::from(most);
    let powers = std::iter::successors(Some(1_u64), |power| Some(power * 10)).take_while(|&power| power < most);
    let mut ticks: Vec<_> = powers.collect();
    ticks.insert(0, 0);
    ticks.push(most);
    ticks.reverse();
    ticks
}

fn short(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || (1e-3..1e5).contains(&size) {
        let decimals = if size >= 100.0 || value == 0.0 {
            0
        } else {
            (2 - size.log10().floor() as i32).max(0)
        };
        let text = format!("{value:.*}", decimals as usize);
        let text = if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.')
        } else {
            &text
        };
        text.to_owned()
    } else {
        format!("{value:.2e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_box_counts_in_every_cell_that_it_lies_over() {
        let boxes = [
            Aabb::new([0.0, 0.0, 0.0], [64.0, 32.0, 1.0]),
            Aabb::new([10.0, 10.0, 0.0], [10.5, 10.5, 1.0]),
        ];
        let grid = Grid::new(&boxes.iter().collect::<Vec<_>>(), None);
        assert_eq!(grid.axes, [0, 1]);
        assert_eq!(grid.size, [160, 80]);
        assert_eq!((grid.counts[0], grid.counts[25 * 160 + 26]), (1, 2));
        // A cell is 0.4 wide, so the small box covers cells 25 and 26 on both axes.
        assert_eq!(grid.counts.iter().sum::<u32>(), 160 * 80 + 4);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(short(0.0), "0");
        assert_eq!(short(0.0123456), "0.0123");
        assert_eq!(short(2.5), "2.5");
        assert_eq!(short(-120.0), "-120");
        assert_eq!(short(1.5e9), "1.50e9");
    }

    #[test]
    fn ticks_go_down_from_the_largest() {
        assert_eq!(ticks(250), [250, 100, 10, 1, 0]);
        assert_eq!(ticks(1), [1, 0]);
    }
}
