//! Draws the mesh from obliquely above, coloured by numbers of candidates.

use broadphase::picture::canvas::{Align, Canvas, Rectangle};
use broadphase::picture::colour::{Colour, PAPER, inferno};
use gpu_broad_phase::Pair;

use crate::Elements;

const PIXELS: usize = 900;
const MARGIN: usize = 70;
/// Samples per pixel along each side.
const SAMPLES: usize = 3;
const SIDE: usize = PIXELS * SAMPLES;

struct Samples {
    colours: Vec<Colour>,
    depths: Vec<f32>,
}

impl Samples {
    fn put(&mut self, [x, y, depth]: [f32; 3], colour: Colour) {
        let at = y as usize * SIDE + x as usize;
        if depth < self.depths[at] {
            (self.depths[at], self.colours[at]) = (depth, colour);
        }
    }

    fn line(&mut self, [a, b]: [[f32; 3]; 2], colour: Colour) {
        let length = (b[0] - a[0]).hypot(b[1] - a[1]).ceil().max(1.0);
        for step in 0..=length as usize {
            let mut at = [0, 1, 2].map(|axis| a[axis] + (b[axis] - a[axis]) * step as f32 / length);
            // Moves the edge in front of its faces.
            at[2] -= SAMPLES as f32;
            self.put(at, colour);
        }
    }

    /// `colour` takes the cosine of the angle between normal and view direction.
    fn triangle(&mut self, [a, b, c]: [[f32; 3]; 3], colour: impl Fn(f32) -> Colour) {
        let [u, v] = [b, c].map(|end| [0, 1, 2].map(|axis| end[axis] - a[axis]));
        let cross = |i: usize, k: usize| u[i] * v[k] - u[k] * v[i];
        let normal = [cross(1, 2), cross(2, 0), cross(0, 1)];
        let length = normal[0].hypot(normal[1]).hypot(normal[2]);
        let colour = colour(normal[2].abs() / length.max(f32::MIN_POSITIVE));
        let [columns, rows] = [0, 1].map(|axis| {
            let [low, high] = [f32::min, f32::max].map(|choose| choose(choose(a[axis], b[axis]), c[axis]));
            low as usize..high as usize + 1
        });
        for row in rows {
            for column in columns.clone() {
                let [x, y] = [column, row].map(|sample| sample as f32 + 0.5);
                let share = |w: [f32; 3]| ((x - a[0]) * w[1] - (y - a[1]) * w[0]) / normal[2];
                let (s, t) = (share(v), -share(u));
                // A triangle seen edge-on is skipped: its `s` and `t` are infinite or NaN.
                if s >= 0.0 && t >= 0.0 && s + t <= 1.0 {
                    self.put([x, y, a[2] + s * u[2] + t * v[2]], colour);
                }
            }
        }
    }

    fn pixel(&self, x: usize, y: usize) -> Colour {
        let places = (0..SAMPLES * SAMPLES)
            .map(|sample| (y * SAMPLES + sample / SAMPLES) * SIDE + x * SAMPLES + sample % SAMPLES);
        let sums = places.fold([0; 3], |sums: [usize; 3], at| {
            [0, 1, 2].map(|channel| sums[channel] + usize::from(self.colours[at][channel]))
        });
        sums.map(|sum| (sum / (SAMPLES * SAMPLES)) as u8)
    }
}

pub fn draw(
    elements: &Elements,
    positions: &[[f64; 3]],
    is_y_up: bool,
    edge_edge: &[Pair],
    vertex_face: &[Pair],
) -> Canvas {
    let mut counts = vec![0u32; elements.list.len()];
    for pair in edge_edge.iter().chain(vertex_face) {
        counts[pair.a as usize] += 1;
        counts[pair.b as usize] += 1;
    }
    let first_face = elements.vertices + elements.edges;
    let most = counts[elements.vertices..].iter().copied().max().unwrap_or_default();
    // Skips the dark colours, which resemble the background.
    let scale = |share: f64| inferno(0.3 + 0.7 * share);
    let paint = |count: u32, light: f32| match count {
        0 => [104.0, 112.0, 128.0].map(|channel: f32| (channel * light) as u8),
        _ => scale(f64::from(count).ln_1p() / f64::from(most).ln_1p()),
    };

    let points = project(positions, is_y_up);
    let mut samples = Samples {
        colours: vec![PAPER; SIDE * SIDE],
        depths: vec![f32::INFINITY; SIDE * SIDE],
    };
    for (index, element) in elements.list.iter().enumerate().skip(elements.vertices) {
        let corners = element.map(|vertex| points[vertex as usize]);
        let count = counts[index];
        if index < first_face {
            samples.line([corners[0], corners[1]], paint(count, 0.5));
        } else {
            samples.triangle(corners, |cosine| paint(count, 0.35 + 0.65 * cosine));
        }
    }

    let mut canvas = Canvas::new(PIXELS, PIXELS);
    let mut fill = |x, y, width, height, colour| canvas.fill(Rectangle { x, y, width, height }, colour);
    for at in 0..PIXELS * PIXELS {
        let (x, y) = (at % PIXELS, at / PIXELS);
        fill(x, y, 1, 1, samples.pixel(x, y));
    }
    const BAR: usize = 160;
    for x in 0..BAR {
        fill(40 + x, 44, 1, 14, scale(x as f64 / BAR as f64));
    }
    let title = format!(
        "{} edge-edge, {} vertex-face candidates",
        edge_edge.len(),
        vertex_face.len()
    );
    canvas.text(20, 18, &title, Align::Left);
    canvas.text(20, 44, "1", Align::Left);
    canvas.text(52 + BAR, 44, &format!("{most} an edge or face"), Align::Left);
    canvas
}

/// Returns x, y and depth of each vertex, in samples.
fn project(positions: &[[f64; 3]], is_y_up: bool) -> Vec<[f32; 3]> {
    let (turn_sin, turn_cos) = 25_f64.to_radians().sin_cos();
    let (tilt_sin, tilt_cos) = 35_f64.to_radians().sin_cos();
    let turned: Vec<_> = positions
        .iter()
        .map(|&[x, y, z]| {
            let [x, y, z] = if is_y_up { [x, -z, y] } else { [x, y, z] };
            let (right, away) = (turn_cos * x + turn_sin * y, turn_cos * y - turn_sin * x);
            [right, -tilt_sin * away - tilt_cos * z, tilt_cos * away - tilt_sin * z].map(|value| value as f32)
        })
        .collect();
    let bounds = [0, 1].map(|axis| {
        let values = turned.iter().map(|point| point[axis]);
        [
            values.clone().fold(f32::INFINITY, f32::min),
            values.fold(f32::NEG_INFINITY, f32::max),
        ]
    });
    let extent = bounds
        .map(|[low, high]| high - low)
        .into_iter()
        .fold(f32::MIN_POSITIVE, f32::max);
    let scale = (SIDE - 2 * SAMPLES * MARGIN) as f32 / extent;
    let middle = bounds.map(|[low, high]| (low + high) / 2.0);
    let place = |value: f32, axis: usize| SIDE as f32 / 2.0 + (value - middle[axis]) * scale;
    turned
        .iter()
        .map(|&[x, y, depth]| [place(x, 0), place(y, 1), depth * scale])
        .collect()
}
