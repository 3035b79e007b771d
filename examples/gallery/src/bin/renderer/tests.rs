use std::collections::BTreeMap;

use gallery::{Offscreen, Traffic};
use gpu_broad_phase::reference::brute_force;

use super::*;

const SIZE: UVec2 = UVec2::new(96, 64);
const BOXES: u32 = 300;

fn offscreen() -> Result<Option<Offscreen<Renderer>>> {
    let gpu = match Gpu::offscreen() {
        Err(_) if std::env::var_os("GPU_BROAD_PHASE_ADAPTERS").is_none() => return Ok(None),
        gpu => gpu?,
    };
    let options = Options {
        boxes: BOXES,
        levels: vec![0, 1],
        no_cells: false,
        seed: 3,
    };
    Offscreen::new(gpu, &options, SIZE).map(Some)
}

fn pointed_at(pixel: Vec2) -> Input {
    Input {
        pointer: Some(pixel),
        ..Input::default()
    }
}

#[test]
fn overlaps_and_picks_are_those_of_brute_force() -> Result<()> {
    let Some(mut offscreen) = offscreen()? else {
        return Ok(());
    };
    let mut picked = 0;
    for frame in 0..3 {
        let pixel = SIZE.as_vec2() * Vec2::new(0.4 + 0.05 * frame as f32, 0.5);
        offscreen.frame(pointed_at(pixel))?;
        let (gpu, renderer) = offscreen.parts();
        let boxes: Vec<Aabb> = gpu.read(&renderer.boxes, BOXES as usize)?;
        let found = pollster::block_on(renderer.broad_phase.read_back())?;
        assert!(found.counters.is_complete());

        let mut overlaps = vec![0; boxes.len()];
        for pair in brute_force::pairs(&boxes) {
            overlaps[pair.a as usize] += 1;
            overlaps[pair.b as usize] += 1;
        }
        assert_eq!(gpu.read::<u32>(&renderer.overlaps, BOXES as usize)?, overlaps);
        assert!(overlaps.iter().any(|&overlaps| overlaps > 3));

        let ray = pointer_ray(&renderer.camera, SIZE, Some(pixel));
        let hit = brute_force::rays_closest(&boxes, &[ray])[0];
        assert_eq!(found.ray_hits, [hit]);
        assert_eq!(renderer.pick.latest(), Some(hit));
        picked += u32::from(hit.object != NONE);
    }
    assert!(picked > 0);
    Ok(())
}

#[test]
fn the_box_under_the_pointer_shows() -> Result<()> {
    let Some(mut offscreen) = offscreen()? else {
        return Ok(());
    };
    let pixel = SIZE / 2;
    let mut color_there = |input| -> Result<[u8; 3]> {
        offscreen.frame(input)?;
        Ok(offscreen.pixels()?[(pixel.y * SIZE.x + pixel.x) as usize])
    };
    let [_, green, _] = color_there(pointed_at(pixel.as_vec2() + 0.5))?;
    let [_, green_without, _] = color_there(Input::default())?;
    assert!(green > green_without + 40, "{green} and {green_without}");
    Ok(())
}

#[test]
fn a_frame_is_one_submission_and_reads_a_pick() -> Result<()> {
    let Some(mut offscreen) = offscreen()? else {
        return Ok(());
    };
    for frames in 1..=3 {
        offscreen.frame(Input::default())?;
        let expected = Traffic {
            submissions: frames,
            bytes_read: BTreeMap::from([("picks", 8 * frames)]),
        };
        assert_eq!(offscreen.parts().0.traffic(), expected);
    }
    Ok(())
}
