//! Ranks as MPI processes. Launches itself under mpirun.

mod common;

use std::env;
use std::process::{Command, ExitCode};

use common::{Kind, Rng, boxes, checks};
use gpu_broad_phase::Aabb;
use gpu_broad_phase_mpi::{Communicator as _, Device, Objects, Processes, Ranks, RanksDescriptor};
use wgpu::Backends;

fn main() -> ExitCode {
    // Set by the launchers of Open MPI and PMI.
    if env::var_os("OMPI_COMM_WORLD_SIZE")
        .or_else(|| env::var_os("PMI_SIZE"))
        .is_some()
    {
        as_rank();
        return ExitCode::SUCCESS;
    }
    let program = env::current_exe().expect("a program has a path");
    for (ranks, device) in [
        (1, "cpu"),
        (2, "cpu"),
        (3, "cpu"),
        (4, "cpu"),
        (7, "cpu"),
        (8, "cpu"),
        (3, "vulkan"),
    ] {
        let status = Command::new("mpirun")
            .args(["--allow-run-as-root", "--oversubscribe", "-n", &ranks.to_string()])
            .arg(&program)
            .arg(device)
            .status()
            .expect("mpirun starts");
        if !status.success() {
            eprintln!("{ranks} ranks on {device}: {status}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn as_rank() {
    let universe = mpi::initialize().expect("MPI starts");
    let world = Processes::new(&universe.world());
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panicked| {
        told(panicked);
        std::process::abort();
    }));
    let (device, rounds) = match env::args().nth(1).as_deref() {
        Some("vulkan") => (Device::Adapter(Backends::VULKAN), 12),
        _ => (Device::Cpu, 24),
    };
    let (mut pairs, mut rows, mut near) = (0, 0, 0);
    for round in 0..rounds {
        pairs += checks::steps(&world, round, device)[0];
        rows += checks::questions(&world, round, device).iter().sum::<usize>();
        near += checks::neighbors(&world, round, device);
    }
    let (moved, most) = match device {
        Device::Cpu => checks::flight(&world, Kind::PowerLaw, 2000, 200, device),
        _ => checks::flight(&world, Kind::PowerLaw, 500, 10, device),
    };
    if device != Device::Cpu {
        buffers(&world, device);
    }
    if world.rank() == 0 {
        let ranks = world.size();
        println!("{ranks} ranks, {device:?}: {pairs} pairs, {rows} rows, {near} neighbours, {moved} moved, {most:.3}");
        assert!(pairs > 100 && rows > 1000 && near > 1000 && most < 1.1 && (ranks == 1 || moved > 10));
    }
}

fn buffers(world: &Processes, device: Device) {
    let settings = RanksDescriptor {
        device,
        ..RanksDescriptor::default()
    };
    let ranks = Ranks::new(world.split(0), &settings).unwrap();
    let moved = boxes(Kind::Uniform, 100 + world.rank(), &mut Rng(3));
    let mut objects = Objects {
        ids: (0..moved.len() as u64).collect(),
        ..Objects::default()
    };
    let (device, queue) = ranks.device().expect("no rank is on the CPU");
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: (moved.len() * size_of::<Aabb>()) as u64,
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: false,
    });
    queue.write_buffer(&buffer, 0, bytemuck::cast_slice(&moved));
    ranks.read_boxes(&buffer, &mut objects).unwrap();
    assert_eq!(objects.boxes, moved);
    objects.ids.push(u64::MAX);
    assert!(ranks.read_boxes(&buffer, &mut objects).unwrap_err().contains("bytes"));
}
