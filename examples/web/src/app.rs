//! Runs the page and recovers from failures.

mod listen;

use std::cell::RefCell;
use std::rc::Rc;

use glam::UVec2;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};

use crate::demo::Demo;
use crate::failure::Failure;
use crate::finder;
use crate::gpu::Gpu;
use crate::input::Input;
use crate::page::{Page, State, bytes, grouped, milliseconds};
use crate::settings::Settings;
use crate::verify::{self, Frame, Verdict};

/// Fixed time step in seconds.
const TIME_STEP: f32 = 1.0 / 60.0;
const LONGEST_STEP: f32 = 1.0 / 20.0;
/// More frames in flight would only add latency.
const FRAMES_IN_FLIGHT: u32 = 2;
/// Limit while frames are slow or not timed yet, because submitted work cannot be cancelled.
const SLOW_FRAMES_IN_FLIGHT: u32 = 1;
/// Milliseconds of a slow frame, and of the pause after it.
const SLOW_FRAME: f64 = 1e3;
const REST: f64 = 250.0;
/// Milliseconds between checks for a wait.
const WATCH_EVERY: i32 = 500;
/// Milliseconds until the status (`LONG`) or a notice (`TOO_LONG`) reports a wait.
const LONG: f64 = 3e3;
const TOO_LONG: f64 = 10e3;
/// Duration of the warning, in milliseconds, before a world is shown that may freeze the browser.
const WARNING_MS: f64 = 5e3;
/// Milliseconds between updates.
const READOUT_EVERY: f64 = 250.0;
/// Milliseconds, enough to read the stage times.
const STAGES_EVERY: f64 = 1500.0;
const FEWEST_BOXES: u32 = 1000;
/// Worlds from this size may be too slow in software, or exceed the device's memory.
const MANY_BOXES: u32 = 200_000;
/// Most repetitions of a step until outputs fit.
const MOST_REPEATS: u32 = 6;

pub struct App {
    page: Page,
    wanted: Settings,
    gpu: Option<Rc<Gpu>>,
    demo: Option<Demo>,
    /// True while an asynchronous task uses the world or a part of it.
    is_busy: bool,
    has_failed: bool,
    /// True after the world's first step.
    has_answer: bool,
    /// Largest number of boxes that this device finished in good time.
    answered: Option<u32>,
    in_flight: u32,
    slow_notice_shown: bool,
    /// Number of boxes of a world abandoned in mid-step.
    abandoned_boxes: Option<u32>,
    offer: Offer,
    /// True if the notice reports a wait for the GPU. It closes when the wait ends.
    notice_is_of_wait: bool,
    /// Title, text and button of the notice before the wait.
    notice_behind: Option<(String, String, Offer)>,
    input: Input,
    size: UVec2,
    frames: u32,
    clock: Clock,
}

/// All times are in milliseconds.
#[derive(Default)]
struct Clock {
    asked: f64,
    /// Start of the current wait for the device. `took` is the last wait's duration.
    wait_start: f64,
    took: f64,
    frame: f64,
    readout: f64,
    stages: f64,
    frames: u32,
}

const IS_SOFTWARE: &str = "This browser's GPU is a fallback: software, on the CPU.";

#[derive(Clone, Copy, PartialEq)]
enum Offer {
    Nothing,
    Again(&'static str),
    Fewer(u32),
}

type Shared = Rc<RefCell<App>>;

pub fn start() {
    let Some(page) = Page::of_window() else { return };
    let (wanted, unknown) = Settings::from_query(&page.query());
    page.write(&wanted);
    let mut app = App {
        page,
        wanted,
        gpu: None,
        demo: None,
        is_busy: false,
        has_failed: false,
        has_answer: false,
        answered: None,
        in_flight: 0,
        slow_notice_shown: false,
        abandoned_boxes: None,
        offer: Offer::Nothing,
        notice_is_of_wait: false,
        notice_behind: None,
        input: Input::default(),
        size: UVec2::ONE,
        frames: 0,
        clock: Clock::default(),
    };
    if !unknown.is_empty() {
        let told: Vec<_> = unknown.iter().map(ToString::to_string).collect();
        let text = format!("{}.", told.join("; "));
        app.notice("Not all of this address", &text, Offer::Nothing);
    }
    let app = Rc::new(RefCell::new(app));
    listen::listen(&app);
    frames(&app);
    watch(&app);
    spawn_local(open(app));
}

async fn open(app: Shared) {
    let page = {
        let mut app = app.borrow_mut();
        if app.is_busy {
            return;
        }
        (app.is_busy, app.has_failed) = (true, false);
        (app.gpu, app.demo, app.answered) = (None, None, None);
        if app.abandoned_boxes.is_none() {
            app.clock.asked = app.page.now();
        }
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
            {
                let mut app = app.borrow_mut();
                app.gpu = Some(gpu);
                app.size = UVec2::ONE;
                app.is_busy = false;
                app.abandoned_boxes = None;
                app.end_wait();
            }
            build(app).await;
        }
        Err(failure) => {
            let mut app = app.borrow_mut();
            app.is_busy = false;
            app.abandoned_boxes = None;
            app.fail(&failure);
        }
    }
}

/// Builds the wanted world, or one that fits.
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
            (app.has_answer, app.slow_notice_shown) = (false, false);
            (app.in_flight, app.clock.took) = (gpu.frames_in_flight(), 0.0);
            app.fit(&gpu);
            let boxes = grouped(app.wanted.boxes.into());
            app.page.state(State::Starting, &format!("making {boxes} boxes…"));
            (gpu, app.wanted, app.size.as_vec2())
        };
        if !heads_up(&app, &gpu, settings).await {
            let mut app = app.borrow_mut();
            app.is_busy = false;
            if !app.has_device(&gpu) {
                return;
            }
            app.end_wait();
            continue;
        }
        let made = Demo::new(&gpu, settings, size).await;
        let mut app = app.borrow_mut();
        app.is_busy = false;
        if !app.has_device(&gpu) {
            return;
        }
        match made {
            Ok(demo) => {
                app.demo = Some(demo);
                app.clock.stages = app.page.now();
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

/// Warns before a large world in software, which cannot be cancelled. Returns `false` if settings changed meanwhile.
async fn heads_up(app: &Shared, gpu: &Rc<Gpu>, settings: Settings) -> bool {
    let page = {
        let mut app = app.borrow_mut();
        let is_known = app.answered.is_some_and(|answered| answered >= settings.boxes);
        if !gpu.is_software || settings.boxes < MANY_BOXES || is_known {
            return true;
        }
        let begin = WARNING_MS / 1e3;
        let text = format!(
            "{IS_SOFTWARE} The first step begins in {begin:.0} seconds, and the page may stand still until it is over."
        );
        app.tell_long(settings.boxes, &text);
        app.page.clone()
    };
    let end = page.now() + WARNING_MS;
    while page.now() < end {
        sleep(&page, 100).await;
        let app = app.borrow();
        if !app.has_device(gpu) || app.wanted.needs_other_world(&settings) {
            return false;
        }
    }
    true
}

async fn reopen(app: Shared) {
    let page = {
        let mut app = app.borrow_mut();
        app.clock.asked = app.page.now();
        app.demo = None;
        if let Some(gpu) = app.gpu.take() {
            gpu.device.destroy();
        }
        app.page.clone()
    };
    while app.borrow().is_busy {
        sleep(&page, 20).await;
    }
    open(app).await;
}

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

/// Asks the browser, because wgpu reports only the description.
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
            self.page.text("verdict", "");
        }
    }

    fn fail(&mut self, failure: &Failure) {
        self.has_failed = true;
        self.demo = None;
        let told = failure.to_string();
        console(&told);
        self.page.state(State::Failed, &told);
        self.notice("This demo cannot run here", &told, Offer::Again("Try again"));
    }

    fn notice(&mut self, title: &str, text: &str, offer: Offer) {
        self.notice_behind = Some((title.to_owned(), text.to_owned(), offer));
        self.show_notice(title, text, offer);
        self.notice_is_of_wait = false;
    }

    /// After the wait, the previous notice returns.
    fn notice_of_wait(&mut self, title: &str, text: &str, offer: Offer) {
        self.show_notice(title, text, offer);
        self.notice_is_of_wait = true;
    }

    fn close_notice(&mut self) {
        (self.notice_is_of_wait, self.notice_behind) = (false, None);
        self.page.show("notice", false);
    }

    fn show_notice(&mut self, title: &str, text: &str, offer: Offer) {
        self.offer = offer;
        let label = match offer {
            Offer::Nothing => None,
            Offer::Again(label) => Some(label.to_owned()),
            Offer::Fewer(boxes) => Some(format!("Back to {} boxes", grouped(boxes.into()))),
        };
        self.page.notice(title, text, label.as_deref());
    }

    fn has_device(&self, gpu: &Rc<Gpu>) -> bool {
        self.gpu.as_ref().is_some_and(|current| Rc::ptr_eq(current, gpu))
    }

    fn fewer(&self) -> Option<u32> {
        let asked = self.wanted.boxes;
        let answered = self.answered.filter(|&answered| answered < asked);
        let fewer = answered.unwrap_or((asked / 2).min(Settings::default().boxes));
        (fewer >= FEWEST_BOXES).then_some(fewer)
    }

    fn want(&mut self, boxes: u32) {
        self.wanted.boxes = boxes;
        self.page.write(&self.wanted);
        self.page.set_query(&self.wanted);
    }

    fn take_answer(&mut self, gpu: &Gpu, now: f64) {
        let in_flight = gpu.frames_in_flight();
        if in_flight < self.in_flight {
            self.clock.took = now - self.clock.wait_start;
            self.clock.wait_start = now;
            self.end_wait();
        }
        self.in_flight = in_flight;
        let Some(demo) = &mut self.demo else { return };
        if !self.has_answer && demo.finder.counters().is_some() {
            self.has_answer = true;
            if self.clock.took < TOO_LONG {
                self.answered = Some(demo.settings.boxes.max(self.answered.unwrap_or(0)));
            }
            self.say_running();
        }
    }

    fn end_wait(&mut self) {
        if self.notice_is_of_wait {
            match self.notice_behind.take() {
                Some((title, text, offer)) => self.notice(&title, &text, offer),
                None => self.close_notice(),
            }
        }
        self.say_running();
    }

    fn say_running(&self) {
        if self.has_answer && self.demo.is_some() && !self.is_busy {
            self.page.state(State::Running, running(self.wanted.paused));
        }
    }

    fn watch(&mut self) {
        let now = self.page.now();
        let Some(gpu) = self.gpu.clone() else {
            let waited = now - self.clock.asked;
            if self.is_busy && waited >= LONG {
                self.page
                    .state(State::Starting, &counted("waiting for the GPU…", waited));
                self.tell_given_up();
            }
            return;
        };
        self.take_answer(&gpu, now);
        let waited = now - self.clock.wait_start;
        if self.is_busy || self.demo.is_none() || self.in_flight == 0 || waited < LONG {
            return;
        }
        let (state, what) = match self.has_answer {
            true => (State::Running, "the next frame…"),
            false => (State::Starting, "the first frame…"),
        };
        self.page.state(state, &counted(what, waited));
        if waited >= TOO_LONG && !self.slow_notice_shown {
            self.slow_notice_shown = true;
            self.tell_slow(&gpu);
        }
    }

    fn tell_long(&mut self, boxes: u32, text: &str) {
        let offer = self.fewer().map_or(Offer::Nothing, Offer::Fewer);
        let title = format!("{} boxes take this GPU long", grouped(boxes.into()));
        self.notice_of_wait(&title, text, offer);
    }

    fn tell_slow(&mut self, gpu: &Gpu) {
        let Some(demo) = &self.demo else { return };
        let boxes = demo.settings.boxes;
        let which = if self.has_answer { "a" } else { "the first" };
        let mut text = format!("Ten seconds have passed without an answer to {which} step.");
        if gpu.is_software {
            text += " ";
            text += IS_SOFTWARE;
        }
        if let Some(memory) = demo.finder.memory() {
            text += &format!(" The step has {} of memory.", bytes(memory));
        }
        self.tell_long(boxes, &text);
    }

    /// Reports that the browser provides no device until the abandoned step ends.
    fn tell_given_up(&mut self) {
        let Some(boxes) = self.abandoned_boxes.filter(|_| !self.notice_is_of_wait) else {
            return;
        };
        let boxes = grouped(boxes.into());
        let text = format!(
            "It cannot be stopped within the step that it was given for {boxes} boxes, and the browser has no other \
             device for this page before that is over."
        );
        self.notice_of_wait("The GPU is still busy", &text, Offer::Nothing);
    }

    /// Continues with fewer boxes. Returns `false` if that is impossible.
    fn fall_back(&mut self, failure: &Failure) -> bool {
        let asked = self.wanted.boxes;
        let Some(fewer) = self.fewer() else {
            self.fail(failure);
            return false;
        };
        self.demo = None;
        self.want(fewer);
        let title = format!("{} boxes do not fit", grouped(asked.into()));
        let text = format!("{failure} Back to {}.", grouped(fewer.into()));
        console(&text);
        self.notice(&title, &text, Offer::Nothing);
        true
    }

    fn lose(&mut self, reason: &str) {
        (self.gpu, self.demo) = (None, None);
        let told = format!("The device is lost: {reason}");
        let reason_with_hint = format!("{reason} What is set stays as it is.");
        console(&told);
        self.page.state(State::Lost, &told);
        self.notice(
            "The device is lost",
            &reason_with_hint,
            Offer::Again("Get a new device"),
        );
    }

    /// Returns the next action if the device is lost.
    fn poll_failures(&mut self, gpu: &Gpu) -> Option<Next> {
        let events = gpu.take_events();
        if !events.errors.is_empty() {
            let errors = events.errors.join(" ");
            console(&errors);
            self.notice("The device complains", &errors, Offer::Nothing);
        }
        match events.lost {
            Some(reason) => {
                // The device may be out of memory, so retry with fewer boxes.
                let is_first = self.answered.is_none_or(|answered| answered < self.wanted.boxes);
                if is_first && self.wanted.boxes >= MANY_BOXES {
                    let reason = Failure::NoRoom(format!("the device is lost ({reason})."));
                    if self.fall_back(&reason) {
                        (self.gpu, self.demo) = (None, None);
                        return Some(Next::Open);
                    }
                }
                self.lose(&reason);
                Some(Next::Frame)
            }
            None => None,
        }
    }

    fn frame(&mut self, now: f64) -> Next {
        let Some(gpu) = self.gpu.clone().filter(|_| !self.has_failed) else {
            return Next::Frame;
        };
        if let Some(next) = self.poll_failures(&gpu) {
            return next;
        }
        self.take_answer(&gpu, self.page.now());
        // Keeps the input for the next frame.
        if self.is_busy || self.demo.is_none() {
            return Next::Frame;
        }
        let is_slow = !self.has_answer || self.clock.took >= SLOW_FRAME;
        let most = if is_slow {
            SLOW_FRAMES_IN_FLIGHT
        } else {
            FRAMES_IN_FLIGHT
        };
        let rests = self.clock.took >= SLOW_FRAME && self.page.now() - self.clock.wait_start < REST;
        if self.in_flight >= most || rests {
            return Next::Frame;
        }
        self.fit(&gpu);
        let Some(demo) = &mut self.demo else { return Next::Frame };
        if self.wanted.needs_other_world(&demo.settings) {
            return Next::Build;
        }
        if self.wanted != demo.settings {
            self.page.text("verdict", "");
            if let Err(failure) = demo.change(&gpu, self.wanted) {
                self.fail(&failure);
                return Next::Frame;
            }
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
        if self.in_flight == 0 {
            self.clock.wait_start = self.page.now();
        }
        self.in_flight = gpu.frames_in_flight();
        self.frames += 1;
        self.clock.frames += 1;
        self.read_out(&gpu, now);
        Next::Frame
    }

    fn read_out(&mut self, gpu: &Gpu, now: f64) {
        let Some(demo) = &mut self.demo else { return };
        let counters = demo.finder.counters();
        if now - self.clock.readout < READOUT_EVERY {
            return;
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
        } else if now - self.clock.stages >= STAGES_EVERY {
            self.clock.stages = now;
            let times = demo.finder.timings();
            if !times.is_empty() {
                page.stages(&times);
            }
        }
    }
}

enum Next {
    Frame,
    Build,
    Open,
}

/// The callback holds itself to request the next frame.
type OnFrame = Rc<RefCell<Option<Closure<dyn FnMut(f64)>>>>;

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
            Next::Open => spawn_local(reopen(Rc::clone(&app))),
        }
        request(&window, &again);
    }));
    request(&first, &on_frame);
}

/// Runs on a timer, because a browser with a busy GPU shows no frames.
fn watch(app: &Shared) {
    let window = app.borrow().page.window.clone();
    let app = Rc::clone(app);
    let look = Closure::<dyn FnMut()>::new(move || app.borrow_mut().watch());
    // Without a timer, only reports of waits are missing.
    let _ = window
        .set_interval_with_callback_and_timeout_and_arguments_0(look.into_js_value().unchecked_ref(), WATCH_EVERY);
}

fn request(window: &web_sys::Window, on_frame: &OnFrame) {
    if let Some(closure) = &*on_frame.borrow() {
        // Fails only if the page is gone.
        let _ = window.request_animation_frame(closure.as_ref().unchecked_ref());
    }
}

async fn check(app: Shared) {
    let (gpu, page, settings) = {
        let mut app = app.borrow_mut();
        let app = &mut *app;
        let (Some(gpu), Some(demo)) = (app.gpu.clone().filter(|_| !app.is_busy), &mut app.demo) else {
            return;
        };
        if demo.finder.counters().is_none() {
            app.page.text("verdict", "The first step is still under way.");
            return;
        }
        app.is_busy = true;
        (app.wanted.paused, demo.settings.paused) = (true, true);
        app.page.write(&app.wanted);
        app.page.state(State::Verifying, "verifying…");
        app.page.text("verdict", "verifying…");
        (gpu, app.page.clone(), demo.settings)
    };
    let frame = copy_frame(&app, &gpu).await;
    let verdict = match frame {
        Err(failure) => Err(failure),
        Ok(frame) => {
            // Lets the page update before the CPU is busy.
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
        Ok((verdict, time)) => {
            if let Verdict::Same { pairs, hits, .. } = verdict {
                page.text("pairs", &grouped(pairs as u64));
                if settings.ray {
                    page.text("hits", &grouped(hits as u64));
                }
            }
            told(settings.boxes, &verdict, time)
        }
        Err(failure) => ("bad", format!("✗ {failure}")),
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

async fn copy_frame(app: &Shared, gpu: &Gpu) -> Result<Frame, Failure> {
    let lost = || Failure::ReadBack(gpu_broad_phase::ReadBackError::DeviceLost);
    for _ in 0..MOST_REPEATS {
        // Takes only the broad phase: frames and controls use the rest.
        let taken = app
            .borrow_mut()
            .demo
            .as_mut()
            .and_then(|demo| demo.finder.broad_phase.take());
        let mut broad_phase = taken.ok_or_else(lost)?;
        let read = broad_phase.read_back().await;
        let (boxes, count, ray) = {
            let mut app = app.borrow_mut();
            let demo = app.demo.as_mut().ok_or_else(lost)?;
            demo.finder.broad_phase = Some(broad_phase);
            (demo.swarm.boxes.clone(), demo.swarm.count, demo.ray)
        };
        let result = read?;
        if result.counters.is_complete() {
            let boxes = gpu.read(&boxes, count).await?;
            return Ok(Frame { boxes, ray, result });
        }
        app.borrow_mut().demo.as_mut().ok_or_else(lost)?.find_again(gpu)?;
    }
    Err(Failure::NeverWhole)
}

async fn sleep(page: &Page, milliseconds: i32) {
    let promise = js_sys::Promise::new(&mut |done, _| {
        // Without a timer, resolves at once.
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

fn counted(what: &str, waited: f64) -> String {
    format!("{what} {:.0} s", (waited / 1e3).floor())
}

fn running(is_paused: bool) -> &'static str {
    if is_paused { "paused" } else { "running" }
}

fn console(text: &str) {
    web_sys::console::error_1(&text.into());
}
