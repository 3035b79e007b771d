//! Steps a world tile by tile on one device and compares the joined answer with that of the undivided world, where that
//! fits.
//!
//! ```sh
//! cargo run --release --example tiles -- [boxes] [tiles] [rays]
//! ```
//!
//! Boxes: 200,000 where not given. Tiles: `2` for 2×2×2 (the default), or `8x1x1`. Rays: 1,000. `WGPU_BACKEND` chooses
//! among drivers.
//!
//! The table: `halo %` is the boxes of other tiles by those of its own; `found` are the pairs of the step, `kept` those
//! whose home point lies in the tile; `MiB` is what the broad phase holds.

mod tiles;

use std::error::Error;
use std::time::{Duration, Instant};

use gpu_broad_phase::{Aabb, Dimensions, Headless, HeadlessDescriptor, HeadlessError, Ray, RayHit, StepError, wgpu};
use pollster::block_on;
use tiles::{Tiles, gather, merge_closest};

/// splitmix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    /// 0 to 1, without 1.
    fn unit(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / (1 << 24) as f32
    }

    fn point(&mut self, side: f32) -> [f32; 3] {
        [0; 3].map(|_| side * self.unit())
    }
}

/// Cubes of edge 1 to 256, fewer the larger they are, with some six overlaps a box; two endless ones, a floor and a
/// column.
fn boxes(count: usize, random: &mut Random) -> Vec<Aabb> {
    let side = world_side(count);
    let mut boxes: Vec<_> = (0..count.saturating_sub(2))
        .map(|_| {
            let edge = 1.0 / (1.0 - random.unit() * (1.0 - 1.0 / 65_536.0)).sqrt();
            let low = random.point(side);
            Aabb::new(low, low.map(|low| low + edge))
        })
        .collect();
    let endless = f32::INFINITY;
    boxes.push(Aabb::new([-endless, -endless, -1.0], [endless, endless, 0.0]));
    boxes.push(Aabb::new(
        [side / 2.0, side / 2.0, -endless],
        [side / 2.0 + 1.0, side / 2.0 + 1.0, endless],
    ));
    boxes
}

fn world_side(count: usize) -> f32 {
    (192.2 * count as f32).cbrt()
}

fn rays(count: usize, side: f32, random: &mut Random) -> Vec<Ray> {
    let from_to =
        |(from, to): ([f32; 3], [f32; 3])| Ray::new(from, [0, 1, 2].map(|axis| to[axis] - from[axis]), f32::INFINITY);
    (0..count)
        .map(|_| from_to((random.point(side), random.point(side))))
        .collect()
}

/// `3` is 3×3×3.
fn parse_tiles(text: &str) -> Result<[usize; 3], Box<dyn Error>> {
    let counts: Vec<usize> = text.split('x').map(str::parse).collect::<Result<_, _>>()?;
    let counts = match counts[..] {
        [each] => [each; 3],
        [x, y, z] => [x, y, z],
        _ => return Err(format!("tiles are given as 2 or 4x2x1, not as {text}").into()),
    };
    if counts.contains(&0) {
        return Err("no tiles along an axis".into());
    }
    Ok(counts)
}

/// A device with its pipelines made and used once, so that no tile's time has that in it.
fn warm_device(boxes: &[Aabb], rays: &[Ray]) -> Result<Headless, Box<dyn Error>> {
    let descriptor = HeadlessDescriptor {
        backends: wgpu::Backends::from_env(),
        ..Default::default()
    };
    let mut headless = block_on(Headless::with_descriptor(&descriptor))?;
    block_on(headless.step(&boxes[..boxes.len().min(100)], &rays[..rays.len().min(1)]))?;
    Ok(headless)
}

/// What stands in a row of the table.
#[derive(Default)]
struct Row {
    boxes: usize,
    own: usize,
    rays: usize,
    /// Pairs that the step found, and those that are the tile's to report.
    found: usize,
    kept: usize,
    /// Of the step, from host slices to host vectors.
    time: Duration,
    /// Of the broad phase's buffers, which stay from tile to tile.
    bytes: u64,
}

impl Row {
    const HEAD: &str = "     tile     boxes  halo %    rays     found      kept       ms     MiB";

    fn print(&self, name: &str) {
        let halo = 100.0 * (self.boxes - self.own) as f64 / self.own.max(1) as f64;
        let (milliseconds, mebibytes) = (self.time.as_secs_f64() * 1e3, self.bytes as f64 / f64::from(1 << 20));
        let Self {
            boxes,
            rays,
            found,
            kept,
            ..
        } = self;
        println!(
            "{name:>9} {boxes:>9} {halo:>7.2} {rays:>7} {found:>9} {kept:>9} {milliseconds:>8.1} {mebibytes:>7.1}"
        );
    }

    fn add(&mut self, other: &Self) {
        self.boxes += other.boxes;
        self.own += other.own;
        self.rays += other.rays;
        self.found += other.found;
        self.kept += other.kept;
        self.time += other.time;
        self.bytes = self.bytes.max(other.bytes);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().map_or(Ok(200_000), |text| text.parse())?;
    let counts = parse_tiles(&arguments.next().unwrap_or("2".into()))?;
    let ray_count = arguments.next().map_or(Ok(1000), |text| text.parse())?;

    let mut random = Random(1);
    let boxes = boxes(count, &mut random);
    let rays = rays(ray_count, world_side(count), &mut random);

    let start = Instant::now();
    let tiles = Tiles::balanced(&boxes, counts);
    let split = tiles.split(&boxes);
    let rays_of_tiles = tiles.route(Dimensions::Three, &boxes, &rays);
    let split_time = start.elapsed();

    let mut headless = warm_device(&boxes, &rays)?;
    let adapter = &headless.adapter_info().name;
    println!("{adapter}, {} boxes, {counts:?} tiles", boxes.len());
    println!("{}", Row::HEAD);
    let mut pairs = Vec::new();
    let mut closest = vec![RayHit::MISS; rays.len()];
    let mut all = Row::default();
    let mut join_time = Duration::ZERO;
    for (tile, (members, its_rays)) in split.iter().zip(&rays_of_tiles).enumerate() {
        let its_boxes = gather(&boxes, members);
        let start = Instant::now();
        let result = block_on(headless.step(&its_boxes, &gather(&rays, its_rays)))?;
        let time = start.elapsed();

        let start = Instant::now();
        let kept = tiles.block(tile).keep(&boxes, members, &result.pairs);
        merge_closest(&mut closest, members, its_rays, &result.ray_hits);
        join_time += start.elapsed();

        let row = Row {
            boxes: members.len(),
            own: its_boxes.iter().filter(|object| tiles.owner(object) == tile).count(),
            rays: its_rays.len(),
            found: result.pairs.len(),
            kept: kept.len(),
            time,
            bytes: headless.broad_phase().memory().total(),
        };
        row.print(&tile.to_string());
        all.add(&row);
        pairs.extend(kept);
    }
    all.print("all");
    println!("on the host: {split_time:.1?} to split, {join_time:.1?} to keep and join");

    pairs.sort_unstable();
    if let Some(twice) = pairs.windows(2).find(|two| two[0] == two[1]) {
        return Err(format!("{:?} was found twice", twice[0]).into());
    }
    // What the tiles used goes first: there may be no room for both.
    drop(headless);
    let mut headless = warm_device(&boxes, &rays)?;
    let start = Instant::now();
    let whole = match block_on(headless.step(&boxes, &rays)) {
        Err(HeadlessError::Step(StepError::Input(error))) => {
            println!("undivided: {error}; there is nothing to compare with");
            return Ok(());
        }
        whole => whole?,
    };
    let time = start.elapsed();
    Row {
        boxes: boxes.len(),
        own: boxes.len(),
        rays: rays.len(),
        found: whole.pairs.len(),
        kept: whole.pairs.len(),
        time,
        bytes: headless.broad_phase().memory().total(),
    }
    .print("undivided");

    let mut expected = whole.pairs;
    expected.sort_unstable();
    if pairs != expected {
        return Err("other pairs than those of the undivided world".into());
    }
    if closest != whole.ray_hits {
        return Err("other closest hits than those of the undivided world".into());
    }
    let hits = closest.iter().filter(|hit| **hit != RayHit::MISS).count();
    println!(
        "the same {} pairs, each once, and the same {hits} closest hits",
        pairs.len()
    );
    Ok(())
}
