use glam::Vec2;

/// Largest motion of a click in pixels.
const CLICK_REACH: f32 = 6.0;

/// All positions are canvas pixels.
#[derive(Clone, Debug)]
pub struct Input {
    pub pointer: Option<Vec2>,
    pub drag: Vec2,
    /// Factor; above 1 zooms in.
    pub zoom: f32,
    pub clicked: Option<Vec2>,
    pub last_size: Option<Vec2>,
    pressed: Vec<Pressed>,
    /// Pixels moved since the press.
    way: f32,
}

#[derive(Clone, Copy, Debug)]
struct Pressed {
    id: i32,
    at: Vec2,
}

impl Default for Input {
    fn default() -> Self {
        Self {
            pointer: None,
            drag: Vec2::ZERO,
            zoom: 1.0,
            clicked: None,
            last_size: None,
            pressed: Vec::new(),
            way: 0.0,
        }
    }
}

impl Input {
    pub fn press(&mut self, id: i32, at: Vec2) {
        self.pressed.push(Pressed { id, at });
        self.pointer = Some(at);
        self.way = if self.pressed.len() == 1 { 0.0 } else { f32::INFINITY };
    }

    /// One pressed pointer drags only if `drags`; two drag and zoom.
    pub fn move_to(&mut self, id: i32, at: Vec2, drags: bool) {
        let count = self.pressed.len();
        let other = self
            .pressed
            .iter()
            .find(|pressed| pressed.id != id)
            .map(|other| other.at);
        if let Some(pressed) = self.pressed.iter_mut().find(|pressed| pressed.id == id) {
            let before = std::mem::replace(&mut pressed.at, at);
            self.way += before.distance(at);
            match other {
                Some(other) if count == 2 => {
                    self.drag += 0.5 * (at - before);
                    self.zoom *= (at.distance(other).max(1.0) / before.distance(other).max(1.0)).clamp(0.2, 5.0);
                    self.pointer = Some(0.5 * (at + other));
                    return;
                }
                _ if drags && self.way > CLICK_REACH => self.drag += at - before,
                _ => {}
            }
        }
        self.pointer = Some(at);
    }

    pub fn release(&mut self, id: i32, stays: bool) {
        if let Some(place) = self.pressed.iter().position(|pressed| pressed.id == id) {
            let released = self.pressed.remove(place);
            if self.pressed.is_empty() && self.way <= CLICK_REACH {
                self.clicked = Some(released.at);
            }
        }
        if !stays && self.pressed.is_empty() {
            self.pointer = None;
        }
    }

    pub fn leave(&mut self) {
        if self.pressed.is_empty() {
            self.pointer = None;
        }
    }

    /// Resets the input, except pressed pointers.
    pub fn take(&mut self, size: Vec2) -> Self {
        let taken = self.clone();
        self.drag = Vec2::ZERO;
        self.zoom = 1.0;
        self.clicked = None;
        self.last_size = Some(size);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clicks_drags_and_pinches_are_told_apart() {
        let at = |x| Vec2::new(x, 0.0);
        let mut input = Input::default();
        input.press(1, at(10.0));
        input.move_to(1, at(12.0), true);
        input.release(1, true);
        let taken = input.take(at(1.0));
        assert_eq!((taken.clicked, taken.drag), (Some(at(12.0)), Vec2::ZERO));
        assert_eq!(input.take(at(1.0)).clicked, None);

        input.press(1, at(10.0));
        input.move_to(1, at(30.0), true);
        input.release(1, true);
        let taken = input.take(at(1.0));
        assert_eq!((taken.clicked, taken.drag), (None, at(20.0)));

        input.press(1, at(0.0));
        input.press(2, at(100.0));
        input.move_to(2, at(200.0), true);
        input.release(2, false);
        input.release(1, false);
        let taken = input.take(at(1.0));
        assert_eq!((taken.zoom, taken.drag, taken.clicked), (2.0, at(50.0), None));
        assert_eq!(taken.pointer, None);
    }
}
