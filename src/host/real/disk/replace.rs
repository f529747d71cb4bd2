//! Replacing files atomically and durably, many at once.
//!
//! Each is written beside its place and synced, then all are renamed, then each directory is synced once. The syncs are
//! what costs; several at a time share the journal's commits.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tempfile::NamedTempFile;

use super::{fault, parent};
use crate::host::disk::DiskError;

/// Most syncs at a time.
const PARALLEL: usize = 16;

/// Ends the names of files not yet in their place; a killed farhelm leaves some behind.
const UNFINISHED: &str = ".unfinished";

/// Whether `name` is such a name.
pub(super) fn is_unfinished(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(UNFINISHED)
}

type Write1<'a> = (&'a Path, NamedTempFile);

/// Replaces all of `files`, or, where writing fails, none.
pub(super) fn all(files: &[(PathBuf, Vec<u8>)]) -> Result<(), DiskError> {
    let failed = |path: &Path, error: &io::Error| fault("write", path, error);
    let written = write_all(files)?;
    let mut dirs = BTreeSet::new();
    for (path, file) in written {
        file.persist(path).map_err(|error| failed(path, &error.error))?;
        dirs.insert(parent(path));
    }
    dirs.into_iter().try_for_each(|dir| {
        File::open(dir).and_then(|opened| opened.sync_all()).map_err(|error| fault("sync", dir, &error))
    })
}

fn write_all(files: &[(PathBuf, Vec<u8>)]) -> Result<Vec<Write1<'_>>, DiskError> {
    if let [(path, bytes)] = files {
        return Ok(vec![(path, write_one(path, bytes)?)]);
    }
    let queue = Mutex::new(files.iter());
    let work = || -> Result<Vec<Write1<'_>>, DiskError> {
        let mut done = Vec::new();
        loop {
            let next = queue.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
            let Some((path, bytes)) = next else { return Ok(done) };
            done.push((path.as_path(), write_one(path, bytes)?));
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..PARALLEL.min(files.len()).saturating_sub(1))
            .map_while(|_| std::thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut all = work()?;
        for thread in threads {
            // A panic there would be one here.
            all.extend(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(all)
    })
}

/// Writes and syncs `bytes` beside `path`.
fn write_one(path: &Path, bytes: &[u8]) -> Result<NamedTempFile, DiskError> {
    let write = || {
        let mut file = tempfile::Builder::new().prefix(".").suffix(UNFINISHED).tempfile_in(parent(path))?;
        file.write_all(bytes)?;
        file.as_file().sync_data()?;
        Ok(file)
    };
    write().map_err(|error| fault("write", path, &error))
}
