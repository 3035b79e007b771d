use std::io::{self, Read};

use anyhow::{Context, Result, anyhow, bail};
use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder};

use super::npy::{self, Length};
use super::{Table, most_unpacked, shortened};

const ENDING: &str = ".npy";

struct Entry {
    wayfinder: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
    is_encrypted: bool,
}

pub fn read(archive: &[u8], name: Option<&str>, notes: &mut Vec<String>) -> Result<Table> {
    let zip = ZipArchive::from_slice(archive).map_err(broken)?;
    let mut entries = zip.entries();
    let mut found: Option<Entry> = None;
    let (mut names, mut count) = (String::new(), 0);
    while let Some(entry) = entries.next_entry().map_err(broken)? {
        let path = entry.file_path();
        let path = String::from_utf8_lossy(path.as_ref());
        let Some(array) = path.strip_suffix(ENDING) else {
            continue;
        };
        count += 1;
        if names.len() < LONGEST_NAMES {
            names += if names.is_empty() { "" } else { ", " };
            names += array;
        }
        if name.is_none_or(|name| name == array || name == path) {
            found.get_or_insert(Entry {
                wayfinder: entry.wayfinder(),
                method: entry.compression_method(),
                is_encrypted: entry.flags().is_encrypted(),
            });
        }
    }
    let names = shortened(&names);
    let entry = match (found, name) {
        (None, None) => bail!("no arrays in the archive"),
        (None, Some(name)) => bail!("no array {:?} in the archive; use one of {names}", shortened(name)),
        (Some(_), None) if count > 1 => bail!("{count} arrays: {names}; choose one as FILE.npz:NAME"),
        (Some(entry), _) => entry,
    };
    unpack(&zip, &entry, archive.len() as u64, notes).with_context(|| match name {
        Some(name) => format!("array {:?}", shortened(name)),
        None => format!("array {names}"),
    })
}

const LONGEST_NAMES: usize = 200;

fn unpack(
    zip: &rawzip::ZipSliceArchive<&[u8]>,
    entry: &Entry,
    archive_length: u64,
    notes: &mut Vec<String>,
) -> Result<Table> {
    if entry.is_encrypted {
        bail!("encrypted");
    }
    let length = entry.wayfinder.uncompressed_size_hint();
    let most = most_unpacked(archive_length);
    if length > most {
        bail!("too large: unpacks to {length} bytes, the limit is {most} for an archive of {archive_length}");
    }
    let packed = zip.get_entry(entry.wayfinder).map_err(broken)?;
    let bytes = packed.data();
    match entry.method {
        CompressionMethod::STORE => {
            if bytes.len() as u64 != length {
                bail!("inconsistent size: stored in {} bytes, {length} stated", bytes.len());
            }
            whole(packed.verifying_reader(bytes), length, Length::Known, notes)
        }
        CompressionMethod::DEFLATE => whole(
            packed.verifying_reader(DeflateDecoder::new(bytes)),
            length,
            Length::Claimed,
            notes,
        ),
        other => bail!(
            "unsupported compression method {}; use stored or deflated",
            other.as_u16()
        ),
    }
}

/// Reads an array of at most `length` bytes and verifies the archive's checksum.
fn whole(mut reader: impl Read, length: u64, trust: Length, notes: &mut Vec<String>) -> Result<Table> {
    let mut claimed = (&mut reader).take(length);
    let table = npy::read(&mut claimed, length, trust, notes)?;
    io::copy(&mut claimed, &mut io::sink()).map_err(unreadable)?;
    match reader.read(&mut [0]) {
        Ok(0) => Ok(table),
        Ok(_) => bail!("unpacks to more than the stated {length} bytes"),
        Err(error) => Err(unreadable(error)),
    }
}

fn unreadable(error: io::Error) -> anyhow::Error {
    anyhow!("invalid archive: {}", shortened(&error.to_string()))
}

fn broken(error: rawzip::Error) -> anyhow::Error {
    anyhow!("invalid archive: {}", shortened(&error.to_string()))
}
