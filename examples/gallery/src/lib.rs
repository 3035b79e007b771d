//! Frame loop for [`Demo`]s in wgpu, in a window or, without a display, into a picture. It submits once per frame, and
//! counts submissions and bytes read back.

mod camera;
mod frame_readback;
mod gpu;
mod offscreen;
mod random;
mod targets;
mod window;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::{CommandFactory, FromArgMatches, Parser};
use glam::{UVec2, Vec2};

pub use camera::Orbit;
pub use frame_readback::FrameReadback;
pub use gpu::{DrawState, Gpu, SOLID_BACKGROUND, Traffic};
pub use offscreen::Offscreen;
pub use random::Random;
use targets::Targets;

const TIME_STEP: f32 = 1.0 / 60.0;

pub trait Demo: Sized + 'static {
    type Options: clap::Args;
    /// Name of the program and its pictures.
    const NAME: &'static str;
    const ABOUT: &'static str;

    fn new(gpu: &Gpu, options: &Self::Options) -> Result<Self>;

    /// Records a frame. The loop submits it.
    fn frame(&mut self, gpu: &Gpu, frame: &mut Frame<'_>) -> Result<()>;

    fn submitted(&mut self, _gpu: &Gpu) -> Result<()> {
        Ok(())
    }

    /// Input of a frame without a window.
    fn script(_frame: u32, _frames: u32, _size: UVec2) -> Input {
        Input::default()
    }

    /// Window title. `None` shows the name.
    fn title(&mut self) -> Option<String> {
        None
    }

    /// Returns the results to print after the last frame.
    fn summary(&mut self, gpu: &Gpu) -> Result<String>;
}

pub struct Frame<'f> {
    pub encoder: &'f mut wgpu::CommandEncoder,
    pub index: u32,
    /// Seconds. Always 1/60 without a window, so that pictures are reproducible.
    pub time_step: f32,
    pub input: Input,
    targets: &'f Targets,
    view: &'f wgpu::TextureView,
}

impl Frame<'_> {
    /// Size in pixels.
    pub fn size(&self) -> UVec2 {
        self.targets.size
    }

    pub fn aspect(&self) -> f32 {
        self.size().x as f32 / self.size().y as f32
    }

    /// Begins the only draw pass of the frame.
    pub fn draw(&mut self, label: &str, background: wgpu::Color) -> wgpu::RenderPass<'_> {
        self.encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some(label),
            color_attachments: &[Some(self.targets.color(self.view, background))],
            depth_stencil_attachment: Some(self.targets.depth()),
            ..Default::default()
        })
    }
}

/// Input since the previous frame.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// Pixels from the upper left corner.
    pub pointer: Option<Vec2>,
    /// Pixels dragged with the left button.
    pub drag: Vec2,
    /// Wheel lines, positive away from the user.
    pub scroll: f32,
    /// True after a click without a drag.
    pub clicked: bool,
    pub typed: String,
}

#[derive(Clone, Debug, clap::Args)]
struct LoopOptions {
    /// Number of frames. Default: 60 with `--output`, otherwise until the window is closed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    frames: Option<u32>,
    /// Draws without a window and writes the last frame to DIR/NAME.png.
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Size of the picture, or initial size of the window, in pixels.
    #[arg(long, value_name = "WxH", default_value = "1280x800", value_parser = parse_size)]
    size: UVec2,
    /// Also writes a smaller DIR/NAME.animated.png.
    #[arg(long, requires = "output")]
    animation: bool,
}

#[derive(Parser)]
struct Cli<O: clap::Args> {
    #[command(flatten)]
    options: LoopOptions,
    #[command(flatten)]
    demo: O,
}

/// Parses the command line and runs a program.
///
/// # Errors
/// Without an adapter or a display (unless `--output`), or if the demo fails.
pub fn run<D: Demo>() -> Result<()> {
    let command = Cli::<D::Options>::command().name(D::NAME).about(D::ABOUT);
    let Cli { options, demo } =
        Cli::<D::Options>::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit());
    match &options.output {
        Some(directory) => offscreen::run::<D>(&options, &demo, directory),
        None => window::run::<D>(options, demo),
    }
}

fn parse_size(text: &str) -> Result<UVec2> {
    let (width, height) = text.split_once('x').context("a size is given as 1280x800")?;
    let size = UVec2::new(width.parse()?, height.parse()?);
    ensure!(
        size.min_element() >= 16 && size.max_element() <= 8192,
        "a side has 16 to 8192 pixels"
    );
    Ok(size)
}

struct Running<D> {
    gpu: Gpu,
    demo: D,
    targets: Option<Targets>,
    frames: u32,
}

impl<D: Demo> Running<D> {
    fn new(gpu: Gpu, options: &D::Options) -> Result<Self> {
        println!("{} on {}", D::NAME, gpu.info.name);
        let demo = D::new(&gpu, options)?;
        Ok(Self {
            gpu,
            demo,
            targets: None,
            frames: 0,
        })
    }

    fn frame(&mut self, texture: &wgpu::Texture, time_step: f32, input: Input) -> Result<()> {
        let size = UVec2::new(texture.width(), texture.height());
        let targets = match self.targets.take().filter(|targets| targets.size == size) {
            Some(targets) => targets,
            None => Targets::new(&self.gpu, size),
        };
        let targets = self.targets.insert(targets);
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let mut encoder = self
            .gpu
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("frame") });
        let mut frame = Frame {
            encoder: &mut encoder,
            index: self.frames,
            time_step,
            input,
            targets,
            view: &view,
        };
        self.demo.frame(&self.gpu, &mut frame)?;
        self.gpu.submit(encoder);
        self.frames += 1;
        self.demo.submitted(&self.gpu)
    }

    fn finish(&mut self) -> Result<()> {
        let Traffic {
            submissions,
            bytes_read,
        } = self.gpu.traffic();
        let kinds: Vec<_> = bytes_read
            .iter()
            .map(|(what, bytes)| format!("{bytes} of {what}"))
            .collect();
        println!(
            "{} frames, {submissions} submissions, {} bytes read back ({})",
            self.frames,
            bytes_read.values().sum::<u64>(),
            kinds.join(", ")
        );
        println!("{}", self.demo.summary(&self.gpu)?);
        Ok(())
    }
}
