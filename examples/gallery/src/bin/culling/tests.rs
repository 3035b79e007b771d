use gallery::{Input, Offscreen};
use gpu_broad_phase::{Scene, Source, reference};

use super::*;

const SIZE: UVec2 = UVec2::new(240, 96);
const BOXES: u32 = 6000;

fn offscreen(all: bool) -> Result<Option<Offscreen<City>>> {
    let gpu = match Gpu::offscreen() {
        Err(_) if std::env::var_os("GPU_BROAD_PHASE_ADAPTERS").is_none() => return Ok(None),
        gpu => gpu?,
    };
    let options = Options {
        boxes: BOXES,
        all,
        seed: 3,
    };
    Offscreen::new(gpu, &options, SIZE).map(Some)
}

#[test]
fn what_is_drawn_is_what_can_be_seen() -> Result<()> {
    let (Some(mut culled), Some(mut whole)) = (offscreen(false)?, offscreen(true)?) else {
        return Ok(());
    };
    for _ in 0..3 {
        culled.frame(Input::default())?;
        whole.frame(Input::default())?;
        let pixels = culled.pixels()?;
        assert!(pixels == whole.pixels()?, "culling takes something out of the picture");
        for view in 0..3 {
            let panel = |place: &usize| place % SIZE.x as usize / (SIZE.x as usize / 3) == view;
            let places = (0..pixels.len()).filter(panel);
            let colors: std::collections::BTreeSet<_> = places.map(|place| pixels[place]).collect();
            assert!(colors.len() > 20, "view {view} has {} colours", colors.len());
        }
        let (gpu, demo) = culled.parts();
        let boxes: Vec<Aabb> = gpu.read(&demo.boxes, BOXES as usize)?;
        let scene = Scene {
            objects: Source::Host(&boxes),
            ..Scene::default()
        };
        let expected = reference::cull(&BroadPhaseDescriptor::default(), &scene, &demo.frusta)?;
        let found = pollster::block_on(demo.culling.read_back())?;
        assert!(found == expected);
        let counts: Vec<_> = found.objects.iter().map(Vec::len).collect();
        let all = BOXES as usize;
        assert!(counts.iter().all(|&count| count > 50 && count < all), "{counts:?}");
        let seen = demo.seen.clone().context("a frame was drawn")?;
        let draws: Vec<u32> = gpu.read(&seen.draws.context("draws are asked for")?, 12)?;
        for (draw, count) in draws.chunks(4).zip(counts) {
            assert_eq!(*draw, [BOX, count as u32, 0, 0]);
        }
    }
    let (gpu, demo) = culled.parts();
    println!("{}", demo.summary(gpu)?);
    Ok(())
}
