use std::io::{self, Write};

pub fn write(file: &mut impl Write, positions: &[[f32; 3]], faces: &[[u32; 3]]) -> io::Result<()> {
    write!(
        file,
        "ply\nformat binary_little_endian 1.0\nelement vertex {}\nproperty float x\nproperty float y\nproperty float \
         z\n\
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
    Ok(())
}
