//! Saves compiled pipelines in a file for later runs, if the backend exposes them. Errors are ignored.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use gpu_broad_phase::wgpu::{self, AdapterInfo, Device, PipelineCache};

/// Data above this size is discarded, because caches only grow.
const MOST_BYTES: u64 = 64 << 20;

pub struct CacheFile {
    cache: PipelineCache,
    path: PathBuf,
    /// Cache data after loading, to detect changes.
    before: Option<Vec<u8>>,
}

impl CacheFile {
    /// `None` for `off`. The default is the user's cache folder.
    pub fn open(folder: Option<&Path>, info: &AdapterInfo, device: &Device) -> Option<Self> {
        let folder = match folder {
            Some(folder) if folder == "off" => return None,
            Some(folder) => folder.to_owned(),
            None => users_folder()?.join("broadphase"),
        };
        let path = folder.join(wgpu::util::pipeline_cache_key(info)?).with_extension("gz");
        let cache = create(device, read(&path).ok().as_deref());
        let before = cache.get_data();
        Some(Self { cache, path, before })
    }

    pub fn cache(&self) -> PipelineCache {
        self.cache.clone()
    }
}

impl Drop for CacheFile {
    fn drop(&mut self) {
        // Writes changed data. Software adapters return none.
        let data = self.cache.get_data().filter(|data| self.before.as_ref() != Some(data));
        if let Some(data) = data {
            let _ = write(&self.path, &data);
        }
    }
}

#[allow(unsafe_code, reason = "drivers read this data unchecked")]
fn create(device: &Device, data: Option<&[u8]>) -> PipelineCache {
    let descriptor = wgpu::PipelineCacheDescriptor {
        label: Some("broadphase"),
        data,
        fallback: true,
    };
    // SAFETY: data, if any, was returned by a cache, as its checksum shows. Its file is in a folder of the user, who
    // harms nobody else by changing it. wgpu uses it only for the same backend, device and driver version.
    unsafe { device.create_pipeline_cache(&descriptor) }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut data = Vec::new();
    // Reads to the end, where the checksum is verified.
    GzDecoder::new(File::open(path)?)
        .take(MOST_BYTES + 1)
        .read_to_end(&mut data)?;
    if data.len() as u64 > MOST_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(data)
}

/// Replaces the file atomically for concurrent readers.
fn write(path: &Path, data: &[u8]) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
    let beside = path.with_extension(format!("{}.tmp", process::id()));
    let written = (|| {
        let mut encoder = GzEncoder::new(File::create(&beside)?, Compression::fast());
        encoder.write_all(data)?;
        encoder.finish()?.sync_all()?;
        fs::rename(&beside, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

fn users_folder() -> Option<PathBuf> {
    let named = |variable| {
        env::var_os(variable)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let default = || match env::consts::OS {
        "windows" => named("LOCALAPPDATA"),
        "macos" => Some(env::home_dir()?.join("Library/Caches")),
        _ => Some(env::home_dir()?.join(".cache")),
    };
    named("XDG_CACHE_HOME").or_else(default)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_and_what_is_broken_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a folder/of a device.gz");
        assert!(read(&path).is_err());
        for data in [&b"first"[..], &[7; 100_000], b""] {
            write(&path, data).unwrap();
            assert_eq!(read(&path).unwrap(), data);
        }
        let files = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(files, 1, "nothing is left beside it");

        let data: Vec<u8> = (0..10_000u32).flat_map(u32::to_le_bytes).collect();
        write(&path, &data).unwrap();
        let whole = fs::read(&path).unwrap();
        for broken in [
            Vec::new(),
            b"not compressed".to_vec(),
            whole[..whole.len() - 1].to_vec(),
            whole[..whole.len() / 2].to_vec(),
        ] {
            fs::write(&path, broken).unwrap();
            assert!(read(&path).is_err());
        }
        for at in (0..whole.len()).step_by(whole.len() / 50) {
            let mut broken = whole.clone();
            broken[at] ^= 1;
            fs::write(&path, broken).unwrap();
            // Some bits of the gzip header do not affect the data.
            assert!(read(&path).is_err() || at < 10);
        }
        write(&path, &data).unwrap();
        assert_eq!(read(&path).unwrap(), data);
    }

    #[test]
    fn a_cache_that_grew_too_large_is_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large.gz");
        write(&path, &vec![0; MOST_BYTES as usize + 1]).unwrap();
        assert!(read(&path).is_err());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error_and_no_panic() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(write(&file.join("cache.gz"), b"data").is_err());
    }
}
