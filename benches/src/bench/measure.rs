//! Each run times every contestant once, so that other load on the machine affects all alike.

use std::fmt::{self, Display, Formatter};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Error, Result, anyhow};
use gpu_broad_phase::RayMode;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::answer::{Answer, Rows};
use crate::Reporter;

/// A task that several contestants solve, so that their answers are comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    Pairs,
    ClosestHits,
    AllHits,
    Within,
    /// Distances of the nearest boxes.
    Nearest,
    Sort,
}

impl Question {
    pub fn stage(self) -> &'static str {
        match self {
            Self::Pairs => TOTAL,
            Self::ClosestHits => "rays_closest",
            Self::AllHits => "rays_all",
            Self::Within => "queries_within",
            Self::Nearest => "queries_nearest",
            Self::Sort => "sort_keys",
        }
    }

    pub fn ray_mode(self) -> RayMode {
        match self {
            Self::AllHits => RayMode::All,
            _ => RayMode::Closest,
        }
    }
}

pub const TOTAL: &str = "total";

pub trait Contestant {
    fn engine(&self) -> &'static str;
    /// 0 for a GPU.
    fn threads(&self) -> usize;
    fn question(&self) -> Question;
    /// False for single stages and variants, which are not ranked.
    fn is_complete(&self) -> bool {
        true
    }
    fn prepare(&mut self) -> Result<Answer>;
    fn run(&mut self) -> Result<Vec<(&'static str, f64)>>;
}

#[derive(Clone, Debug)]
pub struct Row {
    pub engine: &'static str,
    pub threads: usize,
    pub question: Question,
    pub stage: &'static str,
    pub is_complete: bool,
    pub runs: usize,
    pub median_ms: f64,
    pub min_ms: f64,
    pub answer: Answer,
}

impl Row {
    pub fn title(&self) -> String {
        match self.threads {
            0 => self.engine.to_owned(),
            1 => format!("{} (1 thread)", self.engine),
            threads => format!("{} ({threads} threads)", self.engine),
        }
    }
}

#[derive(Clone, Copy)]
pub struct Runs {
    pub most: u32,
    /// Only the first run may start after this time.
    pub until: Option<Instant>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    Differ(String),
    Failed(String),
}

impl Display for Fault {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let (Self::Differ(text) | Self::Failed(text)) = self;
        formatter.write_str(text)
    }
}

pub fn measure(contestants: Vec<Box<dyn Contestant + '_>>, runs: Runs, reporter: Reporter) -> (Vec<Row>, Vec<Fault>) {
    let bar = reporter.bar(u64::from(runs.most + 1) * contestants.len() as u64, "measuring");
    let mut faults = Vec::new();
    let mut prepared = Vec::new();
    for mut contestant in contestants {
        match contestant.prepare() {
            Ok(answer) => prepared.push(Some(Measured {
                contestant,
                answer,
                times: Vec::new(),
            })),
            Err(error) => faults.push(failure(&*contestant, &error)),
        }
        bar.inc(1);
    }
    for run in 0..runs.most {
        if run > 0 && runs.until.is_some_and(|until| Instant::now() > until) {
            break;
        }
        for slot in &mut prepared {
            let Some(measured) = slot else { continue };
            if let Err(error) = measured.run() {
                faults.push(failure(&*measured.contestant, &error));
                *slot = None;
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let rows: Vec<_> = prepared.into_iter().flatten().flat_map(Measured::rows).collect();
    faults.extend(disagreements(&rows));
    (rows, faults)
}

fn failure(contestant: &dyn Contestant, error: &Error) -> Fault {
    let (engine, stage) = (contestant.engine(), contestant.question().stage());
    Fault::Failed(format!("{stage}: {engine} failed: {error:#}"))
}

struct Measured<'a> {
    contestant: Box<dyn Contestant + 'a>,
    answer: Answer,
    times: Vec<(&'static str, Vec<f64>)>,
}

impl Measured<'_> {
    fn run(&mut self) -> Result<()> {
        for (stage, time) in self.contestant.run()? {
            match self.times.iter_mut().find(|(known, _)| *known == stage) {
                Some((_, times)) => times.push(time),
                None => self.times.push((stage, vec![time])),
            }
        }
        Ok(())
    }

    fn rows(self) -> Vec<Row> {
        let row = |(stage, mut times): (&'static str, Vec<f64>)| {
            times.sort_by(f64::total_cmp);
            Row {
                engine: self.contestant.engine(),
                threads: self.contestant.threads(),
                question: self.contestant.question(),
                stage,
                is_complete: self.contestant.is_complete(),
                runs: times.len(),
                median_ms: median(&times),
                min_ms: times[0],
                answer: self.answer,
            }
        };
        self.times.into_iter().map(row).collect()
    }
}

/// `times` must be ascending.
pub fn median(times: &[f64]) -> f64 {
    let middle = times.len() / 2;
    if times.len().is_multiple_of(2) {
        0.5 * (times[middle - 1] + times[middle])
    } else {
        times[middle]
    }
}

fn disagreements(rows: &[Row]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for question in [
        Question::Pairs,
        Question::ClosestHits,
        Question::AllHits,
        Question::Within,
        Question::Nearest,
        Question::Sort,
    ] {
        let rows: Vec<_> = rows.iter().filter(|row| row.question == question).collect();
        let differ = |row: &&&Row| rows.iter().any(|other| !other.answer.agrees(&row.answer));
        let mut parties: Vec<_> = rows
            .iter()
            .filter(differ)
            .map(|row| match row.answer {
                Answer {
                    results,
                    hash: Some(hash),
                } => format!("{} finds {results} with hash {hash:016x}", row.title()),
                Answer { results, hash: None } => format!("{} finds {results}", row.title()),
            })
            .collect();
        parties.dedup();
        if !parties.is_empty() {
            let (stage, parties) = (question.stage(), parties.join(", "));
            faults.push(Fault::Differ(format!("{stage}: answers differ: {parties}")));
        }
    }
    faults
}

/// A pool of one thread, and one of all threads.
pub fn pools() -> Result<Vec<Arc<ThreadPool>>> {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let mut counts = vec![1, all];
    counts.dedup();
    counts
        .into_iter()
        .map(|threads| Ok(Arc::new(ThreadPoolBuilder::new().num_threads(threads).build()?)))
        .collect()
}

pub struct OnCpu<'a> {
    pub engine: &'static str,
    pub pool: Arc<ThreadPool>,
    pub question: Question,
    pub work: Box<dyn Fn() -> Result<Rows> + Send + Sync + 'a>,
}

impl OnCpu<'_> {
    fn rows(&self) -> Result<(f64, Rows)> {
        let work = || {
            let start = Instant::now();
            let rows = (self.work)();
            (start.elapsed().as_secs_f64() * 1e3, rows)
        };
        // If a peer panics, the report names it.
        let run = AssertUnwindSafe(|| self.pool.install(work));
        let (time, rows) = catch_unwind(run).map_err(|_| anyhow!("{} panicked", self.engine))?;
        Ok((time, rows?))
    }
}

impl Contestant for OnCpu<'_> {
    fn engine(&self) -> &'static str {
        self.engine
    }

    fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    fn question(&self) -> Question {
        self.question
    }

    fn prepare(&mut self) -> Result<Answer> {
        let (_, rows) = self.rows()?;
        Ok(match self.question {
            Question::Pairs => Answer::of_pairs(&rows),
            _ => Answer::of_hits(&rows),
        })
    }

    fn run(&mut self) -> Result<Vec<(&'static str, f64)>> {
        Ok(vec![(self.question.stage(), self.rows()?.0)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(&'static str, Answer);

    impl Contestant for Fixed {
        fn engine(&self) -> &'static str {
            self.0
        }

        fn threads(&self) -> usize {
            2
        }

        fn question(&self) -> Question {
            Question::Pairs
        }

        fn prepare(&mut self) -> Result<Answer> {
            Ok(self.1)
        }

        fn run(&mut self) -> Result<Vec<(&'static str, f64)>> {
            Ok(vec![(TOTAL, 1.0)])
        }
    }

    #[test]
    fn other_counts_and_other_hashes_name_their_engines() {
        let answer = |results, hash| Answer { results, hash };
        let faults = |answers: [Answer; 3]| {
            let names = ["ours", "theirs", "counted"];
            let mut contestants: Vec<Box<dyn Contestant>> = Vec::new();
            for (name, answer) in names.into_iter().zip(answers) {
                contestants.push(Box::new(Fixed(name, answer)));
            }
            let runs = Runs { most: 3, until: None };
            measure(contestants, runs, Reporter { quiet: true }).1
        };
        let right = answer(3, Some(9));
        assert!(faults([right, right, answer(3, None)]).is_empty());
        let hash = faults([right, answer(3, Some(8)), answer(3, None)]);
        assert_eq!(hash.len(), 1);
        assert!(
            hash[0]
                .to_string()
                .contains("ours (2 threads) finds 3 with hash 0000000000000009"),
            "{hash:?}"
        );
        let text = hash[0].to_string();
        assert!(text.contains("theirs") && !text.contains("counted"), "{hash:?}");
        let counts = &faults([right, right, answer(4, None)])[0];
        assert!(matches!(counts, Fault::Differ(text) if text.contains("counted (2 threads) finds 4")));
    }

    #[test]
    fn medians_lie_in_the_middle() {
        assert_eq!(median(&[1.0]), 1.0);
        assert_eq!(median(&[1.0, 2.0, 9.0]), 2.0);
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), 3.0);
    }

    #[test]
    fn an_engine_that_fails_is_named_and_the_others_go_on() {
        let pool = pools().unwrap().remove(0);
        let engine = |engine, work| -> Box<dyn Contestant> {
            Box::new(OnCpu {
                engine,
                pool: Arc::clone(&pool),
                question: Question::Pairs,
                work,
            })
        };
        let contestants = vec![
            engine("fragile", Box::new(|| panic!("on purpose"))),
            engine("short", Box::new(|| Err(anyhow!("no memory")))),
            engine("sound", Box::new(|| Ok(vec![vec![[1, 2]]]))),
        ];
        let over = Runs {
            most: 2,
            until: Some(Instant::now()),
        };
        let (rows, faults) = measure(contestants, over, Reporter { quiet: true });
        let expected = [
            "total: fragile failed: fragile panicked",
            "total: short failed: no memory",
        ];
        assert_eq!(faults, expected.map(|text| Fault::Failed(text.to_owned())));
        assert_eq!((rows.len(), rows[0].engine, rows[0].answer.results), (1, "sound", 1));
        assert_eq!(rows[0].runs, 1, "the time was over after the first run");
    }
}
