//! Kills a rank at each of its communicator calls in turn. All ranks must end, without an incomplete file.
//!
//! The test launches itself as ranks, one of which stops at a call and prints its process id.

use std::cell::Cell;
use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use gpu_broad_phase_mpi::{Communicator, Messages, Processes};

/// Environment variable: the rank that stops, and the index of its call.
const STOP: &str = "STOP_AT";
const RANKS: usize = 3;

struct Stopping {
    ranks: Processes,
    /// Counts calls on split communicators, too.
    calls: Rc<Cell<usize>>,
}

impl Stopping {
    fn call(&self) -> &Processes {
        let call = self.calls.replace(self.calls.get() + 1);
        if env::var(STOP).is_ok_and(|stop| stop == format!("{} {call}", self.ranks.rank())) {
            println!("stopped {}", std::process::id());
            loop {
                thread::sleep(Duration::from_secs(1));
            }
        }
        &self.ranks
    }
}

impl Communicator for Stopping {
    fn rank(&self) -> usize {
        self.ranks.rank()
    }

    fn size(&self) -> usize {
        self.ranks.size()
    }

    fn rank_on_machine(&self) -> usize {
        self.ranks.rank_on_machine()
    }

    fn sum(&self, words: &mut [u64]) {
        self.call().sum(words);
    }

    fn largest(&self, words: &mut [u64]) {
        self.call().largest(words);
    }

    fn gather(&self, row: &[u8]) -> Vec<u8> {
        self.call().gather(row)
    }

    fn broadcast(&self, root: usize, bytes: &mut [u8]) {
        self.call().broadcast(root, bytes);
    }

    fn exchange(&self, messages: Messages) -> Messages {
        self.call().exchange(messages)
    }

    fn split(&self, part: usize) -> Self {
        Self {
            ranks: self.call().split(part),
            calls: Rc::clone(&self.calls),
        }
    }
}

fn main() -> ExitCode {
    if env::var_os("OMPI_COMM_WORLD_SIZE")
        .or_else(|| env::var_os("PMI_SIZE"))
        .is_some()
    {
        return broadphase_mpi::main_over(|ranks| Stopping {
            ranks,
            calls: Rc::default(),
        });
    }
    let folder = tempfile::tempdir().expect("a folder");
    let [input, output] = ["boxes.npy", "pairs.npy"].map(|name| folder.path().join(name));
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    let rows = 2000;
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, 6), }}");
    file.extend(format!("{header:<117}\n").bytes());
    for row in 0..rows {
        for place in [0.0, 1.0_f32] {
            for pace in [7, 11, 13] {
                file.extend(((row * pace % 23) as f32 + place).to_le_bytes());
            }
        }
    }
    fs::write(&input, file).expect("a file");
    assert!(killed(RANKS, 0, &input, &output, None).is_none());
    let whole = fs::read(&output).expect("the file of a run that nobody disturbed");
    let (mut kills, mut not_reached, mut slowest) = (0, 0, Duration::ZERO);
    for call in 0.. {
        let rank = call % RANKS;
        let Some(ended) = killed(rank, call, &input, &output, Some(&whole)) else {
            // Ranks of smaller groups make fewer calls.
            not_reached += 1;
            if not_reached == RANKS {
                break;
            }
            continue;
        };
        not_reached = 0;
        kills += 1;
        slowest = slowest.max(ended);
    }
    println!("{kills} ranks killed; all others had ended after {slowest:?} at most");
    assert!(kills > 20, "a run has more calls");
    ExitCode::SUCCESS
}

/// Time from the kill to the end. `None` if the run made fewer calls.
fn killed(rank: usize, call: usize, input: &Path, output: &Path, whole: Option<&Vec<u8>>) -> Option<Duration> {
    let _ = fs::remove_file(output);
    let mut run = Command::new("mpirun")
        .args(["--allow-run-as-root", "--oversubscribe", "--timeout", "600"])
        .args(["-n", &RANKS.to_string()])
        .args(["-x", STOP])
        .arg(env::current_exe().expect("a program has a path"))
        .args(["pairs", "--backend", "cpu", "-q", "-o"])
        .args([output, input])
        .env(STOP, format!("{rank} {call}"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("mpirun starts");
    let mut said = String::new();
    let mut lines = BufReader::new(run.stdout.take().expect("piped"));
    lines.read_line(&mut said).expect("text");
    let part = output.with_file_name("pairs.npy.part");
    let Some(process) = said.trim().strip_prefix("stopped ") else {
        assert!(run.wait().expect("it ends").success() && output.exists() && !part.exists());
        return None;
    };
    let started = Instant::now();
    let killed = Command::new("kill")
        .args(["-9", process])
        .status()
        .expect("kill starts");
    assert!(killed.success());
    let status = run.wait().expect("it ends");
    let took = started.elapsed();
    let mut told = String::new();
    run.stderr
        .take()
        .expect("piped")
        .read_to_string(&mut told)
        .expect("text");
    assert!(!status.success(), "rank {rank} killed at call {call}");
    assert!(
        !told.contains("time limit"),
        "rank {rank} killed at call {call}: {told}"
    );
    // mpirun prints this. It may name a rank that it ended itself.
    assert!(told.contains("signal 9"), "there is a message: {told}");
    // At the last call, the file may already be renamed.
    assert!(
        !output.exists() || fs::read(output).ok().as_ref() == whole,
        "a file is not whole"
    );
    assert!(!part.exists(), "rank {rank} killed at call {call}: a part is left");
    Some(took)
}
