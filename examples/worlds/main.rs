//! For robotics and learning: 4,096 robot arms in one step, each in a world of its own, over one table in all worlds.
//!
//! ```sh
//! cargo run --release --example worlds -- [--output DIR]
//! ```
//!
//! `--output` writes `DIR/worlds.png`.

use std::error::Error;
use std::f32::consts::TAU;
use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use gpu_broad_phase::{
    ALL_WORLDS, Aabb, Backend, BroadPhase, BroadPhaseDescriptor, OutputOptions, Pair, ResultOrder, Scene, Statics,
    StepResult, block_on, wgpu,
};

/// Arms per row of the picture, and rows.
const SIDE: usize = 64;
const WORLDS: usize = SIDE * SIDE;
const LINKS: usize = 7;
/// Boxes on the table of each world.
const BOXES: usize = 8;
const FRAMES: usize = 20;

const ARM: u16 = 1;
const BOX: u16 = 2;
const TABLE: u16 = 4;

type Point = [f32; 3];

fn main() -> Result<(), Box<dyn Error>> {
    let output = match &std::env::args().skip(1).collect::<Vec<_>>()[..] {
        [] => None,
        [flag, directory] if flag == "--output" => Some(directory.clone()),
        _ => return Err("usage: worlds [--output DIR]".into()),
    };
    // One table in all worlds, then one table in each.
    let tables = [vec![ALL_WORLDS], (0..WORLDS as u32).collect()];
    let scenes = tables.map(|tables| {
        let table = Aabb::new([-1.0, -1.0, -0.1], [1.0, 1.0, 0.0]).with_layers(TABLE, ARM);
        let of_tables = tables.into_iter().map(|world| (table, world));
        of_tables.chain(boxes()).unzip::<_, _, Vec<_>, Vec<_>>()
    });
    let descriptor = BroadPhaseDescriptor {
        worlds: WORLDS as u32,
        outputs: OutputOptions {
            // Pairs come by world.
            order: ResultOrder::Sorted,
            ..OutputOptions::default()
        },
        ..BroadPhaseDescriptor::default()
    };
    let worlds: Vec<_> = (0..(WORLDS * LINKS) as u32).map(|link| link / LINKS as u32).collect();
    for backend in [Backend::Gpu(wgpu::Backends::all()), Backend::Cpu] {
        let mut last = None;
        let mut times = [Vec::new(), Vec::new()];
        let open = || block_on(BroadPhase::with_backend(&descriptor, backend));
        let mut engines = match (open(), open()) {
            (Ok(first), Ok(second)) => [first, second],
            (Err(error), _) | (_, Err(error)) => {
                println!("{error}");
                continue;
            }
        };
        println!("{}", engines[0].adapter_info().map_or("CPU engine", |info| &info.name));
        for frame in 0..FRAMES {
            let links = links(frame as f32 / 60.0);
            // By turns, so that both see the same machine.
            for (choice, (objects, static_worlds)) in scenes.iter().enumerate() {
                let scene = Scene {
                    objects: links[..].into(),
                    worlds: worlds[..].into(),
                    statics: Statics {
                        objects: objects[..].into(),
                        worlds: static_worlds[..].into(),
                        generation: 1,
                    },
                    ..Scene::default()
                };
                let start = Instant::now();
                let result = block_on(engines[choice].step_scene(&scene))?;
                times[choice].push(1e6 * start.elapsed().as_secs_f64() / WORLDS as f64);
                if choice == 0 {
                    last = Some((links.clone(), result));
                } else if last
                    .as_ref()
                    .is_some_and(|(_, shared)| shared.world_pairs != result.world_pairs)
                {
                    return Err("a table per world makes other pairs".into());
                }
            }
        }
        let [shared, own] = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        println!("{shared:.2} µs per world and step; {own:.2} with a table per world");
        let (links, result) = last.ok_or("no frame")?;
        check(&links, &scenes[0].0, &result)?;
        if let (Some(directory), Backend::Cpu) = (&output, backend) {
            std::fs::create_dir_all(directory)?;
            let path = Path::new(directory).join("worlds.png");
            draw(&path, &links, &scenes[0].0, &result)?;
            println!("wrote {}", path.display());
        }
    }
    Ok(())
}

/// Numbers from 0 to 1 that look random.
fn noise(number: usize) -> f32 {
    let mixed = (number as u32 ^ 0x9e37_79b9).wrapping_mul(0x85eb_ca6b);
    let mixed = (mixed ^ mixed >> 13).wrapping_mul(0xc2b2_ae35);
    ((mixed ^ mixed >> 16) >> 8) as f32 / (1 << 24) as f32
}

/// Boxes on the tables, with their worlds.
fn boxes() -> impl Iterator<Item = (Aabb, u32)> {
    (0..WORLDS * BOXES).map(|index| {
        let part = |axis: usize| noise(3 * index + axis);
        let [x, y] = [0, 1].map(|axis| 1.6 * part(axis) - 0.8);
        let half = 0.03 + 0.05 * part(2);
        let aabb = Aabb::new([x - half, y - half, 0.0], [x + half, y + half, 2.0 * half]);
        (aabb.with_layers(BOX, ARM), (index / BOXES) as u32)
    })
}

/// Ends of the links of an arm, from its base on.
fn joints(world: usize, seconds: f32) -> [Point; LINKS + 1] {
    let seed = (1 << 24) + 64 * world;
    let speed = 1.0 + noise(seed);
    let turn = TAU * noise(seed + 1) + speed * seconds;
    let mut pitch = 0.0;
    let mut joints = [[0.0, 0.0, 0.35]; LINKS + 1];
    for link in 0..LINKS {
        pitch += 0.45 * (TAU * noise(seed + 2 + link) + speed * seconds).sin();
        let (out, up) = (0.13 * pitch.cos(), -0.13 * pitch.sin());
        let [x, y, z] = joints[link];
        joints[link + 1] = [x + out * turn.cos(), y + out * turn.sin(), z + up];
    }
    joints
}

/// Boxes of all links, by world. Links meet boxes and tables, not each other.
fn links(seconds: f32) -> Vec<Aabb> {
    let of_world = |world| {
        let joints = joints(world, seconds);
        (0..LINKS).map(move |link| {
            let [low, high] = [f32::min, f32::max].map(|choose: fn(f32, f32) -> f32| {
                [0, 1, 2].map(|axis| choose(joints[link][axis], joints[link + 1][axis]))
            });
            let aabb = Aabb::new(low.map(|x| x - 0.02), high.map(|x| x + 0.02));
            aabb.with_layers(ARM, BOX | TABLE)
        })
    };
    (0..WORLDS).flat_map(of_world).collect()
}

/// Compares with brute force in each world.
fn check(links: &[Aabb], statics: &[Aabb], result: &StepResult) -> Result<(), Box<dyn Error>> {
    let mut meeting = 0;
    for world in 0..WORLDS {
        let of_world = 1 + world * BOXES..1 + (world + 1) * BOXES;
        let mut expected = Vec::new();
        for object in std::iter::once(0).chain(of_world) {
            let a = &statics[object];
            for (link, b) in links.iter().enumerate().skip(world * LINKS).take(LINKS) {
                if (0..3).all(|axis| a.min[axis] <= b.max[axis] && b.min[axis] <= a.max[axis]) {
                    // Indices of static objects come first.
                    expected.push(Pair::new(object as u32, (statics.len() + link) as u32));
                }
            }
        }
        let rows = result.world_offsets[world] as usize..result.world_offsets[world + 1] as usize;
        if result.pairs[rows] != expected[..] || result.world_pairs[world] as usize != expected.len() {
            return Err(format!("brute force finds other pairs in world {world}").into());
        }
        meeting += usize::from(!expected.is_empty());
    }
    println!("{meeting} of {WORLDS} arms meet a box or the table; brute force agrees");
    Ok(())
}

/// Draws a square per world by its number of pairs, and some worlds from above: red if the arm meets a box, orange if
/// only the table.
fn draw(path: &Path, links: &[Aabb], statics: &[Aabb], result: &StepResult) -> Result<(), Box<dyn Error>> {
    const SQUARE: usize = 8;
    const HEIGHT: usize = SIDE * SQUARE;
    const WIDTH: usize = 2 * HEIGHT + SQUARE;
    /// Worlds per row from above, and rows.
    const SHOWN: usize = 8;
    const TILE: usize = HEIGHT / SHOWN;
    const FREE: [u8; 3] = [40, 110, 190];
    let mut pixels = vec![[255; 3]; WIDTH * HEIGHT];
    let mut fill = |x: Range<usize>, y: Range<usize>, color: [u8; 3]| {
        for row in y {
            pixels[row * WIDTH..][x.clone()].fill(color);
        }
    };
    let shade = |pairs: u32| match pairs {
        0 => [225, 230, 238],
        pairs => [230 - 15 * pairs.min(8) as u8, 150 - 18 * pairs.min(8) as u8, 40],
    };
    for (world, &pairs) in result.world_pairs[..WORLDS].iter().enumerate() {
        let [x, y] = [world % SIDE * SQUARE, world / SIDE * SQUARE];
        fill(x..x + SQUARE - 1, y..y + SQUARE - 1, shade(pairs));
    }
    let mut colors = vec![FREE; links.len()];
    for pair in &result.pairs {
        let color = &mut colors[pair.b as usize - statics.len()];
        match pair.a {
            0 if *color == FREE => *color = [240, 150, 30],
            0 => {}
            _ => *color = [210, 30, 45],
        }
    }
    let boxes = statics[1..].iter().enumerate();
    let boxes = boxes.map(|(index, aabb)| (index / BOXES, aabb, [200, 205, 215]));
    let links = links.iter().zip(colors).enumerate();
    let links = links.map(|(index, (aabb, color))| (index / LINKS, aabb, color));
    for (world, aabb, color) in boxes.chain(links) {
        let [column, row] = [world % SIDE, world / SIDE];
        if column < SHOWN && row < SHOWN {
            let pixel = |x: f32| (TILE as f32 * (0.5 + 0.48 * x.clamp(-1.0, 1.0))) as usize;
            let range = |axis: usize, first: usize| first + pixel(aabb.min[axis])..first + pixel(aabb.max[axis]) + 1;
            fill(range(0, HEIGHT + SQUARE + column * TILE), range(1, row * TILE), color);
        }
    }
    let file = std::io::BufWriter::new(std::fs::File::create(path)?);
    let mut encoder = png::Encoder::new(file, WIDTH as u32, HEIGHT as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(pixels.as_flattened())?;
    Ok(())
}
