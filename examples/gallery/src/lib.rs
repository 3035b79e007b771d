//! A frame loop for small wgpu programs on `gpu_broad_phase`: the same frames in a window or, without a display, as a
//! picture.
//!
//! A program is a [`Demo`] and a `main` that calls [`run`]. The loop makes the device, gives each frame an encoder and
//! a target, submits once a frame and counts what is submitted and read back.

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

/// Seconds between frames that no clock drives.
const TIME_STEP: f32 = 1.0 / 60.0;

/// A program of the gallery.
pub trait Demo: Sized + 'static {
    /// Options of its own.
    type Options: clap::Args;
    /// Of the program and of its pictures.
    const NAME: &'static str;
    /// A line for `--help`.
    const ABOUT: &'static str;

    /// Makes pipelines and buffers.
    fn new(gpu: &Gpu, options: &Self::Options) -> Result<Self>;

    /// Records a frame; the loop submits it.
    fn frame(&mut self, gpu: &Gpu, frame: &mut Frame<'_>) -> Result<()>;

    /// After the submission: what has to be read back.
    fn submitted(&mut self, _gpu: &Gpu) -> Result<()> {
        Ok(())
    }

    /// What mouse and keyboard do in a frame of so many where there is no window.
    fn script(_frame: u32, _frames: u32, _size: UVec2) -> Input {
        Input::default()
    }

    /// For the window, after each frame; the name where there is none.
    fn title(&mut self) -> Option<String> {
        None
    }

    /// A line or two about what was seen, after the last frame.
    fn summary(&mut self, gpu: &Gpu) -> Result<String>;
}

/// What a frame is recorded into.
pub struct Frame<'f> {
    pub encoder: &'f mut wgpu::CommandEncoder,
    /// Counted from 0.
    pub index: u32,
    /// Seconds since the frame before: 1/60 where there is no window, so that pictures are the same each run.
    pub time_step: f32,
    pub input: Input,
    targets: &'f Targets,
    view: &'f wgpu::TextureView,
}

impl Frame<'_> {
    /// Of the target in pixels.
    pub fn size(&self) -> UVec2 {
        self.targets.size
    }

    /// Width by height.
    pub fn aspect(&self) -> f32 {
        self.size().x as f32 / self.size().y as f32
    }

    /// Begins the pass that draws the frame over `background`, for pipelines of [`Gpu::draw_pipeline`]. Once a frame.
    pub fn draw(&mut self, label: &str, background: wgpu::Color) -> wgpu::RenderPass<'_> {
        self.encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some(label),
            color_attachments: &[Some(self.targets.color(self.view, background))],
            depth_stencil_attachment: Some(self.targets.depth()),
            ..Default::default()
        })
    }
}

/// What mouse and keyboard did since the frame before; [`Demo::script`] where there is no window.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// Where the pointer is, in pixels from the upper left corner, while it is in the window.
    pub pointer: Option<Vec2>,
    /// How far it was dragged with the left button held, in pixels.
    pub drag: Vec2,
    /// How far the wheel was turned, in lines, away from the hand above zero.
    pub scroll: f32,
    /// Whether the left button was let go of where it was pressed.
    pub clicked: bool,
    /// Characters that were typed.
    pub typed: String,
}

/// Options of every program.
#[derive(Clone, Debug, clap::Args)]
struct LoopOptions {
    /// Ends after so many frames: 60 with `--output`, else when the window is closed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    frames: Option<u32>,
    /// Draws without a window and writes the last frame to DIR/NAME.png.
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Pixels of the picture or of the window at first.
    #[arg(long, value_name = "WxH", default_value = "1280x800", value_parser = parse_size)]
    size: UVec2,
    /// Writes DIR/NAME.animated.png too, smaller.
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

/// The `main` of a program: reads the command line and draws, in a window or into a picture.
///
/// # Errors
/// Whatever ends the program early: no adapter, no display without `--output`, an error of the demo.
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

/// A demo that runs, with what the loop keeps from frame to frame.
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

    /// Draws a frame into a texture of the device's target format.
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
