use super::Random;

/// Mean number of overlaps per box, which determines the size of the world.
const OVERLAPS: f64 = 6.0;

/// Two edges of [`uniform`] add up to 2 on average, so `reach` is 2 per axis.
pub fn uniform_side(count: u32, axes: usize) -> f64 {
    side(count, axes, 2_f64.powi(axes as i32))
}

/// Side length for [`OVERLAPS`] overlaps per box. `reach` is the expected product, over the axes, of the sum of two
/// boxes' edges.
fn side(count: u32, axes: usize, reach: f64) -> f64 {
    let volume = f64::from(count) * reach / OVERLAPS;
    if axes == 2 { volume.sqrt() } else { volume.cbrt() }
}

/// Centres are uniform in a cube, edges uniform in 0.5 to 1.5.
pub fn uniform(count: u32, axes: usize, random: &mut Random) -> Vec<f32> {
    let side = uniform_side(count, axes);
    rows(count, axes, |centre, edges| {
        for axis in 0..axes {
            centre[axis] = random.between(0.0, side);
            edges[axis] = random.between(0.5, 1.5);
        }
    })
}

/// Upper bound of u in [`power_law`].
const CUT: f64 = 1.0 - 1.0 / 65536.0;

pub fn power_law_side(count: u32, axes: usize) -> f64 {
    // The first three moments of the edges.
    let first = 2.0 * (1.0 - 1.0 / 256.0) / CUT;
    let second = 2.0 * 8.0 * std::f64::consts::LN_2 / CUT;
    let third = 2.0 * (256.0 - 1.0) / CUT;
    let reach = match axes {
        2 => 2.0 * (second + first * first),
        _ => 2.0 * (third + 3.0 * second * first),
    };
    side(count, axes, reach)
}

/// Cubes of edge 1/√(1 − u), with u uniform below 1 − 2^-16: edges are 1 to 256, with a density proportional to
/// edge^-3.
pub fn power_law(count: u32, axes: usize, random: &mut Random) -> Vec<f32> {
    let side = power_law_side(count, axes);
    rows(count, axes, |centre, edges| {
        for value in centre.iter_mut().take(axes) {
            *value = random.between(0.0, side);
        }
        *edges = [1.0 / (1.0 - random.between(0.0, CUT)).sqrt(); 3];
    })
}

/// Boxes of [`uniform`]'s sizes in about √count clusters.
pub fn clustered(count: u32, axes: usize, random: &mut Random) -> Vec<f32> {
    let side = 2.0 * uniform_side(count, axes);
    let clusters = f64::from(count).sqrt() as u32 + 1;
    let centres: Vec<_> = (0..clusters)
        .map(|_| [(); 3].map(|()| random.between(0.0, side)))
        .collect();
    let spread = side / f64::from(clusters).cbrt() / 8.0;
    rows(count, axes, |centre, edges| {
        let cluster = centres[random.below(clusters) as usize];
        for axis in 0..axes {
            centre[axis] = cluster[axis] + spread * random.bell();
            edges[axis] = random.between(0.5, 1.5);
        }
    })
}

/// Boxes of [`uniform`]'s sizes with centres on a plane (in 2D on a line), like crowds and traffic.
pub fn planar(count: u32, axes: usize, random: &mut Random) -> Vec<f32> {
    let side = match axes {
        2 => 2.0 * f64::from(count) / OVERLAPS,
        _ => uniform_side(count, axes - 1),
    };
    rows(count, axes, |centre, edges| {
        for axis in 0..axes {
            centre[axis] = if axis + 1 < axes {
                random.between(0.0, side)
            } else {
                0.0
            };
            edges[axis] = random.between(0.5, 1.5);
        }
    })
}

/// Rods that do not overlap, but share one cell of any size that holds them: along x, y and z by turns, in 2D parallel.
pub fn one_cell(count: u32, axes: usize, random: &mut Random) -> Vec<f32> {
    let directions = if axes == 2 { 1 } else { 3 };
    let of_direction = count.div_ceil(directions);
    let row = match axes {
        2 => of_direction,
        _ => f64::from(of_direction).sqrt().ceil() as u32,
    };
    // All lower corners share a cell even if cells are half a rod long, and four times shorter along x.
    let slot = 0.1 / f64::from(row.max(1));
    let mut index = 0;
    rows(count, axes, |centre, edges| {
        let (along, place) = ((index % directions) as usize, index / directions);
        index += 1;
        edges[along] = random.between(0.76, 0.98);
        centre[along] = 0.01 + 0.01 * random.unit() + 0.5 * edges[along];
        for (step, place) in [(1, f64::from(place % row)), (2, f64::from(place / row) + 0.5)] {
            let axis = (along + step) % 3;
            if axis < axes {
                edges[axis] = slot * random.between(0.1, 0.4);
                centre[axis] = 0.01 + slot * (place + 0.25);
            }
        }
    })
}

/// Unit boxes side by side around the origin. Each bound is moved by at most one ulp, so the last bit decides between
/// overlap, touch and miss.
pub fn lattice(count: u32, axes: usize, random: &mut Random) -> Vec<f32> {
    let mut edge = 1_u64;
    while edge.pow(axes as u32) < u64::from(count) {
        edge += 1;
    }
    let half = edge as i64 / 2;
    let mut values = Vec::with_capacity(count as usize * 2 * axes);
    for index in 0..u64::from(count) {
        for offset in 0..2 {
            for axis in 0..axes {
                let cell = index / edge.pow(axis as u32) % edge;
                values.push(nudge((cell as i64 - half + offset) as f32, random));
            }
        }
    }
    values
}

/// Some zeros become −0.
fn nudge(value: f32, random: &mut Random) -> f32 {
    match random.below(6) {
        0 => value.next_down(),
        1 => value.next_up(),
        2 if value == 0.0 => -value,
        _ => value,
    }
}

pub fn points(count: u32, axes: usize, side: f64, random: &mut Random) -> Vec<f32> {
    let values = count as usize * axes;
    (0..values).map(|_| random.between(0.0, side) as f32).collect()
}

/// Rays with origins uniform between two corners of the world, and uniform directions.
pub fn rays(count: u32, axes: usize, world: [[f64; 3]; 2], t_max: f32, random: &mut Random) -> Vec<f32> {
    let mut values = Vec::with_capacity(count as usize * (2 * axes + 1));
    for _ in 0..count {
        for (low, high) in std::iter::zip(world[0], world[1]).take(axes) {
            values.push(random.between(low, high) as f32);
        }
        let direction = random.direction(axes);
        values.extend(direction.iter().take(axes).map(|&value| value as f32));
        values.push(t_max);
    }
    values
}

pub(super) fn rows(count: u32, axes: usize, mut make: impl FnMut(&mut [f64; 3], &mut [f64; 3])) -> Vec<f32> {
    let mut values = Vec::with_capacity(count as usize * 2 * axes);
    for _ in 0..count {
        let (mut centre, mut edges) = ([0.0; 3], [0.0; 3]);
        make(&mut centre, &mut edges);
        for sign in [-0.5, 0.5] {
            values.extend((0..axes).map(|axis| (centre[axis] + sign * edges[axis]) as f32));
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_law_edges_span_one_to_256() {
        let values = power_law(20_000, 3, &mut Random::new(3));
        let edges: Vec<_> = values.chunks(6).map(|row| row[3] - row[0]).collect();
        assert!(edges.iter().all(|edge| (0.99..256.1).contains(edge)));
        assert!(edges.iter().any(|&edge| edge > 50.0));
        let small = edges.iter().filter(|&&edge| edge < 2.0).count();
        assert!(
            (14_500..15_500).contains(&small),
            "{small} of 20,000 below 2, three quarters expected"
        );
    }

    #[test]
    fn equal_seeds_make_equal_boxes() {
        let make = |seed| clustered(100, 2, &mut Random::new(seed));
        assert_eq!(make(7), make(7));
        assert_ne!(make(7), make(8));
    }
}
