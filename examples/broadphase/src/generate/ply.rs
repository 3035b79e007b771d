//! Meshes as binary PLY.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::output::create;

pub fn write(path: &Path, positions: &[[f32; 3]], faces: &[[u32; 3]]) -> io::Result<()> {
    let mut file = BufWriter::new(create(path)?);
    write!(
        file,
        "ply\nformat binary_little_endian 1.0\nelement vertex {}\nproperty float x\nproperty float y\nproperty float z\n\
         element face {}\nproperty list uchar int vertex_indices\nend_header\n",
        positions.len(),
        faces.len(),
    )?;
    for value in positions.iter().flatten() {
        file.write_all(&value.to_le_bytes())?;
    }
    for face in faces {
        file.write_all(&[3])?;
        for vertex in face {
            file.write_all(&vertex.to_le_bytes())?;
        }
    }
    file.flush()
}
