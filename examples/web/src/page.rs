use gpu_broad_phase::StageTime;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Document, Element, HtmlCanvasElement, HtmlElement, HtmlInputElement, HtmlSelectElement, Window};

use crate::demo::Covered;
use crate::settings::{self, Named, Settings};

const SLIDER_STEPS: f64 = 1000.0;
/// Number of stages with their own bar.
const MOST_BARS: usize = 7;

#[derive(Clone)]
pub struct Page {
    pub window: Window,
    pub document: Document,
    pub canvas: HtmlCanvasElement,
}

/// Stored in `data-state` of the root element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Starting,
    Running,
    Verifying,
    Failed,
    Lost,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Verifying => "verifying",
            Self::Failed => "failed",
            Self::Lost => "lost",
        }
    }
}

fn element<T: JsCast>(document: &Document, id: &str) -> T {
    let found = document
        .get_element_by_id(id)
        .and_then(|element| element.dyn_into().ok());
    found.unwrap_or_else(|| panic!("index.html lacks #{id}"))
}

impl Page {
    /// `None` outside a page.
    pub fn of_window() -> Option<Self> {
        let window = web_sys::window()?;
        let document = window.document()?;
        let canvas = element(&document, "canvas");
        Some(Self {
            window,
            document,
            canvas,
        })
    }

    fn input(&self, id: &str) -> HtmlInputElement {
        element(&self.document, id)
    }

    pub fn on<E: JsCast + 'static>(&self, id: &str, event: &str, mut then: impl FnMut(E) + 'static) {
        let target: Element = element(&self.document, id);
        let closure =
            Closure::<dyn FnMut(web_sys::Event)>::new(move |event: web_sys::Event| then(event.unchecked_into()));
        // Listeners live as long as the page.
        let _ = target.add_event_listener_with_callback(event, closure.into_js_value().unchecked_ref());
    }

    pub fn text(&self, id: &str, text: &str) {
        let element: Element = element(&self.document, id);
        if element.text_content().as_deref() != Some(text) {
            element.set_text_content(Some(text));
        }
    }

    pub fn show(&self, id: &str, is_shown: bool) {
        element::<HtmlElement>(&self.document, id).set_hidden(!is_shown);
    }

    pub fn state(&self, state: State, status: &str) {
        if let Some(root) = self
            .document
            .document_element()
            .and_then(|root| root.dyn_into::<HtmlElement>().ok())
        {
            let _ = root.dataset().set("state", state.name());
        }
        self.text("status", status);
    }

    /// The notice stays until dismissed or replaced.
    pub fn notice(&self, title: &str, text: &str, restart: Option<&str>) {
        self.text("notice-title", title);
        self.text("notice-text", text);
        self.text("restart", restart.unwrap_or_default());
        self.show("restart", restart.is_some());
        self.show("notice", true);
    }

    pub fn query(&self) -> String {
        self.window.location().search().unwrap_or_default()
    }

    pub fn set_query(&self, settings: &Settings) {
        let query = settings.to_query();
        let path = self.window.location().pathname().unwrap_or_default();
        let Ok(history) = self.window.history() else { return };
        // Browsers refuse frequent changes.
        let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(&format!("{path}{query}")));
    }

    /// Reads no slider but `changed`, because settings from an address may exceed the others.
    pub fn read(&self, settings: Settings, changed: &str) -> Settings {
        let number = |id: &str| self.input(id).value_as_number();
        let of_slider = |id: &str, value: f32| if changed == id { number(id) as f32 } else { value };
        let level: HtmlSelectElement = element(&self.document, "level");
        Settings {
            dimensions: self.chosen("dimensions").unwrap_or(settings.dimensions),
            scheme: self.chosen("scheme").unwrap_or(settings.scheme),
            sizes: self.chosen("sizes").unwrap_or(settings.sizes),
            cell: of_slider("cell", settings.cell),
            boxes: if changed == "count" {
                settings::slider_boxes(number("count") / SLIDER_STEPS)
            } else {
                settings.boxes
            },
            size: of_slider("size", settings.size),
            speed: of_slider("speed", settings.speed),
            paused: self.input("paused").checked(),
            cells: self.input("cells").checked(),
            level: level.value().parse().ok(),
            colors: self.input("colors").checked(),
            ray: self.input("ray").checked(),
            ..settings
        }
    }

    pub fn write(&self, settings: &Settings) {
        self.choose("dimensions", settings.dimensions);
        self.choose("scheme", settings.scheme);
        self.choose("sizes", settings.sizes);
        let number = |id: &str, value: f64| self.input(id).set_value_as_number(value);
        number("count", (settings::slider_place(settings.boxes) * SLIDER_STEPS).round());
        // Text keeps decimals such as 0.1 exact.
        let of_f32 = |value: f32| value.to_string().parse().unwrap_or(f64::from(value));
        number("cell", of_f32(settings.cell));
        number("size", of_f32(settings.size));
        number("speed", of_f32(settings.speed));
        for (id, is_on) in [
            ("paused", settings.paused),
            ("cells", settings.cells),
            ("colors", settings.colors),
            ("ray", settings.ray),
        ] {
            self.input(id).set_checked(is_on);
        }
        if let Some(level) = settings.level {
            self.levels(level + 1);
        }
        let level: HtmlSelectElement = element(&self.document, "level");
        level.set_value(&settings.level.map_or("all".to_owned(), |level| level.to_string()));
        self.label(settings);
    }

    pub fn label(&self, settings: &Settings) {
        let cell = settings.cell * settings.size;
        self.text("count-value", &grouped(settings.boxes.into()));
        self.text("cell-value", &format!("{cell:.2}"));
        self.text("size-value", &format!("{:.2}", settings.size));
        self.text("speed-value", &format!("{:.2}×", settings.speed));
        self.show("cell-row", settings.scheme != settings::SchemeKind::Hierarchical);
        self.show("level-row", settings.cells);
        self.show("legend", settings.colors);
    }

    pub fn levels(&self, count: u32) {
        let select: HtmlSelectElement = element(&self.document, "level");
        for level in select.length().saturating_sub(1)..count {
            let Ok(option) = web_sys::HtmlOptionElement::new() else {
                return;
            };
            option.set_value(&level.to_string());
            let name = match level {
                0 => "level 0, the finest".to_owned(),
                level => format!("level {level}"),
            };
            option.set_text(&name);
            let _ = select.add_with_html_option_element(&option);
        }
    }

    fn chosen<T: Named>(&self, name: &str) -> Option<T> {
        let selector = format!("input[name={name}]:checked");
        let input: HtmlInputElement = self.document.query_selector(&selector).ok()??.dyn_into().ok()?;
        T::of(&input.value())
    }

    fn choose<T: Named>(&self, name: &str, value: T) {
        let selector = format!("input[name={name}][value='{}']", value.name());
        if let Ok(Some(input)) = self.document.query_selector(&selector) {
            input.unchecked_into::<HtmlInputElement>().set_checked(true);
        }
    }

    /// Shows the longest stages. The rest is one bar.
    pub fn stages(&self, times: &[StageTime]) {
        let mut sums: Vec<(&str, f64)> = Vec::new();
        for time in times {
            match sums.iter_mut().find(|(stage, _)| *stage == time.stage) {
                Some((_, sum)) => *sum += time.nanoseconds,
                None => sums.push((time.stage, time.nanoseconds)),
            }
        }
        let total: f64 = sums.iter().map(|(_, sum)| sum).sum();
        let mut by_length: Vec<_> = sums.iter().map(|&(_, sum)| sum).collect();
        by_length.sort_by(|a, b| b.total_cmp(a));
        let least = by_length.get(MOST_BARS).copied().unwrap_or(-1.0);
        let (mut shown, hidden): (Vec<_>, Vec<_>) = sums.into_iter().partition(|&(_, sum)| sum > least);
        if !hidden.is_empty() {
            shown.push(("the rest", hidden.iter().map(|(_, sum)| sum).sum()));
        }
        let longest = shown.iter().map(|&(_, sum)| sum).fold(f64::MIN_POSITIVE, f64::max);
        let list: Element = element(&self.document, "stages");
        list.set_text_content(None);
        for (stage, sum) in shown {
            let Some(row) = self.bar(&stage.replace('_', " "), sum / longest, &milliseconds(sum * 1e-6)) else {
                return;
            };
            let _ = list.append_child(&row);
        }
        self.text("step-time", &format!("{} on the GPU", milliseconds(total * 1e-6)));
    }

    fn bar(&self, name: &str, share: f64, time: &str) -> Option<Element> {
        let row = self.document.create_element("li").ok()?;
        for (class, text) in [("name", name), ("track", ""), ("time", time)] {
            let part = self.document.create_element("span").ok()?;
            part.set_class_name(class);
            part.set_text_content(Some(text));
            row.append_child(&part).ok()?;
            if class == "track" {
                let bar: HtmlElement = self.document.create_element("i").ok()?.dyn_into().ok()?;
                bar.style()
                    .set_property("width", &format!("{:.1}%", 100.0 * share))
                    .ok()?;
                part.append_child(&bar).ok()?;
            }
        }
        Some(row)
    }

    /// Device pixels per CSS pixel. More than 2 are not visible.
    pub fn scale(&self) -> f64 {
        self.window.device_pixel_ratio().clamp(1.0, 2.0)
    }

    pub fn covered(&self) -> Covered {
        let panel: Element = element(&self.document, "panel");
        let (rect, scale) = (panel.get_bounding_client_rect(), self.scale() as f32);
        let (width, height) = (self.canvas.client_width() as f32, self.canvas.client_height() as f32);
        let (left, top) = (rect.left() as f32, rect.top() as f32);
        // A narrow panel is beside the scene, a wide one below it.
        if (rect.width() as f32) < 0.6 * width {
            Covered {
                right: (width - left).max(0.0) * scale,
                bottom: 0.0,
            }
        } else {
            Covered {
                right: 0.0,
                bottom: (height - top).max(0.0) * scale,
            }
        }
    }

    /// Monotonic milliseconds.
    pub fn now(&self) -> f64 {
        self.window.performance().map_or(0.0, |performance| performance.now())
    }
}

/// Reports an error after which only a reload helps.
pub fn say_broken(why: &str) {
    if let Some(page) = Page::of_window() {
        page.state(State::Failed, why);
        page.notice(
            "This page has a fault",
            &format!("{why} Reloading it starts anew."),
            None,
        );
    }
}

pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(String::from_utf8_lossy)
        .collect();
    groups.join(",")
}

pub fn milliseconds(time: f64) -> String {
    match time {
        time if time < 10.0 => format!("{time:.2} ms"),
        time if time < 100.0 => format!("{time:.1} ms"),
        time => format!("{time:.0} ms"),
    }
}

pub fn bytes(bytes: u64) -> String {
    match bytes as f64 / f64::from(1 << 20) {
        mebibytes if mebibytes < 10.0 => format!("{mebibytes:.1} MiB"),
        mebibytes => format!("{mebibytes:.0} MiB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_easily() {
        assert_eq!(
            [0, 999, 1_000, 23_118, 4_000_000].map(grouped),
            ["0", "999", "1,000", "23,118", "4,000,000"]
        );
        assert_eq!(
            [0.123, 12.34, 123.4].map(milliseconds),
            ["0.12 ms", "12.3 ms", "123 ms"]
        );
        assert_eq!([1 << 19, 128 << 20].map(bytes), ["0.5 MiB", "128 MiB"]);
    }
}
