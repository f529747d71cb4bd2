//! The lock file.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use rustix::fs::OFlags;

use super::{open, plain};
use crate::host::disk::{LEFT, Lock, Locked};

/// Most that is read of what a holder left.
const HOLDER_LIMIT: u64 = 4096;

/// How often a lock file that was replaced under our hands is opened again.
const TRIES: u32 = 10;

/// A held lock file.
#[derive(Debug)]
struct FileLock(File);

impl Lock for FileLock {}

impl Drop for FileLock {
    fn drop(&mut self) {
        // In place, which works on a full disk too: no next holder passes for this one, and whoever hears that the file
        // changed can still tell who it was.
        let _ = self.0.write_all_at(LEFT.as_bytes(), 0);
    }
}

/// Takes the lock, when nobody holds it.
pub(super) fn try_lock(path: &Path, holder: &str) -> io::Result<Locked> {
    for _ in 0..TRIES {
        let options = &mut OpenOptions::new();
        let mut file = open(options.read(true).write(true).create(true), path, OFlags::NONBLOCK)?;
        plain(&file)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(Locked::Busy(words(file)?)),
            Err(TryLockError::Error(error)) => return Err(error),
            Ok(()) => {}
        }
        if !still_there(&file, path)? {
            // Somebody removed it between our opening and locking it: what we hold locks nothing.
            continue;
        }
        // The words are a courtesy; a full disk must not keep anybody from stopping a session.
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(holder.as_bytes()));
        return Ok(Locked::Held(Box::new(FileLock(file))));
    }
    Err(io::Error::other("it is replaced over and over"))
}

fn still_there(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match std::fs::symlink_metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn words(file: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(HOLDER_LIMIT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
