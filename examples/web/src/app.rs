//! What runs the page: opens devices, makes worlds, draws frame after frame, and lives on where any of it fails.

use std::cell::RefCell;
use std::rc::Rc;

use glam::{UVec2, Vec2};
use gpu_broad_phase::Dimensions;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{Event, PointerEvent, WheelEvent};

use crate::demo::Demo;
use crate::failure::Failure;
use crate::finder;
use crate::gpu::Gpu;
use crate::input::Input;
use crate::page::{Page, State, bytes, grouped, milliseconds};
use crate::settings::Settings;
use crate::verify::{self, Frame, Verdict};

/// Seconds of a frame of the deterministic mode, and of the longest one otherwise.
const TIME_STEP: f32 = 1.0 / 60.0;
const LONGEST_STEP: f32 = 1.0 / 20.0;
/// What is waited for on the device: more would only be seen later.
const FRAMES_IN_FLIGHT: u32 = 2;
/// Milliseconds between two looks at what the page shows in numbers.
const READOUT_EVERY: f64 = 250.0;
/// The same of stage times, which come with a read-back of everything.
const STAGES_EVERY: f64 = 1500.0;
/// Below this there is nothing to fall back to.
const FEWEST_BOXES: u32 = 1000;
/// A device that is lost before it has found anything in so many may have been asked for too much.
const MANY_BOXES: u32 = 200_000;
/// Times that a step is made again to hold all that it finds.
const MOST_REPEATS: u32 = 6;

pub struct App {
    page: Page,
    /// What the visitor wants; the world follows.
    wanted: Settings,
    gpu: Option<Rc<Gpu>>,
    demo: Option<Demo>,
    /// Something is under way that owns the world, or a part of it.
    is_busy: bool,
    /// The page says why it does not run.
    has_failed: bool,
    /// Whether this world has answered a step.
    has_answer: bool,
    /// The largest number of boxes that this device has answered for.
    answered: Option<u32>,
    input: Input,
    size: UVec2,
    frames: u32,
    clock: Clock,
}

/// When what happened, milliseconds.
#[derive(Default)]
struct Clock {
    made: f64,
    frame: f64,
    readout: f64,
    stages: f64,
    /// Frames since the last readout.
    frames: u32,
}

type Shared = Rc<RefCell<App>>;

/// Starts the page; it then lives by its events.
pub fn start() {
    let Some(page) = Page::of_window() else { return };
    let (wanted, unknown) = Settings::from_query(&page.query());
    page.write(&wanted);
    if !unknown.is_empty() {
        let told: Vec<_> = unknown.iter().map(ToString::to_string).collect();
        page.notice("Not all of this address", &format!("{}.", told.join("; ")), None);
    }
    let app = Rc::new(RefCell::new(App {
        page,
        wanted,
        gpu: None,
        demo: None,
        is_busy: false,
        has_failed: false,
        has_answer: false,
        answered: None,
        input: Input::default(),
        size: UVec2::ONE,
        frames: 0,
        clock: Clock::default(),
    }));
    listen(&app);
    frames(&app);
    spawn_local(open(app));
}

/// Lets the device go, as a driver that fails does: for tests of what the page then does.
pub fn lose_device() {
    CURRENT.with_borrow(|gpu| {
        if let Some(gpu) = gpu {
            gpu.device.destroy();
        }
    });
}

thread_local! {
    /// The device in use, for [`lose_device`].
    static CURRENT: RefCell<Option<Rc<Gpu>>> = const { RefCell::new(None) };
}

/// A device and a world on it.
async fn open(app: Shared) {
    let page = {
        let mut app = app.borrow_mut();
        if app.is_busy {
            return;
        }
        (app.is_busy, app.has_failed) = (true, false);
        (app.gpu, app.demo, app.answered) = (None, None, None);
        app.page.state(State::Starting, "starting…");
        app.page.clone()
    };
    let opened = match supports(&page) {
        Ok(()) => Gpu::open(&page.canvas).await,
        Err(failure) => Err(failure),
    };
    match opened {
        Ok(gpu) => {
            page.text("adapter", &adapter_name(&page).await);
            let gpu = Rc::new(gpu);
            CURRENT.set(Some(Rc::clone(&gpu)));
            {
                let mut app = app.borrow_mut();
                app.gpu = Some(gpu);
                app.size = UVec2::ONE;
                app.is_busy = false;
            }
            build(app).await;
        }
        Err(failure) => {
            let mut app = app.borrow_mut();
            app.is_busy = false;
            app.fail(&failure);
        }
    }
}

/// A world of the wanted boxes, or of as many as there is room for.
async fn build(app: Shared) {
    loop {
        let (gpu, settings, size) = {
            let mut app = app.borrow_mut();
            let Some(gpu) = app.gpu.clone().filter(|_| !app.is_busy) else {
                return;
            };
            app.is_busy = true;
            app.demo = None;
            app.frames = 0;
            app.has_answer = false;
            app.fit(&gpu);
            let boxes = grouped(app.wanted.boxes.into());
            app.page.state(State::Starting, &format!("making {boxes} boxes…"));
            (gpu, app.wanted, app.size.as_vec2())
        };
        let made = Demo::new(&gpu, settings, size).await;
        let mut app = app.borrow_mut();
        app.is_busy = false;
        match made {
            Ok(demo) => {
                app.demo = Some(demo);
                app.clock.stages = app.page.now();
                app.clock.made = app.clock.stages;
                app.page.text("stages", "");
                app.page.text("verdict", "");
                app.page.state(State::Starting, "the first frame…");
                return;
            }
            Err(failure) => {
                if !app.fall_back(&failure) {
                    return;
                }
            }
        }
    }
}

/// # Errors
/// Where the browser has no WebGPU, at all or here.
fn supports(page: &Page) -> Result<(), Failure> {
    let has_gpu = property(&page.window.navigator(), "gpu").is_some();
    match has_gpu {
        true => Ok(()),
        false if !page.window.is_secure_context() => Err(Failure::NotSecure),
        false => Err(Failure::NoWebGpu),
    }
}

fn property(object: &JsValue, name: &str) -> Option<JsValue> {
    let value = js_sys::Reflect::get(object, &name.into()).ok()?;
    (!value.is_undefined() && !value.is_null()).then_some(value)
}

/// As the browser tells it, which is little: wgpu passes no more than its description on.
async fn adapter_name(page: &Page) -> String {
    let ask = || {
        let gpu = property(&page.window.navigator(), "gpu")?;
        let request: js_sys::Function = property(&gpu, "requestAdapter")?.dyn_into().ok()?;
        request.call0(&gpu).ok()?.dyn_into::<js_sys::Promise>().ok()
    };
    let Some(asked) = ask() else { return String::new() };
    let info = JsFuture::from(asked)
        .await
        .ok()
        .and_then(|adapter| property(&adapter, "info"));
    let Some(info) = info else { return String::new() };
    let of = |name| {
        property(&info, name)
            .and_then(|text| text.as_string())
            .filter(|text| !text.is_empty())
    };
    match of("description") {
        Some(description) => description,
        None => [of("vendor"), of("architecture")]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" "),
    }
}

impl App {
    /// Makes the canvas as large as its place on the page.
    fn fit(&mut self, gpu: &Gpu) {
        let canvas = &self.page.canvas;
        let scale = self.page.scale();
        let most = f64::from(gpu.device.limits().max_texture_dimension_2d);
        let pixels = [canvas.client_width(), canvas.client_height()];
        let size = pixels.map(|pixels| (f64::from(pixels) * scale).round().clamp(1.0, most) as u32);
        let size = UVec2::from_array(size);
        if size != self.size {
            self.size = size;
            gpu.configure(size);
        }
    }

    fn fail(&mut self, failure: &Failure) {
        self.has_failed = true;
        self.demo = None;
        let told = failure.to_string();
        console(&told);
        self.page.state(State::Failed, &told);
        self.page.notice("This demo cannot run here", &told, Some("Try again"));
    }

    /// Wants fewer boxes where more do not work, and says so; false where that does not help.
    fn fall_back(&mut self, failure: &Failure) -> bool {
        let asked = self.wanted.boxes;
        let fewer = match self.answered.filter(|&answered| answered < asked) {
            Some(answered) => answered,
            None => (asked / 2).min(Settings::default().boxes),
        };
        if fewer < FEWEST_BOXES {
            self.fail(failure);
            return false;
        }
        self.demo = None;
        self.wanted.boxes = fewer;
        self.page.write(&self.wanted);
        self.page.set_query(&self.wanted);
        let title = format!("{} boxes do not fit", grouped(asked.into()));
        let text = format!("{failure} Back to {}.", grouped(fewer.into()));
        console(&text);
        self.page.notice(&title, &text, None);
        true
    }

    fn lose(&mut self, reason: &str) {
        (self.gpu, self.demo) = (None, None);
        CURRENT.set(None);
        let told = format!("The device is lost: {reason}");
        let reason_with_hint = format!("{reason} What is set stays as it is.");
        console(&told);
        self.page.state(State::Lost, &told);
        self.page
            .notice("The device is lost", &reason_with_hint, Some("Get a new device"));
    }

    /// What the device told on its own. True where it is there still.
    fn hear(&mut self, gpu: &Gpu) -> bool {
        let events = gpu.take_events();
        for error in events.errors {
            console(&error);
            self.page.notice("The device complains", &error, None);
        }
        match events.lost {
            Some(reason) => {
                // More than it can hold takes some devices away: a new one with fewer boxes is worth a try.
                let is_first = self.answered.is_none_or(|answered| answered < self.wanted.boxes);
                if is_first && self.wanted.boxes >= MANY_BOXES {
                    let reason = Failure::NoRoom(format!("the device is lost ({reason})."));
                    if self.fall_back(&reason) {
                        (self.gpu, self.demo) = (None, None);
                        return false;
                    }
                }
                self.lose(&reason);
                false
            }
            None => true,
        }
    }

    /// Takes changes of the controls and draws a frame.
    fn frame(&mut self, now: f64) -> Next {
        let Some(gpu) = self.gpu.clone().filter(|_| !self.has_failed) else {
            return Next::Frame;
        };
        if !self.hear(&gpu) {
            return if self.gpu.is_none() && !self.has_lost() {
                Next::Open
            } else {
                Next::Frame
            };
        }
        // What comes in meanwhile is kept for the next frame.
        let is_whole = self.demo.as_ref().is_some_and(|demo| demo.finder.broad_phase.is_some());
        if self.is_busy || !is_whole {
            return Next::Frame;
        }
        if gpu.frames_in_flight() >= FRAMES_IN_FLIGHT {
            let waited = (now - self.clock.made) / 1e3;
            if !self.has_answer && waited > 3.0 {
                let told = format!("the first frame… {waited:.0} s");
                self.page.state(State::Starting, &told);
            }
            return Next::Frame;
        }
        self.fit(&gpu);
        let Some(demo) = &mut self.demo else { return Next::Frame };
        if self.wanted.needs_other_world(&demo.settings) {
            return Next::Build;
        }
        if self.wanted != demo.settings
            && let Err(failure) = demo.change(&gpu, self.wanted)
        {
            self.fail(&failure);
            return Next::Frame;
        }
        let passed = (now - self.clock.frame) as f32 / 1e3;
        self.clock.frame = now;
        let is_over = self.wanted.frames.is_some_and(|frames| self.frames >= frames);
        let time_step = match self.wanted.frames {
            _ if self.wanted.paused || is_over => 0.0,
            Some(_) => TIME_STEP,
            None => self.wanted.speed * passed.clamp(0.0, LONGEST_STEP),
        };
        let size = self.size.as_vec2();
        let input = self.input.take(size);
        if let Err(failure) = demo.frame(&gpu, size, self.page.covered(), &input, time_step) {
            return if self.fall_back(&failure) {
                Next::Build
            } else {
                Next::Frame
            };
        }
        self.frames += 1;
        self.clock.frames += 1;
        self.read_out(&gpu, now)
    }

    fn has_lost(&self) -> bool {
        let root = self.page.document.document_element();
        root.is_some_and(|root| root.get_attribute("data-state").as_deref() == Some("lost"))
    }

    /// Says in numbers what is on the screen.
    fn read_out(&mut self, gpu: &Gpu, now: f64) -> Next {
        let Some(demo) = &mut self.demo else { return Next::Frame };
        let counters = demo.finder.counters();
        if counters.is_some() {
            self.answered = Some(demo.settings.boxes.max(self.answered.unwrap_or(0)));
            if !self.has_answer {
                self.has_answer = true;
                self.page.state(State::Running, running(demo.settings.paused));
            }
        }
        if now - self.clock.readout < READOUT_EVERY {
            return Next::Frame;
        }
        let page = &self.page;
        page.text("boxes", &grouped(demo.settings.boxes.into()));
        if let Some(counters) = counters {
            page.text("pairs", &grouped(counters.pairs_needed));
            page.text("levels", &grouped(counters.levels.into()));
            page.text("table-cells", &grouped(counters.table_cells.into()));
            page.levels(counters.levels);
        }
        if let Some(found) = demo.finder.found().filter(|_| demo.settings.ray) {
            page.text("hits", &grouped(found.hits.into()));
        } else {
            page.text("hits", "–");
        }
        if let Some(memory) = demo.finder.memory() {
            page.text("memory", &bytes(memory));
        }
        let frame_time = (now - self.clock.readout) / f64::from(self.clock.frames.max(1));
        if self.clock.readout > 0.0 {
            page.text("frame-time", &milliseconds(frame_time));
            page.text("fps", &format!("{:.0}", 1e3 / frame_time));
        }
        (self.clock.readout, self.clock.frames) = (now, 0);
        if !gpu.has_timestamps() {
            page.text(
                "step-time",
                "This browser gives no timestamps: see the time of a frame.",
            );
            return Next::Frame;
        }
        if now - self.clock.stages >= STAGES_EVERY {
            self.clock.stages = now;
            return Next::Stages;
        }
        Next::Frame
    }
}

/// What follows a frame.
enum Next {
    Frame,
    /// Another world.
    Build,
    /// Another device.
    Open,
    /// A look at the time of each stage.
    Stages,
}

/// A callback that asks to be called again has to know itself.
type OnFrame = Rc<RefCell<Option<Closure<dyn FnMut(f64)>>>>;

/// Draws whenever the browser shows a frame.
fn frames(app: &Shared) {
    let on_frame = OnFrame::default();
    let (app, again) = (Rc::clone(app), Rc::clone(&on_frame));
    let window = app.borrow().page.window.clone();
    let first = window.clone();
    *on_frame.borrow_mut() = Some(Closure::new(move |now| {
        let next = app.borrow_mut().frame(now);
        match next {
            Next::Frame => {}
            Next::Build => spawn_local(build(Rc::clone(&app))),
            Next::Open => spawn_local(open(Rc::clone(&app))),
            Next::Stages => spawn_local(time_stages(Rc::clone(&app))),
        }
        request(&window, &again);
    }));
    request(&first, &on_frame);
}

fn request(window: &web_sys::Window, on_frame: &OnFrame) {
    if let Some(closure) = &*on_frame.borrow() {
        // The only reason for it to fail is that the page is gone.
        let _ = window.request_animation_frame(closure.as_ref().unchecked_ref());
    }
}

/// Reads how long each stage of the last step took. Frames wait meanwhile, one or two.
async fn time_stages(app: Shared) {
    let taken = {
        let mut app = app.borrow_mut();
        let broad_phase = app.demo.as_mut().and_then(|demo| demo.finder.broad_phase.take());
        app.gpu.clone().zip(broad_phase)
    };
    let Some((gpu, mut broad_phase)) = taken else { return };
    let read = broad_phase.read_back(&gpu.device, &gpu.queue).await;
    let mut app = app.borrow_mut();
    // The world may be another one by now, with a broad phase of its own.
    if let Some(demo) = &mut app.demo
        && demo.finder.broad_phase.is_none()
    {
        demo.finder.broad_phase = Some(broad_phase);
    }
    if let Ok(result) = read {
        app.page.stages(&result.timings);
    }
}

/// Compares what the GPU found in the frame on the screen with what the CPU finds.
async fn check(app: Shared) {
    let (gpu, page, settings) = {
        let mut app = app.borrow_mut();
        let Some(gpu) = app.gpu.clone().filter(|_| !app.is_busy && app.demo.is_some()) else {
            return;
        };
        app.is_busy = true;
        app.wanted.paused = true;
        app.page.write(&app.wanted);
        app.page.state(State::Verifying, "verifying…");
        app.page.text("verdict", "verifying…");
        (gpu, app.page.clone(), app.wanted)
    };
    let frame = copy_frame(&app, &gpu).await;
    let verdict = match frame {
        Err(failure) => Err(failure),
        Ok(frame) => {
            // What was just written is to be seen before the CPU is busy.
            sleep(&page, 60).await;
            let begin = page.now();
            let settings = Settings {
                boxes: frame.boxes.len() as u32,
                ..settings
            };
            verify::verify(&finder::descriptor(&settings), &frame).map(|verdict| (verdict, page.now() - begin))
        }
    };
    let mut app = app.borrow_mut();
    app.is_busy = false;
    if app.demo.is_some() {
        page.state(State::Running, running(app.wanted.paused));
    }
    let (class, text) = match verdict {
        Ok((verdict, time)) => told(settings.boxes, &verdict, time),
        Err(failure) => {
            console(&failure.to_string());
            ("bad", format!("✗ {failure}"))
        }
    };
    page.text("verdict", &text);
    if let Some(element) = page.document.get_element_by_id("verdict") {
        element.set_class_name(class);
    }
}

fn told(boxes: u32, verdict: &Verdict, time: f64) -> (&'static str, String) {
    let (boxes, time) = (grouped(boxes.into()), milliseconds(time));
    match verdict {
        Verdict::Same { pairs, hits, by_force } => {
            let (pairs, hits) = (grouped(*pairs as u64), grouped(*hits as u64));
            let who = if *by_force {
                "reference and brute force find"
            } else {
                "reference finds"
            };
            (
                "good",
                format!("✓ {boxes} boxes: {pairs} pairs and {hits} hits, the CPU {who} the same ({time})"),
            )
        }
        Verdict::Differs(difference) => ("bad", format!("✗ {boxes} boxes: {difference}")),
    }
}

/// # Errors
/// Where the device is lost meanwhile, or the outputs do not come to hold everything.
async fn copy_frame(app: &Shared, gpu: &Gpu) -> Result<Frame, Failure> {
    let lost = || Failure::ReadBack(gpu_broad_phase::ReadBackError::DeviceLost);
    for _ in 0..MOST_REPEATS {
        // Stage times may be on their way: this waits for its turn.
        let mut broad_phase = loop {
            let page = {
                let mut app = app.borrow_mut();
                let demo = app.demo.as_mut().ok_or_else(lost)?;
                match demo.finder.broad_phase.take() {
                    Some(broad_phase) => break broad_phase,
                    None => app.page.clone(),
                }
            };
            sleep(&page, 5).await;
        };
        let read = broad_phase.read_back(&gpu.device, &gpu.queue).await;
        let (boxes, count, ray) = {
            let mut app = app.borrow_mut();
            let demo = app.demo.as_mut().ok_or_else(lost)?;
            demo.finder.broad_phase = Some(broad_phase);
            (demo.swarm.boxes.clone(), demo.swarm.count, demo.ray)
        };
        let result = read?;
        if result.counters.is_whole() {
            let boxes = gpu.read(&boxes, count).await?;
            return Ok(Frame { boxes, ray, result });
        }
        app.borrow_mut().demo.as_mut().ok_or_else(lost)?.find_again(gpu)?;
    }
    Err(Failure::NeverWhole)
}

async fn sleep(page: &Page, milliseconds: i32) {
    let promise = js_sys::Promise::new(&mut |done, _| {
        // Without a timer nothing would ever go on: then it goes on at once.
        if page
            .window
            .set_timeout_with_callback_and_timeout_and_arguments_0(&done, milliseconds)
            .is_err()
        {
            let _ = done.call0(&JsValue::NULL);
        }
    });
    let _ = JsFuture::from(promise).await;
}

fn running(is_paused: bool) -> &'static str {
    if is_paused { "paused" } else { "running" }
}

fn console(text: &str) {
    web_sys::console::error_1(&text.into());
}

/// Controls, pointers and buttons.
fn listen(app: &Shared) {
    let page = app.borrow().page.clone();
    let of = Rc::clone(app);
    page.on("controls", "input", move |event: Event| {
        let mut app = of.borrow_mut();
        let id = event
            .target()
            .and_then(|target| target.dyn_into::<web_sys::Element>().ok());
        let slider_moved = id.is_some_and(|element| element.id() == "count");
        app.wanted = app.page.read(app.wanted, slider_moved);
        app.page.label(&app.wanted);
        if app.has_answer && app.demo.is_some() && !app.is_busy {
            app.page.state(State::Running, running(app.wanted.paused));
        }
    });
    let of = Rc::clone(app);
    // Dragging a slider is many inputs, and browsers allow an address no more than a few changes a second.
    page.on("controls", "change", move |_: Event| {
        let app = of.borrow();
        app.page.set_query(&app.wanted);
    });
    let of = Rc::clone(app);
    page.on("verify", "click", move |_: Event| spawn_local(check(Rc::clone(&of))));
    let of = Rc::clone(app);
    page.on("restart", "click", move |_: Event| {
        of.borrow().page.show("notice", false);
        spawn_local(open(Rc::clone(&of)));
    });
    let of = page.clone();
    page.on("dismiss", "click", move |_: Event| of.show("notice", false));

    let place = |app: &App, event: &PointerEvent| {
        Vec2::new(event.offset_x() as f32, event.offset_y() as f32) * app.page.scale() as f32
    };
    let of = Rc::clone(app);
    page.on("canvas", "pointerdown", move |event: PointerEvent| {
        let mut app = of.borrow_mut();
        let at = place(&app, &event);
        // Without the capture a drag ends at the edge of the canvas.
        let _ = app.page.canvas.set_pointer_capture(event.pointer_id());
        app.input.press(event.pointer_id(), at);
    });
    let of = Rc::clone(app);
    page.on("canvas", "pointermove", move |event: PointerEvent| {
        let mut app = of.borrow_mut();
        let at = place(&app, &event);
        // A finger has no other way to point.
        let points = event.pointer_type() == "touch" && app.wanted.dimensions == Dimensions::Two;
        app.input.move_to(event.pointer_id(), at, !points);
    });
    for name in ["pointerup", "pointercancel"] {
        let of = Rc::clone(app);
        page.on("canvas", name, move |event: PointerEvent| {
            let stays = event.pointer_type() == "mouse";
            of.borrow_mut().input.release(event.pointer_id(), stays);
        });
    }
    let of = Rc::clone(app);
    page.on("canvas", "pointerleave", move |_: Event| of.borrow_mut().input.leave());
    let of = Rc::clone(app);
    page.on("canvas", "wheel", move |event: WheelEvent| {
        event.prevent_default();
        // Lines and pages are larger than pixels.
        let unit = [1.0, 30.0, 300.0][(event.delta_mode() as usize).min(2)];
        of.borrow_mut().input.zoom *= (-0.0016 * unit * event.delta_y() as f32).exp().clamp(0.2, 5.0);
    });
}
