//! Scenes that move: every frame has new boxes, and everyone answers each frame before the next one comes.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, bail};
use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, GpuBroadPhase, Growth, Headless, Scene, Source, Status, cpu};
use pollster::block_on;
use rayon::ThreadPool;

use super::answer::{Answer, Rows, mixed};
use super::gpu;
use super::measure::{Fault, Question, Row, median};
use crate::generate::{Motion, Moving};
use crate::report::{Reporter, grouped};

/// The CPU engine of the library, where the library itself runs on a device.
pub const REFERENCE: &str = "reference";
/// Steps within which outputs have grown to what a frame needs.
const MOST_STEPS: u32 = 64;
/// Stages of a row: the mean is the engine's time.
const WORST: &str = "frame_worst";
const MEDIAN: &str = "frame";

/// An engine that keeps what it likes from frame to frame.
pub trait Follower {
    fn engine(&self) -> &'static str;
    /// 0 where a device works.
    fn threads(&self) -> usize;
    /// Milliseconds of the build and all pairs of a frame, and what was found. What is there before a frame begins,
    /// such as boxes in the engine's own type, and the hash of an answer are not timed.
    fn frame(&mut self, boxes: &[Aabb]) -> Result<(f64, Answer)>;
    /// Bytes that it holds, where that is known.
    fn memory(&self) -> Option<u64> {
        None
    }
}

/// What an engine did in all frames.
struct Followed<'a> {
    follower: Box<dyn Follower + 'a>,
    times: Vec<f64>,
    /// Of all frames: results add up, and so do hashes, each with the number of its frame.
    sum: Answer,
}

/// Moves boxes and asks everyone in every frame. The first frame makes everyone ready and is not timed. Returns rows,
/// what is wrong, and what else is known.
pub fn measure(
    followers: Vec<Box<dyn Follower + '_>>,
    (motion, count, seed): (Motion, u32, u64),
    frames: u32,
    reporter: Reporter,
) -> (Vec<Row>, Vec<Fault>, Vec<String>) {
    let bar = reporter.bar(u64::from(frames) + 1, "measuring");
    let mut moving = Moving::new(motion, count, seed);
    let mut boxes = Vec::new();
    let mut faults = Vec::new();
    let mut all: Vec<_> = followers.into_iter().map(Followed::new).collect();
    let mut has_differed = false;
    for frame in 0..=frames {
        moving.write(&mut boxes);
        let mut answers: Vec<(&'static str, Answer)> = Vec::new();
        all.retain_mut(|followed| match followed.follow(frame, &boxes) {
            Ok(answer) => {
                answers.push((followed.follower.engine(), answer));
                true
            }
            Err(error) => {
                let engine = followed.follower.engine();
                faults.push(Fault::Failed(format!("frame {frame}: {engine} failed: {error:#}")));
                false
            }
        });
        // One frame tells enough.
        if !has_differed && let Some(text) = difference(&answers) {
            has_differed = true;
            faults.push(Fault::Differ(format!("frame {frame}: answers differ: {text}")));
        }
        moving.step();
        bar.inc(1);
    }
    bar.finish_and_clear();
    let memory = |followed: &Followed<'_>| {
        let bytes = followed.follower.memory()?;
        let engine = followed.follower.engine();
        Some(format!(
            "memory of {engine} after the last frame: {} bytes",
            grouped(bytes)
        ))
    };
    let notes = all.iter().filter_map(memory).collect();
    let rows = all.into_iter().flat_map(Followed::rows).collect();
    (rows, faults, notes)
}

fn difference(answers: &[(&'static str, Answer)]) -> Option<String> {
    let (_, first) = answers.first()?;
    let all_agree = answers.iter().all(|(_, answer)| answer.agrees(first));
    let told = |(engine, answer): &(&'static str, Answer)| {
        let hash = answer.hash.unwrap_or_default();
        format!("{engine} finds {} with hash {hash:016x}", answer.results)
    };
    (!all_agree).then(|| answers.iter().map(told).collect::<Vec<_>>().join(", "))
}

impl<'a> Followed<'a> {
    fn new(follower: Box<dyn Follower + 'a>) -> Self {
        Self {
            follower,
            times: Vec::new(),
            sum: Answer {
                results: 0,
                hash: Some(0),
            },
        }
    }

    fn follow(&mut self, frame: u32, boxes: &[Aabb]) -> Result<Answer> {
        let (time, answer) = self.follower.frame(boxes)?;
        if frame > 0 {
            self.times.push(time);
            self.sum.results += answer.results;
            let of_frame = |hash: u64| mixed(hash.wrapping_add(u64::from(frame)));
            let hashes = self.sum.hash.zip(answer.hash);
            self.sum.hash = hashes.map(|(sum, hash)| sum.wrapping_add(of_frame(hash)));
        }
        Ok(answer)
    }

    /// The mean, the worst and the median frame.
    fn rows(mut self) -> Vec<Row> {
        self.times.sort_by(f64::total_cmp);
        let (Some(&least), Some(&worst)) = (self.times.first(), self.times.last()) else {
            return Vec::new();
        };
        let mean = self.times.iter().sum::<f64>() / self.times.len() as f64;
        let row = |stage, median_ms, min_ms| Row {
            engine: self.follower.engine(),
            threads: self.follower.threads(),
            question: Question::Frames,
            stage,
            is_whole: true,
            runs: self.times.len(),
            median_ms,
            min_ms,
            answer: self.sum,
        };
        vec![
            row(Question::Frames.stage(), mean, mean),
            row(WORST, worst, worst),
            row(MEDIAN, median(&self.times), least),
        ]
    }
}

/// Whether a row tells an engine's worst frame.
pub fn is_worst(row: &Row) -> bool {
    row.stage == WORST
}

/// The library on a device: boxes from the host, pairs on the device.
pub struct OnDevice<'a> {
    headless: &'a Headless,
    broad_phase: GpuBroadPhase,
}

impl<'a> OnDevice<'a> {
    pub fn new(headless: &'a Headless, descriptor: &BroadPhaseDescriptor<'static>) -> Result<Self> {
        let descriptor = BroadPhaseDescriptor {
            growth: Growth::Grow,
            ..*descriptor
        };
        Ok(Self {
            headless,
            broad_phase: GpuBroadPhase::new(headless.device(), headless.queue(), &descriptor)?,
        })
    }

    /// Records, submits and waits.
    fn step(&mut self, boxes: &[Aabb]) -> Result<f64> {
        let (device, queue) = (self.headless.device(), self.headless.queue());
        let start = Instant::now();
        let mut encoder = device.create_command_encoder(&Default::default());
        let input = Scene {
            objects: Source::Host(boxes),
            ..Default::default()
        };
        self.broad_phase.step(&mut encoder, input)?;
        queue.submit([encoder.finish()]);
        device.poll(gpu_broad_phase::wgpu::PollType::wait_indefinitely())?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }
}

impl Follower for OnDevice<'_> {
    fn engine(&self) -> &'static str {
        gpu::NAME
    }

    fn threads(&self) -> usize {
        0
    }

    /// A frame whose outputs were too small is stepped again, and all its steps count.
    fn frame(&mut self, boxes: &[Aabb]) -> Result<(f64, Answer)> {
        let mut time = 0.0;
        let mut held = 0;
        for _ in 0..MOST_STEPS {
            time += self.step(boxes)?;
            let result = block_on(self.broad_phase.read_back())?;
            let counters = result.counters;
            if counters.status.is_whole() {
                let rows = result.pairs.iter().map(|pair| [pair.a, pair.b]).collect();
                return Ok((time, Answer::of_pairs(&vec![rows])));
            }
            if counters.status == Status::PAIRS && counters.pairs_capacity == held {
                bail!(
                    "a frame has {} pairs, and a binding holds {held}",
                    counters.pairs_needed
                );
            }
            held = counters.pairs_capacity;
        }
        bail!("still not whole after {MOST_STEPS} steps");
    }

    fn memory(&self) -> Option<u64> {
        Some(self.broad_phase.memory().total())
    }
}

/// The pairs of boxes in a type of an engine's own.
type Work<'a, T> = Box<dyn FnMut(&T) -> Result<Rows> + Send + 'a>;

/// An engine on the CPU, on the threads of a pool.
pub struct OnCpu<'a, T> {
    pub engine: &'static str,
    pub pool: Arc<ThreadPool>,
    /// Makes boxes of the engine's own type, which is not timed.
    pub prepare: fn(&[Aabb]) -> T,
    pub work: Work<'a, T>,
}

impl<T: Send + Sync> Follower for OnCpu<'_, T> {
    fn engine(&self) -> &'static str {
        self.engine
    }

    fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    fn frame(&mut self, boxes: &[Aabb]) -> Result<(f64, Answer)> {
        let own = (self.prepare)(boxes);
        let work = &mut self.work;
        let (time, rows) = self.pool.install(|| {
            let start = Instant::now();
            let rows = work(&own);
            (start.elapsed().as_secs_f64() * 1e3, rows)
        });
        Ok((time, Answer::of_pairs(&rows?)))
    }
}

/// The library's CPU engine.
pub fn reference<'a>(
    engine: &'static str,
    descriptor: BroadPhaseDescriptor<'static>,
    pool: &Arc<ThreadPool>,
) -> OnCpu<'a, Vec<Aabb>> {
    OnCpu {
        engine,
        pool: Arc::clone(pool),
        prepare: <[Aabb]>::to_vec,
        work: Box::new(move |boxes: &Vec<Aabb>| {
            let result = cpu::step(&descriptor, boxes, &[])?;
            Ok(vec![result.pairs.iter().map(|pair| [pair.a, pair.b]).collect()])
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::measure::pools;

    fn engine(name: &'static str, work: impl FnMut(&Vec<Aabb>) -> Result<Rows> + Send + 'static) -> Box<dyn Follower> {
        Box::new(OnCpu {
            engine: name,
            pool: Arc::clone(&pools().unwrap()[0]),
            prepare: <[Aabb]>::to_vec,
            work: Box::new(work),
        })
    }

    #[test]
    fn the_frame_in_which_answers_differ_is_named_and_who_fails_is_left_out() {
        let mut frame = 0;
        let right = |_: &Vec<Aabb>| Ok(vec![vec![[1, 2], [3, 4]]]);
        let followers = vec![
            engine("right", right),
            engine("wrong", move |_| {
                frame += 1;
                Ok(vec![vec![[4, 3], [1, if frame == 3 { 5 } else { 2 }]]])
            }),
            engine("short", |_| bail!("no memory")),
        ];
        let scene = (Motion::Brownian, 5, 1);
        let (rows, faults, _) = measure(followers, scene, 4, Reporter { quiet: true });
        let texts: Vec<_> = faults.iter().map(Fault::to_string).collect();
        assert_eq!(texts[0], "frame 0: short failed: no memory");
        assert!(
            texts[1].starts_with("frame 2: answers differ: right finds 2"),
            "{texts:?}"
        );
        assert_eq!((texts.len(), rows.len()), (2, 6));
        assert!(rows.iter().all(|row| row.answer.results == 8 && row.runs == 4));
        assert_ne!(rows[0].answer.hash, rows[3].answer.hash);
    }
}
