//! Shortens walks if a driver ends their loops early.

/// Maximum level. Level 2 suffices on llvmpipe, even for nearest objects.
const MOST: u32 = 3;
const FIRST_PATIENCE: u32 = 32;
const MAX_PATIENCE: u32 = 1 << 16;

/// Level by which walks are shortened. It rises if a driver ends a loop early (a cut), and falls after `patience` uncut
/// steps in a row. Each cut doubles `patience`, so that a scene that needs short walks is seldom cut again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WalkShrink {
    level: u32,
    patience: u32,
    whole_steps: u32,
}

impl Default for WalkShrink {
    fn default() -> Self {
        Self {
            level: 0,
            patience: FIRST_PATIENCE,
            whole_steps: 0,
        }
    }
}

impl WalkShrink {
    pub const fn level(&self) -> u32 {
        self.level
    }

    /// Ignores steps recorded at another level.
    pub fn observe(&mut self, level: u32, was_cut: bool) {
        if level != self.level {
            return;
        }
        if was_cut {
            self.level = (self.level + 1).min(MOST);
            self.patience = (2 * self.patience).min(MAX_PATIENCE);
            self.whole_steps = 0;
        } else if self.level > 0 {
            self.whole_steps += 1;
            if self.whole_steps >= self.patience {
                self.level -= 1;
                self.whole_steps = 0;
            }
        }
    }

    pub const fn is_at_its_end(level: u32) -> bool {
        level >= MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_become_larger_again_and_less_often_each_time() {
        let mut walk_shrink = WalkShrink::default();
        let mut waits = Vec::new();
        for _ in 0..4 {
            walk_shrink.observe(0, true);
            assert_eq!(walk_shrink.level(), 1);
            walk_shrink.observe(0, true);
            assert_eq!(walk_shrink.level(), 1);
            let wait = (1..).find(|_| {
                walk_shrink.observe(1, false);
                walk_shrink.level() == 0
            });
            waits.push(wait.unwrap());
        }
        assert_eq!(waits, [64, 128, 256, 512]);
    }

    #[test]
    fn caution_ends() {
        let mut walk_shrink = WalkShrink::default();
        for _ in 0..10 {
            walk_shrink.observe(walk_shrink.level(), true);
        }
        assert!(WalkShrink::is_at_its_end(walk_shrink.level()));
        assert!(!WalkShrink::is_at_its_end(0));
    }
}
