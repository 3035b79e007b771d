//! Frames without a window: a picture of the last one, and an animation.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context, Result};
use glam::UVec2;

use crate::targets::extent;
use crate::{Demo, Gpu, Input, LoopOptions, Running, TIME_STEP};

/// At most; later frames are further apart.
const ANIMATION_FRAMES: u32 = 60;
/// Pixels across, at most.
const ANIMATION_WIDTH: u32 = 480;

pub fn run<D: Demo>(options: &LoopOptions, demo: &D::Options, directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let mut running = Running::<D>::new(Gpu::offscreen()?, demo)?;
    let texture = running.gpu.device.create_texture(&wgpu::TextureDescriptor {
        label: Some("picture"),
        size: extent(options.size),
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: running.gpu.format,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    });
    let frames = options.frames.unwrap_or(60);
    let every = frames.div_ceil(ANIMATION_FRAMES);
    let factor = options.size.x.div_ceil(ANIMATION_WIDTH);
    let path = |ending| directory.join(format!("{}.{ending}", D::NAME));
    let mut animation = match options.animation {
        true => Some(writer(
            &path("animated.png"),
            options.size / factor,
            Some((frames / every, every)),
        )?),
        false => None,
    };
    for frame in 1..=frames {
        running.frame(&texture, TIME_STEP, Input::default())?;
        if let Some(writer) = animation.as_mut().filter(|_| frame % every == 0) {
            let pixels = shrink(&read(&running.gpu, &texture)?, options.size, factor);
            writer.write_image_data(pixels.as_flattened())?;
        }
    }
    let pixels = read(&running.gpu, &texture)?;
    running.finish()?;
    if let Some(writer) = animation {
        writer.finish()?;
        println!("wrote {}", path("animated.png").display());
    }
    let mut writer = writer(&path("png"), options.size, None)?;
    writer.write_image_data(pixels.as_flattened())?;
    writer.finish()?;
    println!("wrote {}", path("png").display());
    Ok(())
}

/// `animation` is how many frames there are and how many sixtieths of a second each lasts.
fn writer(path: &Path, size: UVec2, animation: Option<(u32, u32)>) -> Result<png::Writer<BufWriter<File>>> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), size.x, size.y);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    if let Some((frames, sixtieths)) = animation {
        encoder.set_animated(frames, 0)?;
        encoder.set_frame_delay(u16::try_from(sixtieths)?, 60)?;
    }
    Ok(encoder.write_header()?)
}

/// The pixels of a texture, row by row.
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

/// Each pixel the mean of a square of `factor` by `factor`.
fn shrink(pixels: &[[u8; 3]], size: UVec2, factor: u32) -> Vec<[u8; 3]> {
    let [width, factor] = [size.x, factor].map(|side| side as usize);
    let small = (size.as_usizevec2()) / factor;
    let mean = |corner: usize, channel: usize| {
        let square = (0..factor * factor).map(|place| corner + place / factor * width + place % factor);
        let sum: usize = square.map(|pixel| usize::from(pixels[pixel][channel])).sum();
        (sum / (factor * factor)) as u8
    };
    (0..small.x * small.y)
        .map(|place| (place / small.x * width + place % small.x) * factor)
        .map(|corner| [0, 1, 2].map(|channel| mean(corner, channel)))
        .collect()
}
