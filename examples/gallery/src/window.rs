use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use glam::Vec2;
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::event::{ElementState, MouseButton, MouseScrollDelta, WindowEvent};
use winit::event_loop::{ActiveEventLoop, EventLoop};
use winit::keyboard::{Key, NamedKey};
use winit::window::{Window, WindowId};

use crate::{Demo, Gpu, Input, LoopOptions, Running, TIME_STEP};

/// Largest movement of the pointer during a click, in pixels.
const CLICK_REACH: f32 = 4.0;

pub fn run<D: Demo>(options: LoopOptions, demo: D::Options) -> Result<()> {
    let event_loop = EventLoop::new().context("no window can be opened; --output DIR draws a picture without one")?;
    let mut app = App::<D> {
        options,
        demo,
        open: None,
        input: Input::default(),
        pressed_at: None,
        result: Ok(()),
    };
    event_loop.run_app(&mut app)?;
    app.result
}

struct App<D: Demo> {
    options: LoopOptions,
    demo: D::Options,
    open: Option<Open<D>>,
    input: Input,
    pressed_at: Option<Vec2>,
    result: Result<()>,
}

struct Open<D> {
    window: Arc<Window>,
    instance: wgpu::Instance,
    surface: wgpu::Surface<'static>,
    configuration: wgpu::SurfaceConfiguration,
    running: Running<D>,
    title: String,
    last_frame: Instant,
}

impl<D: Demo> Open<D> {
    fn new(event_loop: &ActiveEventLoop, options: &LoopOptions, demo: &D::Options) -> Result<Self> {
        let attributes = Window::default_attributes()
            .with_title(D::NAME)
            .with_inner_size(PhysicalSize::new(options.size.x, options.size.y));
        let window = Arc::new(event_loop.create_window(attributes)?);
        let display = Box::new(event_loop.owned_display_handle());
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_with_display_handle_from_env(display));
        let surface = instance.create_surface(Arc::clone(&window))?;
        let gpu = Gpu::new(&instance, Some(&surface))?;
        let PhysicalSize { width, height } = window.inner_size();
        let configuration = wgpu::SurfaceConfiguration {
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
            format: gpu.format,
            color_space: wgpu::SurfaceColorSpace::Auto,
            width,
            height,
            present_mode: wgpu::PresentMode::AutoVsync,
            desired_maximum_frame_latency: 2,
            alpha_mode: wgpu::CompositeAlphaMode::Auto,
            view_formats: Vec::new(),
        };
        let mut open = Self {
            window,
            instance,
            surface,
            configuration,
            running: Running::new(gpu, demo)?,
            title: D::NAME.to_owned(),
            last_frame: Instant::now(),
        };
        open.resize(open.window.inner_size());
        Ok(open)
    }

    fn is_minimised(&self) -> bool {
        self.configuration.width == 0 || self.configuration.height == 0
    }

    fn resize(&mut self, size: PhysicalSize<u32>) {
        self.configuration.width = size.width;
        self.configuration.height = size.height;
        self.configure();
    }

    /// Does nothing while minimised, because empty surfaces are invalid.
    fn configure(&self) {
        if !self.is_minimised() {
            self.surface.configure(&self.running.gpu.device, &self.configuration);
            self.window.request_redraw();
        }
    }

    fn redraw(&mut self, input: &mut Input) -> Result<()> {
        use wgpu::CurrentSurfaceTexture as Current;
        if self.is_minimised() {
            return Ok(());
        }
        let (texture, is_suboptimal) = match self.surface.get_current_texture() {
            Current::Success(texture) => (texture, false),
            Current::Suboptimal(texture) => (texture, true),
            Current::Timeout | Current::Occluded => {
                // A hidden window retries slowly.
                std::thread::sleep(Duration::from_millis(50));
                self.window.request_redraw();
                return Ok(());
            }
            Current::Outdated => {
                self.configure();
                return Ok(());
            }
            Current::Lost => {
                self.surface = self.instance.create_surface(Arc::clone(&self.window))?;
                self.configure();
                return Ok(());
            }
            Current::Validation => return Err(anyhow!("the window's surface cannot be used")),
        };
        let passed = self.last_frame.elapsed().as_secs_f32();
        self.last_frame = Instant::now();
        let pointer = input.pointer;
        let input = std::mem::replace(
            input,
            Input {
                pointer,
                ..Input::default()
            },
        );
        // Simulations need short steps, so slow devices slow time down.
        self.running.frame(&texture.texture, passed.min(TIME_STEP), input)?;
        if let Some(title) = self.running.demo.title().filter(|title| *title != self.title) {
            self.window.set_title(&title);
            self.title = title;
        }
        self.window.pre_present_notify();
        self.running.gpu.queue.present(texture);
        if is_suboptimal {
            self.configure();
        }
        self.window.request_redraw();
        Ok(())
    }
}

impl<D: Demo> App<D> {
    fn event(&mut self, event_loop: &ActiveEventLoop, event: WindowEvent) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let mut is_done = false;
        match event {
            WindowEvent::CloseRequested => is_done = true,
            WindowEvent::KeyboardInput { event, .. } if event.state == ElementState::Pressed => match event.logical_key
            {
                Key::Named(NamedKey::Escape) => is_done = true,
                Key::Character(text) if !event.repeat => self.input.typed += &text,
                _ => {}
            },
            WindowEvent::Resized(size) => open.resize(size),
            WindowEvent::RedrawRequested => {
                open.redraw(&mut self.input)?;
                is_done = self.options.frames.is_some_and(|frames| open.running.frames >= frames);
            }
            WindowEvent::CursorMoved { position, .. } => {
                let place = Vec2::new(position.x as f32, position.y as f32);
                if let Some(before) = self.input.pointer.replace(place).filter(|_| self.pressed_at.is_some()) {
                    self.input.drag += place - before;
                }
            }
            WindowEvent::CursorLeft { .. } => self.input.pointer = None,
            WindowEvent::MouseInput {
                state,
                button: MouseButton::Left,
                ..
            } => match state {
                ElementState::Pressed => self.pressed_at = self.input.pointer,
                ElementState::Released => {
                    let ends = self.pressed_at.take().zip(self.input.pointer);
                    self.input.clicked |= ends.is_some_and(|(from, to)| from.distance(to) < CLICK_REACH);
                }
            },
            WindowEvent::MouseWheel { delta, .. } => {
                self.input.scroll += match delta {
                    MouseScrollDelta::LineDelta(_, lines) => lines,
                    MouseScrollDelta::PixelDelta(pixels) => pixels.y as f32 / 40.0,
                };
            }
            _ => {}
        }
        if is_done {
            open.running.finish()?;
            event_loop.exit();
        }
        Ok(())
    }

    fn take(&mut self, event_loop: &ActiveEventLoop, result: Result<()>) {
        if result.is_err() {
            self.result = result;
            event_loop.exit();
        }
    }
}

impl<D: Demo> ApplicationHandler for App<D> {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        if self.open.is_none() {
            let result = Open::new(event_loop, &self.options, &self.demo).map(|open| self.open = Some(open));
            self.take(event_loop, result);
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        if !event_loop.exiting() {
            let result = self.event(event_loop, event);
            self.take(event_loop, result);
        }
    }
}
