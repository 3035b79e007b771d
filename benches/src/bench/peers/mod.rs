//! Published crates that answer the same questions. Input is converted to their types before timing.

mod bvh;
pub mod lampshade;
mod obvhs;
mod parry3d;
mod rstar;

use std::sync::Arc;

use gpu_broad_phase::{Aabb, Ray};
use rayon::ThreadPool;
use rayon::prelude::*;

use super::answer::Rows;
use super::exact::PreparedRay;
use super::grid::longest;
use super::measure::{OnCpu, Question};
use super::scenes::{Rays, Spheres};

type Work<'a> = Box<dyn Fn() -> Rows + Send + Sync + 'a>;

pub fn pairs<'a>(name: &'static str, boxes: &'a [Aabb], pools: &[Arc<ThreadPool>]) -> Vec<OnCpu<'a>> {
    let make = match name {
        "parry3d" => parry3d::pairs,
        "obvhs" => obvhs::pairs,
        "bvh" => bvh::pairs,
        "rstar" => rstar::pairs,
        _ => return Vec::new(),
    };
    on_pools(name, Question::Pairs, pools, |threads| make(boxes, threads))
}

/// The tree is built beforehand. Left out: `bvh`, whose rays have no limit, and `rstar`, which has no rays.
pub fn rays<'a>(name: &'static str, boxes: &'a [Aabb], rays: &'a Rays, pools: &[Arc<ThreadPool>]) -> Vec<OnCpu<'a>> {
    let widened = widened(boxes);
    let mut contestants = Vec::new();
    for (question, rays) in [(Question::ClosestHits, &rays.closest), (Question::AllHits, &rays.all)] {
        contestants.extend(match name {
            "parry3d" => {
                let cast = Arc::new(parry3d::Cast::new(boxes, &widened, rays));
                on_pools(name, question, pools, |_| {
                    let cast = Arc::clone(&cast);
                    Box::new(move || cast.run(question))
                })
            }
            "obvhs" => {
                let cast = Arc::new(obvhs::Cast::new(boxes, &widened, rays));
                on_pools(name, question, pools, |_| {
                    let cast = Arc::clone(&cast);
                    Box::new(move || cast.run(question))
                })
            }
            _ => Vec::new(),
        });
    }
    contestants
}

/// The tree is built beforehand. Only `rstar` knows distances.
pub fn queries<'a>(
    name: &'static str,
    boxes: &[Aabb],
    spheres: &'a Spheres,
    pools: &[Arc<ThreadPool>],
) -> Vec<OnCpu<'a>> {
    if name != "rstar" {
        return Vec::new();
    }
    let tree = Arc::new(rstar::tree(boxes));
    let asked = [
        (Question::Within, &spheres.within),
        (Question::Nearest, &spheres.nearest),
    ];
    let contestants = asked.into_iter().flat_map(|(question, spheres)| {
        on_pools(name, question, pools, |_| {
            let tree = Arc::clone(&tree);
            Box::new(move || rstar::near(&tree, spheres, question))
        })
    });
    contestants.collect()
}

fn on_pools<'a>(
    engine: &'static str,
    question: Question,
    pools: &[Arc<ThreadPool>],
    work: impl Fn(usize) -> Work<'a>,
) -> Vec<OnCpu<'a>> {
    pools
        .iter()
        .map(|pool| {
            let work = work(pool.current_num_threads());
            OnCpu {
                engine,
                pool: Arc::clone(pool),
                question,
                work: Box::new(move || Ok(work())),
            }
        })
        .collect()
}

/// Grows boxes by 2^-18 of the world, because rounding in a tree's node tests may lose a grazing ray.
/// [`enter`](super::exact::enter) then decides with the original box.
fn widened(boxes: &[Aabb]) -> Vec<Aabb> {
    let mut world = boxes[0];
    for boxed in boxes {
        for axis in 0..3 {
            world.min[axis] = world.min[axis].min(boxed.min[axis]);
            world.max[axis] = world.max[axis].max(boxed.max[axis]);
        }
    }
    let far = world
        .min
        .iter()
        .chain(&world.max)
        .fold(longest(&world) as f32, |far, bound| far.max(bound.abs()));
    let slack = far / 262_144.0;
    let grown = |boxed: &Aabb| Aabb::new(boxed.min.map(|low| low - slack), boxed.max.map(|high| high + slack));
    boxes.iter().map(grown).collect()
}

const RAYS: usize = 256;

fn each_ray<R: Sync>(
    rays: &[(PreparedRay, R)],
    ask: impl Fn(u32, &PreparedRay, &R, &mut Vec<[u32; 2]>) + Sync,
) -> Rows {
    let chunks = rays.par_chunks(RAYS).enumerate();
    chunks
        .map(|(chunk, rays)| {
            let mut found = Vec::new();
            for (ray, (prepared, own)) in ((chunk * RAYS) as u32..).zip(rays) {
                ask(ray, prepared, own, &mut found);
            }
            found
        })
        .collect()
}

fn prepared<R>(rays: &[Ray], own: impl Fn(&Ray) -> R) -> Vec<(PreparedRay, R)> {
    rays.iter().map(|ray| (PreparedRay::new(ray), own(ray))).collect()
}
