pub mod canvas;
pub mod colour;

use std::io::{self, Write};

use canvas::Canvas;

pub fn write_png(file: &mut impl Write, canvas: &Canvas) -> io::Result<()> {
    let mut encoder = png::Encoder::new(file, canvas.width as u32, canvas.height() as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(canvas.bytes())?;
    Ok(writer.finish()?)
}
