//! Draws rectangles and text with a built-in font.

use super::colour::{Colour, INK, LINE, PAPER};

const SCALE: usize = 2;
const GLYPH_WIDTH: usize = 5;
const GLYPH_HEIGHT: usize = 7;
const ADVANCE: usize = (GLYPH_WIDTH + 1) * SCALE;
pub const TEXT_HEIGHT: usize = GLYPH_HEIGHT * SCALE;

pub struct Canvas {
    pub width: usize,
    pixels: Vec<Colour>,
}

#[derive(Clone, Copy)]
pub struct Rectangle {
    pub x: usize,
    pub y: usize,
    pub width: usize,
    pub height: usize,
}

#[derive(Clone, Copy)]
pub enum Align {
    Left,
    Middle,
    Right,
}

impl Canvas {
    pub fn new(width: usize, height: usize) -> Self {
        Self {
            width,
            pixels: vec![PAPER; width * height],
        }
    }

    pub fn height(&self) -> usize {
        self.pixels.len() / self.width
    }

    pub fn bytes(&self) -> &[u8] {
        self.pixels.as_flattened()
    }

    pub fn fill(&mut self, area: Rectangle, colour: Colour) {
        let right = (area.x + area.width).min(self.width);
        let left = area.x.min(right);
        let bottom = (area.y + area.height).min(self.height());
        for y in area.y..bottom {
            self.pixels[y * self.width + left..y * self.width + right].fill(colour);
        }
    }

    pub fn frame(&mut self, area: Rectangle) {
        let (x, y) = (area.x - 1, area.y - 1);
        let (width, height) = (area.width + 2, area.height + 2);
        for line in [
            Rectangle { x, y, width, height: 1 },
            Rectangle {
                x,
                y: y + height - 1,
                width,
                height: 1,
            },
            Rectangle { x, y, width: 1, height },
            Rectangle {
                x: x + width - 1,
                y,
                width: 1,
                height,
            },
        ] {
            self.fill(line, LINE);
        }
    }

    /// Text begins at, is centred on, or ends at `x`, by `align`.
    pub fn text(&mut self, x: usize, y: usize, text: &str, align: Align) {
        let x = x.saturating_sub(shift(text, align));
        for (along, across) in dots(text) {
            self.dot(x + along, y + across);
        }
    }

    /// Text that runs upward along y.
    pub fn text_up(&mut self, x: usize, y: usize, text: &str, align: Align) {
        let y = y + shift(text, align);
        for (along, across) in dots(text) {
            self.dot(x + across, (y - SCALE).saturating_sub(along));
        }
    }

    fn dot(&mut self, x: usize, y: usize) {
        let area = Rectangle {
            x,
            y,
            width: SCALE,
            height: SCALE,
        };
        self.fill(area, INK);
    }
}

fn shift(text: &str, align: Align) -> usize {
    let length = text.len() * ADVANCE - SCALE;
    match align {
        Align::Left => 0,
        Align::Middle => length / 2,
        Align::Right => length,
    }
}

fn dots(text: &str) -> impl Iterator<Item = (usize, usize)> {
    text.chars().enumerate().flat_map(|(place, letter)| {
        let rows = glyph(letter);
        (0..GLYPH_HEIGHT * GLYPH_WIDTH)
            .map(|at| (at % GLYPH_WIDTH, at / GLYPH_WIDTH))
            .filter(move |&(column, row)| rows[row] >> (GLYPH_WIDTH - 1 - column) & 1 == 1)
            .map(move |(column, row)| (place * ADVANCE + column * SCALE, row * SCALE))
    })
}

/// One number per row of five dots, whose leftmost dot is the highest bit. Lower case only.
fn glyph(letter: char) -> [u8; GLYPH_HEIGHT] {
    match letter {
        '0' => [0b01110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110],
        '1' => [0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
        '2' => [0b01110, 0b10001, 0b00001, 0b00110, 0b01000, 0b10000, 0b11111],
        '3' => [0b11111, 0b00010, 0b00100, 0b00010, 0b00001, 0b10001, 0b01110],
        '4' => [0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010],
        '5' => [0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110],
        '6' => [0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110],
        '7' => [0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b01000, 0b01000],
        '8' => [0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110],
        '9' => [0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100],
        '.' => [0, 0, 0, 0, 0, 0b01100, 0b01100],
        ',' => [0, 0, 0, 0, 0b01100, 0b00100, 0b01000],
        '-' => [0, 0, 0, 0b11111, 0, 0, 0],
        'a' => [0, 0, 0b01110, 0b00001, 0b01111, 0b10001, 0b01111],
        'b' => [0b10000, 0b10000, 0b10110, 0b11001, 0b10001, 0b10001, 0b11110],
        'c' => [0, 0, 0b01110, 0b10000, 0b10000, 0b10001, 0b01110],
        'd' => [0b00001, 0b00001, 0b01101, 0b10011, 0b10001, 0b10001, 0b01111],
        'e' => [0, 0, 0b01110, 0b10001, 0b11111, 0b10000, 0b01110],
        'f' => [0b00110, 0b01001, 0b01000, 0b11100, 0b01000, 0b01000, 0b01000],
        'g' => [0, 0b01111, 0b10001, 0b10001, 0b01111, 0b00001, 0b01110],
        'h' => [0b10000, 0b10000, 0b10110, 0b11001, 0b10001, 0b10001, 0b10001],
        'i' => [0b00100, 0, 0b01100, 0b00100, 0b00100, 0b00100, 0b01110],
        'j' => [0b00010, 0, 0b00110, 0b00010, 0b00010, 0b10010, 0b01100],
        'k' => [0b10000, 0b10000, 0b10010, 0b10100, 0b11000, 0b10100, 0b10010],
        'l' => [0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
        'm' => [0, 0, 0b11010, 0b10101, 0b10101, 0b10001, 0b10001],
        'n' => [0, 0, 0b10110, 0b11001, 0b10001, 0b10001, 0b10001],
        'o' => [0, 0, 0b01110, 0b10001, 0b10001, 0b10001, 0b01110],
        'p' => [0, 0, 0b11110, 0b10001, 0b11110, 0b10000, 0b10000],
        'q' => [0, 0, 0b01111, 0b10001, 0b01111, 0b00001, 0b00001],
        'r' => [0, 0, 0b10110, 0b11001, 0b10000, 0b10000, 0b10000],
        's' => [0, 0, 0b01110, 0b10000, 0b01110, 0b00001, 0b11110],
        't' => [0b01000, 0b01000, 0b11110, 0b01000, 0b01000, 0b01001, 0b00110],
        'u' => [0, 0, 0b10001, 0b10001, 0b10001, 0b10011, 0b01101],
        'v' => [0, 0, 0b10001, 0b10001, 0b10001, 0b01010, 0b00100],
        'w' => [0, 0, 0b10001, 0b10001, 0b10101, 0b10101, 0b01010],
        'x' => [0, 0, 0b10001, 0b01010, 0b00100, 0b01010, 0b10001],
        'y' => [0, 0, 0b10001, 0b10001, 0b01111, 0b00001, 0b01110],
        'z' => [0, 0, 0b11111, 0b00010, 0b00100, 0b01000, 0b11111],
        _ => [0; GLYPH_HEIGHT],
    }
}
