use std::rc::Rc;

use glam::Vec2;
use gpu_broad_phase::Dimensions;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Event, PointerEvent, WheelEvent};

use super::{App, Offer, Shared, check, reopen};

pub(super) fn listen(app: &Shared) {
    let page = app.borrow().page.clone();
    let of = Rc::clone(app);
    page.on("controls", "input", move |event: Event| {
        let mut app = of.borrow_mut();
        let id = event
            .target()
            .and_then(|target| target.dyn_into::<web_sys::Element>().ok());
        let changed = id.map_or_else(String::new, |element| element.id());
        app.wanted = app.page.read(app.wanted, &changed);
        app.page.label(&app.wanted);
        app.say_running();
    });
    let of = Rc::clone(app);
    // `change` comes once per drag: browsers limit changes of the address.
    page.on("controls", "change", move |_: Event| {
        let app = of.borrow();
        app.page.set_query(&app.wanted);
    });
    let of = Rc::clone(app);
    page.on("verify", "click", move |_: Event| spawn_local(check(Rc::clone(&of))));
    let of = Rc::clone(app);
    page.on("restart", "click", move |_: Event| {
        let mut app = of.borrow_mut();
        app.close_notice();
        if let Offer::Fewer(boxes) = app.offer {
            app.abandoned_boxes = app.demo.as_ref().map(|demo| demo.settings.boxes);
            app.want(boxes);
        }
        spawn_local(reopen(Rc::clone(&of)));
    });
    let of = Rc::clone(app);
    page.on("dismiss", "click", move |_: Event| of.borrow_mut().close_notice());

    let place = |app: &App, event: &PointerEvent| {
        Vec2::new(event.offset_x() as f32, event.offset_y() as f32) * app.page.scale() as f32
    };
    let of = Rc::clone(app);
    page.on("canvas", "pointerdown", move |event: PointerEvent| {
        let mut app = of.borrow_mut();
        let at = place(&app, &event);
        // Without capture, a drag ends at the edge of the canvas.
        let _ = app.page.canvas.set_pointer_capture(event.pointer_id());
        app.input.press(event.pointer_id(), at);
    });
    let of = Rc::clone(app);
    page.on("canvas", "pointermove", move |event: PointerEvent| {
        let mut app = of.borrow_mut();
        let at = place(&app, &event);
        // In 2D, a finger points instead of dragging.
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
        // Pixels per wheel unit: pixel, line or page.
        let unit = [1.0, 30.0, 300.0][(event.delta_mode() as usize).min(2)];
        of.borrow_mut().input.zoom *= (-0.0016 * unit * event.delta_y() as f32).exp().clamp(0.2, 5.0);
    });
}
