use std::io::{self, BufWriter, Read, Write};

use crc32fast::Hasher;
use serde::{Deserialize, Serialize};

use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::InputError;
use crate::api::input::{Queries, Rays, Source};
use crate::api::queries::{Query, QueryMode, SelfQuery};
use crate::api::scene::{QueryInput, Scene, Statics};
use crate::api::types::{Aabb, Pair, Ray, SweptRay};

/// First bytes of a file. The byte 0x89 and both kinds of line ends change if the file is transferred as text.
const MAGIC: [u8; 8] = *b"\x89GBPS\r\n\x1a";
/// Incremented with each change of the stored data, which includes the descriptor's fields.
const FORMAT: u32 = 3;

/// Input and descriptor of a step as a file, for bug reports.
///
/// Run the same step again, bit for bit, with [`BroadPhase::step_scene`](crate::BroadPhase::step_scene),
/// [`cpu::step_scene`](crate::cpu::step_scene) or the command `broadphase replay FILE --verify`.
///
/// ```
/// # use std::fs::File;
/// # use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Scene, Snapshot, cpu};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("fault.snapshot");
/// let objects = [Aabb::new([0.0; 3], [1.0; 3]), Aabb::new([0.5; 3], [f32::INFINITY; 3])];
/// let scene = Scene {
///     objects: objects[..].into(),
///     ..Scene::default()
/// };
/// Snapshot::of(&BroadPhaseDescriptor::default(), &scene)?.write(File::create(&path)?)?;
///
/// let snapshot = Snapshot::read(File::open(&path)?)?;
/// let result = cpu::step_scene(&snapshot.descriptor, &snapshot.scene())?;
/// assert_eq!(result.pairs.len(), 1);
/// # Ok(())
/// # }
/// ```
///
/// # In a renderer
///
/// [`GpuBroadPhase::descriptor`](crate::GpuBroadPhase::descriptor) returns the descriptor, and
/// [`ObjectSet::scene`](crate::ObjectSet::scene) the objects on the host. Before that, read back inputs that are only
/// in your own buffers: the error names them.
///
/// # Format
///
/// Eight identifying bytes, format number, version of this library, descriptor, input, and a CRC-32 of everything.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Options of the broad phase, without the label and the text of the
    /// [`pair_filter`](BroadPhaseDescriptor::pair_filter).
    pub descriptor: BroadPhaseDescriptor<'static>,
    input: Input,
}

/// A [`Snapshot`] could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The reader failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The first bytes are not those of a snapshot.
    #[error("not a snapshot of gpu-broad-phase, or changed in transfer: send it as a binary file or in an archive")]
    NotASnapshot,
    /// Another version wrote the file in another format.
    #[error(
        "the snapshot has format {format}, this version reads {FORMAT}: use gpu-broad-phase {written_by}, which wrote it"
    )]
    OtherFormat {
        /// Format number of the file.
        format: u32,
        /// Version of this library that wrote the file.
        written_by: String,
    },
    /// The file begins as a snapshot, but is cut short or damaged.
    #[error("the snapshot is cut short or damaged ({reason}): transfer or write it again")]
    Damaged {
        /// Description of the damage.
        reason: String,
    },
}

impl SnapshotError {
    fn damaged(reason: impl ToString) -> Self {
        Self::Damaged {
            reason: reason.to_string(),
        }
    }
}

/// Data after [`MAGIC`] in all formats.
#[derive(Serialize, Deserialize)]
struct Head<'a> {
    format: u32,
    written_by: &'a str,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Input {
    #[serde(with = "rows")]
    objects: Vec<Aabb>,
    #[serde(with = "rows")]
    worlds: Vec<u32>,
    #[serde(with = "rows")]
    static_objects: Vec<Aabb>,
    #[serde(with = "rows")]
    static_worlds: Vec<u32>,
    static_generation: u64,
    #[serde(with = "rows")]
    excluded: Vec<Pair>,
    #[serde(with = "rows")]
    pair_filter_data: Vec<u32>,
    rays: InputRays,
    queries: InputQueries,
    query_mode: QueryMode,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum InputRays {
    Plain(#[serde(with = "rows")] Vec<Ray>),
    Swept(#[serde(with = "rows")] Vec<SweptRay>),
    // Files store indices of variants. `None` is last, so that the others keep theirs.
    None,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum InputQueries {
    None,
    Boxes(#[serde(with = "rows")] Vec<Aabb>),
    General(#[serde(with = "rows")] Vec<Query>),
    Objects(SelfQuery),
}

impl Snapshot {
    /// Copies the input of a step.
    ///
    /// # Errors
    /// [`NotOnHost`](InputError::NotOnHost): part of the scene is on a device. Read it back and pass the copy.
    pub fn of(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> Result<Self, InputError> {
        scene.check_on_host()?;
        Ok(Self {
            descriptor: BroadPhaseDescriptor {
                label: None,
                pair_filter: None,
                ..*descriptor
            },
            input: Input {
                objects: scene.objects.on_host().to_vec(),
                worlds: scene.worlds.on_host().to_vec(),
                static_objects: scene.statics.objects.on_host().to_vec(),
                static_worlds: scene.statics.worlds.on_host().to_vec(),
                static_generation: scene.statics.generation,
                excluded: scene.excluded_pairs.on_host().to_vec(),
                pair_filter_data: scene.pair_filter_data.on_host().to_vec(),
                rays: match scene.query.rays {
                    Rays::None => InputRays::None,
                    Rays::Plain(rays) => InputRays::Plain(rays.on_host().to_vec()),
                    Rays::Swept(rays) => InputRays::Swept(rays.on_host().to_vec()),
                },
                queries: match scene.query.queries {
                    Queries::None => InputQueries::None,
                    Queries::Boxes(boxes) => InputQueries::Boxes(boxes.on_host().to_vec()),
                    Queries::General(queries) => InputQueries::General(queries.on_host().to_vec()),
                    Queries::Objects(query) => InputQueries::Objects(query),
                },
                query_mode: scene.query.query_mode,
            },
        })
    }

    /// Returns the input as a scene.
    pub fn scene(&self) -> Scene<'_> {
        let input = &self.input;
        Scene {
            objects: Source::Host(&input.objects),
            worlds: Source::Host(&input.worlds),
            statics: Statics {
                objects: Source::Host(&input.static_objects),
                worlds: Source::Host(&input.static_worlds),
                generation: input.static_generation,
            },
            excluded_pairs: Source::Host(&input.excluded),
            pair_filter_data: Source::Host(&input.pair_filter_data),
            query: QueryInput {
                rays: match &input.rays {
                    InputRays::None => Rays::None,
                    InputRays::Plain(rays) => Rays::Plain(Source::Host(rays)),
                    InputRays::Swept(rays) => Rays::Swept(Source::Host(rays)),
                },
                queries: match &input.queries {
                    InputQueries::None => Queries::None,
                    InputQueries::Boxes(boxes) => Queries::Boxes(Source::Host(boxes)),
                    InputQueries::General(queries) => Queries::General(Source::Host(queries)),
                    InputQueries::Objects(query) => Queries::Objects(*query),
                },
                query_mode: input.query_mode,
                ..QueryInput::default()
            },
            ..Scene::default()
        }
    }

    /// Writes the snapshot: about 32 bytes per object and ray.
    ///
    /// # Errors
    /// Fails if the writer does.
    pub fn write(&self, writer: impl Write) -> io::Result<()> {
        let mut summed = ChecksumWriter {
            writer: BufWriter::new(writer),
            sum: Hasher::new(),
            error: None,
        };
        summed.write_all(&MAGIC)?;
        let head = Head {
            format: FORMAT,
            written_by: env!("CARGO_PKG_VERSION"),
        };
        if let Err(error) = postcard::to_io(&(head, &self.descriptor, &self.input), &mut summed) {
            return Err(summed.error.unwrap_or_else(|| io::Error::other(error)));
        }
        let ChecksumWriter { mut writer, sum, .. } = summed;
        writer.write_all(&sum.finalize().to_le_bytes())?;
        writer.flush()
    }

    /// Reads a snapshot to the end of the reader.
    ///
    /// Boxes, rays and queries keep their bits, even invalid ones. Takes at most twice the size of the file in memory.
    ///
    /// # Errors
    /// - [`Io`](SnapshotError::Io): the reader failed.
    /// - [`NotASnapshot`](SnapshotError::NotASnapshot): the file is something else, or was transferred as text.
    /// - [`OtherFormat`](SnapshotError::OtherFormat): another version wrote it in another format.
    /// - [`Damaged`](SnapshotError::Damaged): the file is cut short or changed.
    pub fn read(mut reader: impl Read) -> Result<Self, SnapshotError> {
        let mut bytes = Vec::new();
        // The first bytes are checked before the rest is read, since a file of another kind may be long.
        reader.by_ref().take(MAGIC.len() as u64).read_to_end(&mut bytes)?;
        if bytes != MAGIC {
            return Err(SnapshotError::NotASnapshot);
        }
        reader.read_to_end(&mut bytes)?;
        let (summed, sum) = bytes
            .split_last_chunk()
            .filter(|(summed, _)| summed.len() >= MAGIC.len())
            .ok_or_else(|| SnapshotError::damaged("incomplete header"))?;
        if crc32fast::hash(summed) != u32::from_le_bytes(*sum) {
            return Err(SnapshotError::damaged("wrong checksum"));
        }
        let stored = &summed[MAGIC.len()..];
        let (head, stored) = postcard::take_from_bytes::<Head<'_>>(stored).map_err(SnapshotError::damaged)?;
        if head.format != FORMAT {
            return Err(SnapshotError::OtherFormat {
                format: head.format,
                written_by: head.written_by.escape_default().take(LONGEST_VERSION).collect(),
            });
        }
        let ((descriptor, input), rest) = postcard::take_from_bytes(stored).map_err(SnapshotError::damaged)?;
        if !rest.is_empty() {
            return Err(SnapshotError::damaged(format!("{} extra bytes", rest.len())));
        }
        Ok(Self { descriptor, input })
    }
}

/// Maximum characters of a version in an error, since a damaged file may have any text.
const LONGEST_VERSION: usize = 40;

/// A writer that computes the checksum, and keeps I/O errors, which postcard replaces with its own.
struct ChecksumWriter<W> {
    writer: W,
    sum: Hasher,
    error: Option<io::Error>,
}

impl<W: Write> Write for ChecksumWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes).map_err(|error| {
            let kind = error.kind();
            self.error = Some(error);
            kind
        })?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    /// Does nothing: [`Snapshot::write`] flushes `writer` itself.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Stores rows as little-endian bytes, bit for bit. The number of rows is computed from the bytes, so a damaged file
/// cannot cause a huge allocation.
mod rows {
    use bytemuck::Pod;
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub fn serialize<T: Pod, S: Serializer>(rows: &[T], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytemuck::cast_slice(rows))
    }

    pub fn deserialize<'de, T: Pod, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
        let bytes = <&[u8]>::deserialize(deserializer)?;
        if !bytes.len().is_multiple_of(size_of::<T>()) {
            return Err(Error::custom("incomplete row"));
        }
        let mut rows = vec![T::zeroed(); bytes.len() / size_of::<T>()];
        bytemuck::cast_slice_mut(&mut rows).copy_from_slice(bytes);
        Ok(rows)
    }
}
