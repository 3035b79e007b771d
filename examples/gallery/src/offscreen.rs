use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context, Result};
use color_quant::NeuQuant;
use glam::UVec2;

use crate::targets::extent;
use crate::{Demo, Gpu, Input, LoopOptions, Running, TIME_STEP};

/// Most frames of an animation. Longer runs skip frames.
const ANIMATION_FRAMES: u32 = 60;
/// Largest width of an animation in pixels.
const ANIMATION_WIDTH: u32 = 480;

pub struct Offscreen<D> {
    running: Running<D>,
    picture: wgpu::Texture,
}

impl<D: Demo> Offscreen<D> {
    pub fn new(gpu: Gpu, options: &D::Options, size: UVec2) -> Result<Self> {
        let picture = gpu.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("picture"),
            size: extent(size),
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: gpu.format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        Ok(Self {
            running: Running::new(gpu, options)?,
            picture,
        })
    }

    pub fn frame(&mut self, input: Input) -> Result<()> {
        self.running.frame(&self.picture, TIME_STEP, input)
    }

    /// Pixels of the last frame, row by row.
    pub fn pixels(&self) -> Result<Vec<[u8; 3]>> {
        read(&self.running.gpu, &self.picture)
    }

    pub fn parts(&mut self) -> (&Gpu, &mut D) {
        (&self.running.gpu, &mut self.running.demo)
    }
}

pub fn run<D: Demo>(options: &LoopOptions, demo: &D::Options, directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let mut offscreen = Offscreen::<D>::new(Gpu::offscreen()?, demo, options.size)?;
    let frames = options.frames.unwrap_or(60);
    let every = frames.div_ceil(ANIMATION_FRAMES);
    let factor = options.size.x.div_ceil(ANIMATION_WIDTH);
    let mut animation = Vec::new();
    for frame in 1..=frames {
        offscreen.frame(D::script(frame - 1, frames, options.size))?;
        if options.animation && frame % every == 0 {
            animation.push(shrink(&offscreen.pixels()?, options.size, factor));
        }
    }
    let pixels = offscreen.pixels()?;
    offscreen.running.finish()?;

    let path = |ending| directory.join(format!("{}.{ending}", D::NAME));
    let picture = path("png");
    let mut encoder = encoder(&picture, options.size)?;
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header()?.write_image_data(pixels.as_flattened())?;
    println!("wrote {}", picture.display());
    if options.animation {
        let path = path("animated.png");
        write_animation(&path, options.size / factor, &animation, every)?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

fn encoder(path: &Path, size: UVec2) -> Result<png::Encoder<'static, BufWriter<File>>> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), size.x, size.y);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    Ok(encoder)
}

/// One palette of 256 colours saves two thirds of the file.
fn write_animation(path: &Path, size: UVec2, frames: &[Vec<[u8; 4]>], sixtieths: u32) -> Result<()> {
    let colors = NeuQuant::new(10, 256, frames.concat().as_flattened());
    let mut encoder = encoder(path, size)?;
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_palette(colors.color_map_rgb());
    encoder.set_filter(png::Filter::NoFilter);
    encoder.set_animated(frames.len().try_into()?, 0)?;
    encoder.set_frame_delay(sixtieths.try_into()?, 60)?;
    let mut writer = encoder.write_header()?;
    for frame in frames {
        let indices: Vec<_> = frame.iter().map(|pixel| colors.index_of(pixel) as u8).collect();
        writer.write_image_data(&indices)?;
    }
    writer.finish()?;
    Ok(())
}

fn read(gpu: &Gpu, texture: &wgpu::Texture) -> Result<Vec<[u8; 3]>> {
    let size = texture.size();
    let stride = (4 * size.width).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
    let bytes = u64::from(stride) * u64::from(size.height);
    let rows: Vec<[u8; 4]> = gpu.read_uncounted(bytes, |encoder, staging| {
        let layout = wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(stride),
            rows_per_image: None,
        };
        let target = wgpu::TexelCopyBufferInfo {
            buffer: staging,
            layout,
        };
        encoder.copy_texture_to_buffer(texture.as_image_copy(), target, size);
    })?;
    let rows = rows.chunks_exact(stride as usize / 4);
    Ok(rows
        .flat_map(|row| &row[..size.width as usize])
        .map(|&[red, green, blue, _]| [red, green, blue])
        .collect())
}

/// Averages squares of `factor` pixels.
fn shrink(pixels: &[[u8; 3]], size: UVec2, factor: u32) -> Vec<[u8; 4]> {
    let [width, factor] = [size.x, factor].map(|side| side as usize);
    let small = size.as_usizevec2() / factor;
    let mean = |corner: usize, channel: usize| {
        let square = (0..factor * factor).map(|place| corner + place / factor * width + place % factor);
        let sum: usize = square.map(|pixel| usize::from(pixels[pixel][channel])).sum();
        (sum / (factor * factor)) as u8
    };
    (0..small.x * small.y)
        .map(|place| (place / small.x * width + place % small.x) * factor)
        .map(|corner| [mean(corner, 0), mean(corner, 1), mean(corner, 2), 255])
        .collect()
}
