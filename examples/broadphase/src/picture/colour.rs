//! The colour map Inferno of Matplotlib, in the polynomial form by Matt Zucker.

pub type Colour = [u8; 3];

pub const PAPER: Colour = [16, 17, 26];
pub const INK: Colour = [214, 214, 222];
pub const LINE: Colour = [82, 84, 104];

const INFERNO: [[f64; 3]; 7] = [
    [0.000_218_940_3, 0.001_651_004_6, -0.019_480_898_4],
    [0.106_513_419_5, 0.563_956_436_8, 3.932_712_388_9],
    [11.602_493_082_5, -3.972_853_965_7, -15.942_394_106_3],
    [-41.703_996_131_4, 17.436_398_882_1, 44.354_145_198_7],
    [77.162_935_699_4, -33.402_358_942_1, -81.807_309_257_4],
    [-71.319_428_245_0, 32.626_064_264_0, 73.209_519_858_0],
    [25.131_126_224_8, -12.242_668_952_4, -23.070_325_002_9],
];

/// Black through red to pale yellow for 0 to 1, in perceptually equal steps.
pub fn inferno(share: f64) -> Colour {
    let share = share.clamp(0.0, 1.0);
    std::array::from_fn(|channel| {
        let value = INFERNO.iter().rev().fold(0.0, |sum, term| sum * share + term[channel]);
        (value.clamp(0.0, 1.0) * 255.0).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_is_brighter() {
        let light = |step: u32| {
            let [red, green, blue] = inferno(f64::from(step) / 64.0).map(f64::from);
            0.21 * red + 0.72 * green + 0.07 * blue
        };
        assert!((1..=64).all(|step| light(step) > light(step - 1)));
    }
}
