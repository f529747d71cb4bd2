//! Why farhelm's memory could not be used.

use std::path::PathBuf;

use crate::host::disk::DiskError;

/// Why farhelm's memory could not be used. Each message names the file and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// A file operation failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A file of a later farhelm.
    #[error(
        "{file} was written by a newer farhelm (state version {version}, this one reads up to {known}); nothing was \
         changed: use that farhelm, or another --state-dir",
        file = .file.display()
    )]
    Newer {
        /// The file.
        file: PathBuf,
        /// Its version.
        version: u32,
        /// The newest version this build reads.
        known: u32,
    },
    /// A file that the whole fleet depends on cannot be understood.
    #[error("{file} cannot be understood ({words}); nothing was changed: {way_out}", file = .file.display())]
    Corrupt {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        words: String,
        /// What to do.
        way_out: &'static str,
    },
    /// Another farhelm is at work.
    #[error("{holder} is at work on this state directory (it holds {path}); {way_out}", path = .path.display())]
    Busy {
        /// Who: process, verb and since when.
        holder: String,
        /// The lock file.
        path: PathBuf,
        /// What to do.
        way_out: String,
    },
    /// The operator interrupted the wait for the lock.
    #[error("interrupted while waiting for {path}", path = .0.display())]
    Interrupted(PathBuf),
}
