use std::io::{Error, ErrorKind, Result};
use std::path::Path;

use gpu_broad_phase::Aabb;

type Frame = (Vec<[f64; 3]>, Vec<[u32; 3]>);

pub fn boxes(folder: &Path) -> Result<Vec<Aabb>> {
    let (before, faces) = frame(&folder.join("frame0.ply"))?;
    let (after, _) = frame(&folder.join("frame1.ply"))?;
    let sorted = |a: u32, b: u32| [a.min(b), a.max(b)];
    let of_face = |&[a, b, c]: &[u32; 3]| [sorted(a, b), sorted(b, c), sorted(c, a)];
    let mut edges: Vec<[u32; 2]> = faces.iter().flat_map(of_face).collect();
    edges.sort_unstable_by_key(|&[a, b]| (b, a));
    edges.dedup();
    let of_vertex = |(a, b): (&[f64; 3], &[f64; 3])| {
        let low = [0, 1, 2].map(|axis| (a[axis].min(b[axis]) as f32).next_down().next_down());
        let high = [0, 1, 2].map(|axis| (a[axis].max(b[axis]) as f32).next_up().next_up());
        Aabb::new(low, high)
    };
    let vertices: Vec<Aabb> = before.iter().zip(&after).map(of_vertex).collect();
    let around = |of: &[u32]| {
        let joined = of.iter().map(|&vertex| vertices[vertex as usize]).reduce(|all, other| {
            let low = [0, 1, 2].map(|axis| all.min[axis].min(other.min[axis]));
            let high = [0, 1, 2].map(|axis| all.max[axis].max(other.max[axis]));
            Aabb::new(low, high)
        });
        joined.unwrap_or(vertices[0])
    };
    let elements = edges
        .iter()
        .map(|edge| around(edge))
        .chain(faces.iter().map(|face| around(face)));
    let elements: Vec<Aabb> = elements.collect();
    Ok([vertices.clone(), elements].concat())
}

fn frame(path: &Path) -> Result<Frame> {
    let wrong = |what: &str| Error::new(ErrorKind::InvalidData, format!("{}: {what}", path.display()));
    let bytes = std::fs::read(path).map_err(|error| wrong(&error.to_string()))?;
    let end = b"end_header\n";
    let header = bytes.windows(end.len()).position(|window| window == end);
    let (header, mut rest) = bytes.split_at(header.ok_or_else(|| wrong("no header"))? + end.len());
    let header = String::from_utf8_lossy(header);
    let is_big = header.contains("binary_big_endian");
    let is_double = header.contains("property double x");
    if !is_big && !header.contains("binary_little_endian") || !is_double && !header.contains("property float x") {
        return Err(wrong("neither binary floats nor binary doubles"));
    }
    let ordered = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        if is_big {
            bytes.reverse();
        }
        bytes
    };
    let width = if is_double { 8 } else { 4 };
    let number = |bytes: &[u8]| match is_double {
        true => f64::from_le_bytes(bytemuck::pod_read_unaligned(&ordered(bytes))),
        false => f64::from(f32::from_le_bytes(bytemuck::pod_read_unaligned(&ordered(bytes)))),
    };
    let count = |what: &str| {
        let count = header
            .lines()
            .find_map(|line| line.strip_prefix(what)?.trim().parse::<usize>().ok());
        count.ok_or_else(|| wrong(what))
    };
    let mut take = |bytes: usize| {
        let (taken, more) = rest.split_at_checked(bytes).ok_or_else(|| wrong("too short"))?;
        rest = more;
        Ok::<_, Error>(taken)
    };
    let mut vertices = Vec::new();
    for _ in 0..count("element vertex ")? {
        let numbers: Vec<f64> = take(3 * width)?.chunks_exact(width).map(number).collect();
        vertices.push([numbers[0], numbers[1], numbers[2]]);
    }
    let mut faces = Vec::new();
    for _ in 0..count("element face ")? {
        let face = take(13)?;
        if face[0] != 3 {
            return Err(wrong("a face that is no triangle"));
        }
        let corner = |at: usize| u32::from_le_bytes(bytemuck::pod_read_unaligned(&ordered(&face[1 + 4 * at..][..4])));
        faces.push([0, 1, 2].map(corner));
    }
    Ok((vertices, faces))
}
