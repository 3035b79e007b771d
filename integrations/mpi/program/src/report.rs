use bytemuck::{Pod, Zeroable};
use gpu_broad_phase_mpi::{Communicator, Stage};

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Row {
    nanoseconds: u64,
    messages: u64,
    bytes: u64,
}

#[derive(Default)]
pub struct Report {
    stages: Vec<(String, Row)>,
}

impl Report {
    pub fn add(&mut self, call: &str, stages: &[Stage]) {
        self.stages.extend(stages.iter().map(|stage| {
            let row = Row {
                nanoseconds: stage.time.as_nanos() as u64,
                messages: stage.traffic.messages,
                bytes: stage.traffic.bytes,
            };
            (format!("{call}: {}", stage.name), row)
        }));
    }

    /// Fastest, mean and slowest time and the traffic of each stage, on rank 0. Collective.
    pub fn print<C: Communicator>(&self, ranks: &C) {
        let own: Vec<_> = self.stages.iter().map(|(_, row)| *row).collect();
        let all: Vec<Row> = bytemuck::pod_collect_to_vec(&ranks.gather(bytemuck::cast_slice(&own)));
        if ranks.rank() > 0 {
            return;
        }
        eprintln!(
            "{:<24} {:>10} {:>10} {:>10} {:>10} {:>12}",
            "", "min ms", "mean ms", "max ms", "messages", "KiB"
        );
        for (at, (name, _)) in self.stages.iter().enumerate() {
            let of_ranks = || all.iter().skip(at).step_by(own.len());
            let milliseconds = || of_ranks().map(|row| row.nanoseconds as f64 / 1e6);
            let mean = milliseconds().sum::<f64>() / ranks.size() as f64;
            eprintln!(
                "{name:<24} {:>10.2} {mean:>10.2} {:>10.2} {:>10} {:>12.1}",
                milliseconds().fold(f64::INFINITY, f64::min),
                milliseconds().fold(0.0, f64::max),
                of_ranks().map(|row| row.messages).sum::<u64>(),
                of_ranks().map(|row| row.bytes).sum::<u64>() as f64 / 1024.0,
            );
        }
    }
}
