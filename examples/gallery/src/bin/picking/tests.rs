use std::collections::BTreeMap;

use anyhow::bail;
use gallery::{Offscreen, Traffic};
use gpu_broad_phase::NONE;
use gpu_broad_phase::reference::brute_force;

use super::*;

const SIZE: UVec2 = UVec2::new(96, 64);
const OPTIONS: Options = Options {
    objects: 300,
    radius: 4.0,
    seed: 5,
};

fn squared_distance(position: Vec3, house: &Aabb) -> f32 {
    let nearest = position.clamp(house.min.into(), house.max.into());
    position.distance_squared(nearest)
}

#[test]
fn picks_and_what_lies_around_are_those_of_brute_force() -> Result<()> {
    let gpu = match Gpu::offscreen() {
        Err(_) if std::env::var_os("GPU_BROAD_PHASE_ADAPTERS").is_none() => return Ok(()),
        gpu => gpu?,
    };
    let mut offscreen = Offscreen::<Picking>::new(gpu, &OPTIONS, SIZE)?;
    let houses = town(OPTIONS.objects, OPTIONS.seed);
    let pixels = [Vec2::new(48.0, 30.0), Vec2::new(20.0, 40.0), Vec2::new(70.0, 5.0)];
    let mut hits = Vec::new();
    for (pixel, frames) in std::iter::zip(pixels, 1..) {
        offscreen.frame(Input {
            pointer: Some(pixel),
            ..Input::default()
        })?;
        let expected = Traffic {
            submissions: frames,
            bytes_read: BTreeMap::from([("picks", 16 * frames)]),
        };
        let (gpu, picking) = offscreen.parts();
        assert_eq!(gpu.traffic(), expected);
        gpu.device.poll(wgpu::PollType::wait_indefinitely())?;
        let Some(found) = picking.watch.latest() else {
            bail!("a frame that was waited for has told its pick");
        };

        let (origin, direction) = picking.camera.ray(SIZE, pixel);
        let ray = Ray::new(origin.into(), direction.into(), f32::INFINITY);
        let hit = brute_force::rays_closest(&houses, &[ray])[0];
        assert_eq!((found.object, found.t), (hit.object, hit.t));
        let around = |radius: f32| {
            let center = origin + hit.t * direction;
            let is_near = |house: &&Aabb| squared_distance(center, house) <= radius * radius;
            houses.iter().filter(is_near).count() as u32
        };
        // Near the sphere's surface, rounding decides.
        let least_and_most = match hit.object {
            NONE => [0; 2],
            _ => [0.999, 1.001].map(|share| around(share * OPTIONS.radius)),
        };
        assert!(
            (least_and_most[0]..=least_and_most[1]).contains(&found.selected),
            "{found:?}"
        );
        assert!(hit.object == NONE || found.walked > 0);
        hits.push(hit.object);
    }
    assert!(hits[0] != NONE && hits[1] != NONE && hits[2] == NONE, "{hits:?}");
    Ok(())
}

#[test]
fn a_held_ray_stays() -> Result<()> {
    let gpu = match Gpu::offscreen() {
        Err(_) if std::env::var_os("GPU_BROAD_PHASE_ADAPTERS").is_none() => return Ok(()),
        gpu => gpu?,
    };
    let mut offscreen = Offscreen::<Picking>::new(gpu, &OPTIONS, SIZE)?;
    let at = |x, clicked| Input {
        pointer: Some(Vec2::new(x, 32.0)),
        clicked,
        ..Input::default()
    };
    let mut found = |input| -> Result<_> {
        offscreen.frame(input)?;
        let (gpu, picking) = offscreen.parts();
        let marks: Vec<u32> = gpu.read(&picking.marks, OPTIONS.objects as usize)?;
        let found = picking
            .watch
            .latest()
            .context("a frame that was waited for has told its pick")?;
        assert_eq!(marks.iter().sum::<u32>(), found.selected);
        Ok(found)
    };
    let first = found(at(30.0, true))?;
    assert_eq!(found(at(60.0, false))?, first);
    let let_go = found(at(60.0, true))?;
    assert_ne!(let_go.object, first.object);
    Ok(())
}
