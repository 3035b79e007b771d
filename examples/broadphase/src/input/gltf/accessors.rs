//! Elements of accessors, from buffers in the file, in data URIs and in files beside it.

use std::borrow::Cow;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use percent_encoding::percent_decode_str;

use super::document::{Buffer, Document, Sparse};
use super::entry;
use crate::input::{most_unpacked, open_file, shortened};

pub const BYTE: u32 = 5120;
pub const UNSIGNED_BYTE: u32 = 5121;
pub const SHORT: u32 = 5122;
pub const UNSIGNED_SHORT: u32 = 5123;
pub const UNSIGNED_INT: u32 = 5125;
pub const FLOAT: u32 = 5126;

const LARGEST_STRIDE: u64 = 252;

/// Name of an accessor's type, and its number of components.
pub type Shape = (&'static str, usize);
pub const SCALAR: Shape = ("SCALAR", 1);
pub const VEC3: Shape = ("VEC3", 3);
pub const VEC4: Shape = ("VEC4", 4);
pub const MAT4: Shape = ("MAT4", 16);

fn component_size(kind: u32) -> usize {
    match kind {
        BYTE | UNSIGNED_BYTE => 1,
        SHORT | UNSIGNED_SHORT => 2,
        _ => 4,
    }
}

pub struct Elements<'a> {
    bytes: Cow<'a, [u8]>,
    stride: usize,
    pub count: u64,
    kind: u32,
    is_normalized: bool,
}

impl Elements<'_> {
    fn component(&self, place: usize, component: usize) -> &[u8] {
        let size = component_size(self.kind);
        &self.bytes[place * self.stride + component * size..][..size]
    }

    /// A component as an integer. Only for types without sign.
    pub fn integer(&self, place: usize, component: usize) -> u32 {
        let bytes = self.component(place, component);
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        u32::from_le_bytes(word)
    }

    pub fn number(&self, place: usize, component: usize) -> f64 {
        let bytes = self.component(place, component);
        let of_integer = |value: f64, largest: f64| match self.is_normalized {
            true => (value / largest).max(-1.0),
            false => value,
        };
        match self.kind {
            BYTE => of_integer((bytes[0] as i8).into(), 127.0),
            UNSIGNED_BYTE => of_integer(bytes[0].into(), 255.0),
            SHORT => of_integer(i16::from_le_bytes([bytes[0], bytes[1]]).into(), 32767.0),
            UNSIGNED_SHORT => of_integer(u16::from_le_bytes([bytes[0], bytes[1]]).into(), 65535.0),
            _ => f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]).into(),
        }
    }

    /// Bytes of memory that are not those of the scene file.
    pub fn owned(&self) -> u64 {
        match &self.bytes {
            Cow::Owned(bytes) => bytes.len() as u64,
            Cow::Borrowed(_) => 0,
        }
    }

    pub fn vector(&self, place: usize) -> [f64; 3] {
        std::array::from_fn(|axis| self.number(place, axis))
    }
}

pub struct Accessors<'a> {
    document: &'a Document,
    inlined: &'a [Option<Vec<u8>>],
    folder: Option<&'a Path>,
    binary: Option<&'a [u8]>,
    length: u64,
    /// Bytes of the largest buffer file.
    largest_file: u64,
    /// Bytes of elements so far, counted once per mesh instance.
    placed: u64,
}

impl<'a> Accessors<'a> {
    /// `inlined` has the buffers of data URIs, `binary` is the one in a GLB, and `length` the bytes of the scene file.
    pub fn new(
        document: &'a Document,
        inlined: &'a [Option<Vec<u8>>],
        folder: Option<&'a Path>,
        binary: Option<&'a [u8]>,
        length: u64,
    ) -> Self {
        Self {
            document,
            inlined,
            folder,
            binary,
            length,
            largest_file: 0,
            placed: 0,
        }
    }

    /// Fails above the limit of bytes: a small file may instance a mesh any number of times.
    pub fn room(&mut self, size: u64, count: u64) -> Result<()> {
        let most = most_unpacked(self.length.saturating_add(self.largest_file));
        self.placed = self.placed.saturating_add(size.saturating_mul(count));
        if self.placed > most {
            bail!(
                "too large: repeated meshes and sparse accessors take {} bytes, the limit is {most}",
                self.placed
            );
        }
        Ok(())
    }

    pub fn read(&mut self, index: u32, shape: Shape, kinds: &[u32]) -> Result<Elements<'a>> {
        self.elements(index, shape, kinds, false)
    }

    /// Like [`read`](Self::read), but an accessor without data holds zeros, as exporters write morph targets that move
    /// no vertex. Elsewhere, missing data means compression.
    pub fn read_or_zeros(&mut self, index: u32, shape: Shape, kinds: &[u32]) -> Result<Elements<'a>> {
        self.elements(index, shape, kinds, true)
    }

    fn elements(
        &mut self,
        index: u32,
        (name, components): Shape,
        kinds: &[u32],
        may_be_zeros: bool,
    ) -> Result<Elements<'a>> {
        let accessor = entry(&self.document.accessors, index, "accessor")?;
        let mut read = || {
            let sparse = accessor.sparse.as_deref();
            if accessor.buffer_view.is_none() && sparse.is_none() && !may_be_zeros {
                bail!("no buffer view");
            }
            if accessor.kind != name {
                bail!("type {:?}, needs {name}", shortened(&accessor.kind));
            }
            let kind = accessor.component_type;
            if !kinds.contains(&kind) {
                bail!("unsupported component type {kind}");
            }
            let (size, count) = ((components * component_size(kind)) as u64, accessor.count);
            let (mut bytes, mut stride) = match accessor.buffer_view {
                Some(view) => self.span(view, accessor.byte_offset, count, size)?,
                None => {
                    self.room(size, count)?;
                    (Cow::Owned(vec![0; (size * count) as usize]), size as usize)
                }
            };
            if let Some(sparse) = sparse {
                self.room(size, count)?;
                let places = bytes.chunks(stride).take(count as usize);
                let mut whole: Vec<u8> = places.flat_map(|place| &place[..size as usize]).copied().collect();
                self.replace(&mut whole, size, sparse).context("sparse")?;
                (bytes, stride) = (Cow::Owned(whole), size as usize);
            }
            Ok(Elements {
                bytes,
                stride,
                count,
                kind,
                is_normalized: accessor.normalized,
            })
        };
        read().with_context(|| format!("accessor {index}"))
    }

    fn replace(&mut self, whole: &mut [u8], size: u64, sparse: &Sparse) -> Result<()> {
        if sparse.count == 0 {
            return Ok(());
        }
        let kind = sparse.indices.component_type;
        if ![UNSIGNED_BYTE, UNSIGNED_SHORT, UNSIGNED_INT].contains(&kind) {
            bail!("unsupported component type {kind}");
        }
        let index_size = component_size(kind) as u64;
        self.room(index_size + size, sparse.count)?;
        let (indices, values) = (&sparse.indices, &sparse.values);
        let (bytes, stride) = self.span(indices.buffer_view, indices.byte_offset, sparse.count, index_size)?;
        let indices = Elements {
            bytes,
            stride,
            count: sparse.count,
            kind,
            is_normalized: false,
        };
        let (values, stride) = self.span(values.buffer_view, values.byte_offset, sparse.count, size)?;
        let (size, count) = (size as usize, whole.len() / size as usize);
        for place in 0..sparse.count as usize {
            let index = indices.integer(place, 0) as usize;
            if index >= count {
                bail!("index {place}: unknown element {index}: there are {count}, from 0");
            }
            whole[index * size..][..size].copy_from_slice(&values[place * stride..][..size]);
        }
        Ok(())
    }

    /// Bytes of `count` elements of `size` bytes, and their stride.
    fn span(&mut self, view: u32, start: u64, count: u64, size: u64) -> Result<(Cow<'a, [u8]>, usize)> {
        let view = entry(&self.document.buffer_views, view, "buffer view")?;
        let stride = view.byte_stride.unwrap_or(size);
        if stride < size || stride > LARGEST_STRIDE {
            bail!("invalid stride: {size}-byte elements every {stride} bytes");
        }
        let end = count
            .checked_sub(1)
            .context("no elements")?
            .checked_mul(stride)
            .and_then(|bytes| bytes.checked_add(size)?.checked_add(start));
        let Some(end) = end.filter(|&end| end <= view.byte_length) else {
            bail!(
                "out of range: {count} elements from byte {start}, the buffer view has {} bytes",
                view.byte_length
            );
        };
        let buffer = entry(&self.document.buffers, view.buffer, "buffer")?;
        let length = buffer.byte_length;
        let last = view.byte_offset.checked_add(view.byte_length);
        if last.is_none_or(|last| last > length) {
            bail!(
                "out of range: a buffer view of {} bytes from byte {}, buffer {} has {length}",
                view.byte_length,
                view.byte_offset,
                view.buffer
            );
        }
        let (start, end) = (view.byte_offset + start, view.byte_offset + end);
        let bytes = self.slice(view.buffer, buffer, start, end);
        let bytes = bytes.with_context(|| format!("buffer {}", view.buffer))?;
        Ok((bytes, stride as usize))
    }

    fn slice(&mut self, index: u32, buffer: &Buffer, start: u64, end: u64) -> Result<Cow<'a, [u8]>> {
        let length = buffer.byte_length;
        let bytes = match (&self.inlined[index as usize], &buffer.uri) {
            (Some(bytes), _) => bytes,
            (None, Some(uri)) => return self.slice_of_file(uri, length, start, end).map(Cow::Owned),
            (None, None) if index == 0 => self.binary.context("no buffer data in the file")?,
            (None, None) => bail!("no URI"),
        };
        if (bytes.len() as u64) < length {
            bail!("truncated: {length} bytes stated, {} found", bytes.len());
        }
        Ok(Cow::Borrowed(&bytes[start as usize..end as usize]))
    }

    fn slice_of_file(&mut self, uri: &str, length: u64, start: u64, end: u64) -> Result<Vec<u8>> {
        let path = self.beside(uri)?;
        let mut read = || {
            let (mut file, there) = open_file(&path)?;
            if there < length {
                bail!("truncated: {length} bytes stated, {there} found");
            }
            self.largest_file = self.largest_file.max(there);
            file.seek(SeekFrom::Start(start))?;
            let mut bytes = vec![0; (end - start) as usize];
            file.read_exact(&mut bytes)?;
            Ok(bytes)
        };
        read().with_context(|| shortened(uri))
    }

    fn beside(&self, uri: &str) -> Result<PathBuf> {
        let decoded = percent_decode_str(uri).decode_utf8_lossy();
        let path = Path::new(&*decoded);
        let is_inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if uri.contains("://") || !path.components().all(is_inside) {
            bail!("{:?}: must be in the file's folder", shortened(uri));
        }
        let folder = self.folder.with_context(|| {
            format!(
                "{:?}: buffer files need a scene file, not standard input",
                shortened(uri)
            )
        })?;
        Ok(folder.join(path))
    }
}

/// Contents of data URIs; `None` for other buffers.
pub fn inlined(document: &Document) -> Result<Vec<Option<Vec<u8>>>> {
    let buffers = (0..).zip(&document.buffers);
    buffers
        .map(|(index, buffer)| decoded(buffer).with_context(|| format!("buffer {index}")))
        .collect()
}

fn decoded(buffer: &Buffer) -> Result<Option<Vec<u8>>> {
    let Some(data) = buffer.uri.as_ref().and_then(|uri| uri.strip_prefix("data:")) else {
        return Ok(None);
    };
    let text = data
        .split_once(',')
        .and_then(|(kind, text)| kind.ends_with(";base64").then_some(text));
    let text = text.context("data URI is not base64")?;
    // Some writers omit the Base64 padding.
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let bytes = GeneralPurpose::new(&STANDARD, config).decode(text);
    Ok(Some(bytes.context("invalid base64")?))
}
