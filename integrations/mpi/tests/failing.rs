//! A rank that fails or panics ends the job. Launches itself under mpirun.

use std::env;
use std::process::{Command, ExitCode};

use gpu_broad_phase::{Aabb, Ray};
use gpu_broad_phase_mpi::{Communicator as _, Device, Owned, Processes, Ranks, RanksDescriptor, run};

const RANKS: usize = 4;
const FAILING: usize = 2;

/// Way to fail, expected job status, expected message.
const WAYS: [(&str, i32, &str); 5] = [
    ("error", 1, "rank 2 ends the job: user code fails"),
    ("first", 1, "rank 2 ends the job: user code fails"),
    ("panic", 101, "rank 2 panicked and ends the job"),
    ("own-panic", 101, "rank 2 panicked and ends the job"),
    ("none", 0, ""),
];

fn main() -> ExitCode {
    if env::var_os("OMPI_COMM_WORLD_SIZE")
        .or_else(|| env::var_os("PMI_SIZE"))
        .is_some()
    {
        let way = env::args().nth(1).expect("a way");
        if way == "own-panic" {
            // This way starts MPI without `run`.
            let universe = mpi::initialize().expect("MPI starts");
            program(Processes::new(&universe.world()), &way).expect("it panics");
        } else {
            run(|processes| program(processes, &way));
        }
        return ExitCode::SUCCESS;
    }
    for (way, status, told) in WAYS {
        let ended = Command::new("mpirun")
            .args(["--allow-run-as-root", "--oversubscribe", "--timeout", "600"])
            .args(["-n", &RANKS.to_string()])
            .arg(env::current_exe().expect("a program has a path"))
            .arg(way)
            .output()
            .expect("mpirun starts");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(status), "{way}: {said}");
        assert!(said.contains(told), "{way}: {said}");
        println!("{way}: status {status}");
    }
    ExitCode::SUCCESS
}

fn program(processes: Processes, way: &str) -> Result<(), Box<dyn std::error::Error>> {
    let fails = processes.rank() == FAILING;
    if fails && way == "first" {
        return Err("user code fails".into());
    }
    let descriptor = RanksDescriptor {
        device: Device::Cpu,
        ..RanksDescriptor::default()
    };
    let mut ranks = Ranks::new(processes, &descriptor)?;
    let first = 1000 * ranks.communicator().rank() as u64;
    let mut owned = Owned::default();
    for id in first..first + 1000 {
        let low = [(id % 40) as f32, (id / 40 % 40) as f32, (id / 1600) as f32];
        owned.moving.boxes.push(Aabb::new(low, low.map(|low| low + 1.0)));
        owned.moving.ids.push(id);
    }
    ranks.balance(&mut owned)?;
    if fails {
        match way {
            "error" => return Err("user code fails".into()),
            "panic" | "own-panic" => panic!("user code panics"),
            _ => {}
        }
    }
    for _ in 0..3 {
        ranks.balance(&mut owned)?;
        ranks.step(&owned)?;
    }
    ranks.closest_hits(&[Ray::new([0.5; 3], [0.0, 0.0, 1.0], 100.0)])?;
    Ok(())
}
