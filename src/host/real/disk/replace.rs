//! Replacing files atomically and durably, many at once.
//!
//! All are written beside their places, then all synced, then all renamed, then each directory is synced once. Syncs that
//! are asked for together share the journal's commits, but only while no files are made meanwhile (ext4: 100 files in 25 ms,
//! where one after the other took 400 ms; renaming over old files alike). Syncing the whole file system would be as fast,
//! and would wait for whatever else is being written to it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::NamedTempFile;

use super::{fault, parent};
use crate::host::disk::DiskError;

/// Most files at a time.
const PARALLEL: usize = 16;

/// Most files open at once: far below the usual limit of 1,024.
const OPEN: usize = 256;

/// Ends the names of files not yet in their place; a killed farhelm leaves some behind.
const UNFINISHED: &str = ".unfinished";

/// Whether `name` is such a name.
pub(super) fn is_unfinished(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(UNFINISHED)
}

/// A file written beside its place.
type Written<'a> = (&'a Path, NamedTempFile);

/// Replaces all of `files`, or, where writing fails, none; of more than [`OPEN`] all of each so many, or none.
pub(super) fn all(files: &[(PathBuf, Vec<u8>)]) -> Result<(), DiskError> {
    for files in files.chunks(OPEN) {
        let written = files.iter().map(|(path, bytes)| write(path, bytes)).collect::<Result<Vec<_>, _>>()?;
        each(&written, |_, file| file.as_file().sync_data())?;
        // Setting the old file free is what takes time here.
        each(&written, |path, file| fs::rename(file.path(), path))?;
    }
    let dirs: BTreeSet<&Path> = files.iter().map(|(path, _)| parent(path)).collect();
    dirs.into_iter().try_for_each(|dir| {
        File::open(dir).and_then(|opened| opened.sync_all()).map_err(|error| fault("sync", dir, &error))
    })
}

fn failed(path: &Path, error: &io::Error) -> DiskError {
    fault("write", path, error)
}

fn write<'a>(path: &'a Path, bytes: &[u8]) -> Result<Written<'a>, DiskError> {
    let write = || {
        let mut file = tempfile::Builder::new().prefix(".").suffix(UNFINISHED).tempfile_in(parent(path))?;
        file.write_all(bytes)?;
        Ok(file)
    };
    write().map(|file| (path, file)).map_err(|error| failed(path, &error))
}

/// Does `work` with each of `files`, several at a time.
fn each(files: &[Written<'_>], work: impl Fn(&Path, &NamedTempFile) -> io::Result<()> + Sync) -> Result<(), DiskError> {
    let next = AtomicUsize::new(0);
    let share = || {
        while let Some((path, file)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(path, file).map_err(|error| failed(path, &error))?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (1..PARALLEL.min(files.len()))
            .map_while(|_| std::thread::Builder::new().spawn_scoped(scope, share).ok())
            .collect();
        let own = share();
        // A panic there would be one here.
        threads.into_iter().fold(own, |result, thread| {
            result.and(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    })
}
