//! Time over boxes, both logarithmic, one panel a scene: as SVG, or as PNG with the letters of
//! [`picture`](crate::picture).

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Result, bail};

use super::gpu;
use super::table::Block;
use crate::output::{OutputFile, is_device};
use crate::picture::canvas::{Align, Canvas, Rectangle, TEXT_HEIGHT};
use crate::picture::colour::{Colour, INK, LINE, PAPER};
use crate::picture::write_png;

/// Pixels of a panel's map and of what lies around it.
const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 90.0;
const TOP: f64 = 70.0;
const BOTTOM: f64 = 70.0;
/// Panels side by side.
const ACROSS: usize = 3;
/// A line of the legend, which stands under the panels.
const LEGEND_LINE: f64 = 24.0;
/// Of the letters of an SVG.
const FONT_SIZE: f64 = 16.0;

const COLOURS: [Colour; 10] = [
    [255, 183, 77],
    [129, 199, 132],
    [77, 182, 172],
    [239, 83, 80],
    [100, 181, 246],
    [186, 104, 200],
    [240, 244, 195],
    [161, 136, 127],
    [144, 164, 174],
    [255, 138, 196],
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Svg,
    Png,
}

impl Format {
    pub fn of(path: &Path) -> Result<Self> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            _ if is_device(path) => Ok(Self::Svg),
            _ => bail!("{}: a plot ends in .svg or .png", path.display()),
        }
    }
}

/// What either format can draw.
enum Mark {
    Line {
        from: [f64; 2],
        to: [f64; 2],
        thickness: usize,
        colour: Colour,
    },
    Dot {
        at: [f64; 2],
        colour: Colour,
    },
    Text {
        at: [f64; 2],
        text: String,
        align: Align,
        colour: Colour,
    },
}

struct Drawing {
    width: f64,
    height: f64,
    marks: Vec<Mark>,
}

pub fn write(file: &mut OutputFile, format: Format, blocks: &[Block]) -> Result<()> {
    let drawing = draw(blocks);
    file.save(|file| match format {
        Format::Svg => file.write_all(svg(&drawing).as_bytes()),
        Format::Png => write_png(file, &canvas(&drawing)),
    })
}

fn draw(blocks: &[Block]) -> Drawing {
    let mut scenes: Vec<&str> = Vec::new();
    let mut engines: Vec<&str> = Vec::new();
    for block in blocks {
        if !scenes.contains(&block.scene.as_str()) {
            scenes.push(&block.scene);
        }
        for row in block.fastest_of_each() {
            if !engines.contains(&row.engine) {
                engines.push(row.engine);
            }
        }
    }
    let times = || blocks.iter().flat_map(Block::fastest_of_each).map(|row| row.median_ms);
    let across = Axis::over(blocks.iter().map(|block| block.objects as f64));
    let up = Axis::over(times());
    let legend = scenes.len().div_ceil(ACROSS).max(1) as f64 * (TOP + HEIGHT + BOTTOM);
    let mut drawing = Drawing {
        width: scenes.len().clamp(1, ACROSS) as f64 * (LEFT + WIDTH) + 40.0,
        height: legend + LEGEND_LINE * engines.len() as f64 + 20.0,
        marks: Vec::new(),
    };
    for (panel, scene) in scenes.iter().enumerate() {
        let corner = [
            LEFT + (panel % ACROSS) as f64 * (LEFT + WIDTH),
            TOP + (panel / ACROSS) as f64 * (TOP + HEIGHT + BOTTOM),
        ];
        let place = |objects: f64, time: f64| {
            [
                corner[0] + across.share(objects) * WIDTH,
                corner[1] + (1.0 - up.share(time)) * HEIGHT,
            ]
        };
        drawing.text([corner[0], corner[1] - 36.0], scene, Align::Left, INK);
        for (value, is_power) in across.ticks() {
            let [x, _] = place(value, 1.0);
            drawing.line([x, corner[1]], [x, corner[1] + HEIGHT], 1, faint(is_power));
            if is_power {
                drawing.text([x, corner[1] + HEIGHT + 12.0], &short(value), Align::Middle, INK);
            }
        }
        for (value, is_power) in up.ticks() {
            let [_, y] = place(1.0, value);
            drawing.line([corner[0], y], [corner[0] + WIDTH, y], 1, faint(is_power));
            if is_power {
                let at = [corner[0] - 10.0, y - 0.5 * TEXT_HEIGHT as f64];
                drawing.text(at, &short(value), Align::Right, INK);
            }
        }
        let below = [corner[0] + WIDTH / 2.0, corner[1] + HEIGHT + 40.0];
        drawing.text(below, "ms over boxes", Align::Middle, INK);
        for (engine, colour) in engines.iter().zip(COLOURS.iter().cycle()) {
            let of_scene = blocks.iter().filter(|block| block.scene == *scene);
            let mut points: Vec<_> = of_scene
                .filter_map(|block| {
                    let rows = block.fastest_of_each();
                    let row = rows.iter().find(|row| row.engine == *engine)?;
                    Some((block.objects, row.median_ms))
                })
                .collect();
            points.sort_by_key(|&(objects, _)| objects);
            let places: Vec<_> = points
                .iter()
                .map(|&(objects, time)| place(objects as f64, time))
                .collect();
            for ends in places.windows(2) {
                drawing.line(ends[0], ends[1], thickness(engine), *colour);
            }
            let dots = places.iter().map(|&at| Mark::Dot { at, colour: *colour });
            drawing.marks.extend(dots);
        }
    }
    for (line, (engine, colour)) in engines.iter().zip(COLOURS.iter().cycle()).enumerate() {
        let y = legend + LEGEND_LINE * line as f64;
        let middle = y + 0.5 * TEXT_HEIGHT as f64;
        drawing.line([LEFT, middle], [LEFT + 40.0, middle], thickness(engine), *colour);
        drawing.text([LEFT + 54.0, y], engine, Align::Left, INK);
    }
    drawing
}

/// Ours stands out.
fn thickness(engine: &str) -> usize {
    if engine == gpu::NAME { 4 } else { 2 }
}

fn faint(is_power: bool) -> Colour {
    if is_power { LINE } else { [34, 36, 50] }
}

impl Drawing {
    fn line(&mut self, from: [f64; 2], to: [f64; 2], thickness: usize, colour: Colour) {
        self.marks.push(Mark::Line {
            from,
            to,
            thickness,
            colour,
        });
    }

    /// `at` is at the top of the letters.
    fn text(&mut self, at: [f64; 2], text: &str, align: Align, colour: Colour) {
        let text = text.to_lowercase();
        self.marks.push(Mark::Text {
            at,
            text,
            align,
            colour,
        });
    }
}

/// A logarithmic axis of whole steps of 1, 2 and 5.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|&value| value > 0.0) {
            low = low.min(value);
            high = high.max(value);
        }
        if high == 0.0 {
            return Self { low: 1.0, high: 10.0 };
        }
        let low = 10_f64.powf(low.log10().floor());
        // One power at least.
        let high = 10_f64.powf(high.log10().ceil().max(low.log10() + 1.0));
        Self { low, high }
    }

    fn share(&self, value: f64) -> f64 {
        ((value / self.low).ln() / (self.high / self.low).ln()).clamp(0.0, 1.0)
    }

    /// Values with a line, and whether they are powers of ten.
    fn ticks(&self) -> Vec<(f64, bool)> {
        let powers = (self.low.log10().round() as i32)..=(self.high.log10().round() as i32);
        let steps = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|step| (step * 10_f64.powi(power), step == 1.0)));
        steps.filter(|&(value, _)| value <= self.high * 1.000_001).collect()
    }
}

/// As in `0.1`, `10k`, `1m` (a million).
fn short(value: f64) -> String {
    match value {
        value if value >= 999_999.0 => format!("{:.0}m", value / 1e6),
        value if value >= 9_999.0 => format!("{:.0}k", value / 1e3),
        value if value >= 0.999 => format!("{value:.0}"),
        value => {
            let decimals = (-value.log10()).ceil().max(0.0) as usize;
            format!("{value:.decimals$}")
        }
    }
}

fn svg(drawing: &Drawing) -> String {
    let hex = |[red, green, blue]: Colour| format!("#{red:02x}{green:02x}{blue:02x}");
    let (width, height) = (drawing.width, drawing.height);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} \
         {height}\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"{}\"/>\n",
        hex(PAPER)
    );
    for mark in &drawing.marks {
        let _ = match mark {
            Mark::Line {
                from,
                to,
                thickness,
                colour,
            } => writeln!(
                text,
                "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{}\" \
                 stroke-width=\"{thickness}\"/>",
                from[0],
                from[1],
                to[0],
                to[1],
                hex(*colour)
            ),
            Mark::Dot { at, colour } => {
                writeln!(
                    text,
                    "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"{}\"/>",
                    at[0],
                    at[1],
                    hex(*colour)
                )
            }
            Mark::Text {
                at,
                text: label,
                align,
                colour,
            } => {
                let anchor = match align {
                    Align::Left => "start",
                    Align::Middle => "middle",
                    Align::Right => "end",
                };
                let label = label.replace('&', "&amp;").replace('<', "&lt;");
                writeln!(
                    text,
                    "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{}\" text-anchor=\"{anchor}\" font-family=\"monospace\" \
                     font-size=\"{}\">{label}</text>",
                    at[0],
                    at[1] + TEXT_HEIGHT as f64,
                    hex(*colour),
                    FONT_SIZE
                )
            }
        };
    }
    text.push_str("</svg>\n");
    text
}

fn canvas(drawing: &Drawing) -> Canvas {
    let mut canvas = Canvas::new(drawing.width.ceil() as usize, drawing.height.ceil() as usize);
    for mark in &drawing.marks {
        match mark {
            Mark::Line {
                from,
                to,
                thickness,
                colour,
            } => canvas.line(*from, *to, *thickness, *colour),
            Mark::Dot { at, colour } => {
                let [x, y] = at.map(|place| (place - 4.0).max(0.0).round() as usize);
                let area = Rectangle {
                    x,
                    y,
                    width: 8,
                    height: 8,
                };
                canvas.fill(area, *colour);
            }
            Mark::Text { at, text, align, .. } => {
                let [x, y] = at.map(|place| place.max(0.0).round() as usize);
                canvas.text(x, y, text, *align);
            }
        }
    }
    canvas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_hold_what_they_are_over() {
        let axis = Axis::over([3.0, 40.0, 800.0].into_iter());
        assert!((axis.low - 1.0).abs() < 1e-9 && (axis.high - 1000.0).abs() < 1e-6);
        assert!((axis.share(10.0) - 1.0 / 3.0).abs() < 1e-9);
        let powers: Vec<_> = axis
            .ticks()
            .into_iter()
            .filter(|tick| tick.1)
            .map(|tick| short(tick.0))
            .collect();
        assert_eq!(powers, ["1", "10", "100", "1000"]);
        assert_eq!(axis.ticks().len(), 10);
        let flat = Axis::over([100.0].into_iter());
        assert!((flat.high / flat.low - 10.0).abs() < 1e-6);
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [(0.01, "0.01"), (0.1, "0.1"), (1.0, "1"), (1e4, "10k"), (1e6, "1m")] {
            assert_eq!(short(value), text);
        }
    }
}
