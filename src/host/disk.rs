//! farhelm's own files, and the directories sessions live in.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a file operation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskFault {
    /// No such file or directory.
    Missing,
    /// Already there.
    Exists,
    /// No space left, or over quota.
    Full,
    /// The file system is read-only.
    ReadOnly,
    /// Permission denied.
    Denied,
    /// Larger than the limit given.
    TooLarge,
    /// Not a plain file, or not a directory.
    WrongType,
    /// Anything else.
    Other,
}

/// A failed file operation, naming the path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot {doing} {path}: {words}", path = .path.display())]
pub struct DiskError {
    /// The verb: `read`, `write`, …
    pub doing: &'static str,
    /// The path.
    pub path: PathBuf,
    /// Its class.
    pub fault: DiskFault,
    /// The system's words.
    pub words: String,
}

/// What takes the place of the first byte of a holder's words when the lock is given back: they name who had it last, and
/// are nobody's words any more.
pub const LEFT: &str = "-";

/// A held lock; dropping it, or the holder's death, releases it.
pub trait Lock: fmt::Debug {}

/// What asking for a lock gave.
#[derive(Debug)]
pub enum Locked {
    /// It is ours until dropped.
    Held(Box<dyn Lock>),
    /// Somebody else's; the words its holder left in it.
    Busy(String),
}

/// The disk port. Files are made 0600, directories 0700; links are not followed in the last component.
pub trait Disk {
    /// Reads a plain file of at most `limit` bytes.
    ///
    /// # Errors
    /// [`DiskError`].
    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, DiskError>;

    /// Reads at most the first `limit` bytes of a plain file, however long it is.
    ///
    /// # Errors
    /// [`DiskError`].
    fn head(&self, path: &Path, limit: u64) -> Result<Vec<u8>, DiskError>;

    /// The names in a directory, sorted; an absent directory has none.
    ///
    /// # Errors
    /// [`DiskError`].
    fn list(&self, dir: &Path) -> Result<Vec<String>, DiskError>;

    /// Makes a directory and its parents.
    ///
    /// # Errors
    /// [`DiskError`].
    fn make_dir(&self, dir: &Path) -> Result<(), DiskError>;

    /// Replaces each file atomically and durably: after a crash each is the old one or the new one, whole. Many at once
    /// share their syncs.
    ///
    /// # Errors
    /// The first [`DiskError`]; earlier ones of the list may have been replaced.
    fn replace(&self, files: &[(PathBuf, Vec<u8>)]) -> Result<(), DiskError>;

    /// Makes a new file that must not exist; not synced.
    ///
    /// # Errors
    /// [`DiskError`].
    fn create(&self, path: &Path, bytes: &[u8]) -> Result<(), DiskError>;

    /// Appends to a file, making it where it is missing; not synced.
    ///
    /// # Errors
    /// [`DiskError`].
    fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), DiskError>;

    /// Removes a file; a missing one is no error.
    ///
    /// # Errors
    /// [`DiskError`].
    fn remove(&self, path: &Path) -> Result<(), DiskError>;

    /// Gives a file another name in its directory, atomically; not synced. `replace` allows the name to be taken.
    ///
    /// # Errors
    /// [`DiskError`]; [`DiskFault::Exists`] where the name is taken and must not be.
    fn move_file(&self, from: &Path, to: &Path, replace: bool) -> Result<(), DiskError>;

    /// Removes a directory and the files in it, which must have none below; a missing one is no error.
    ///
    /// # Errors
    /// [`DiskError`].
    fn remove_dir(&self, dir: &Path) -> Result<(), DiskError>;

    /// The canonical path of an existing directory.
    ///
    /// # Errors
    /// [`DiskError`] with [`DiskFault::Missing`] or [`DiskFault::WrongType`] where it is none.
    fn resolve_dir(&self, dir: &Path) -> Result<PathBuf, DiskError>;

    /// Whether nobody but root can change a directory's path, or what is in it.
    ///
    /// # Errors
    /// [`DiskError`].
    fn only_root_writes(&self, dir: &Path) -> Result<bool, DiskError>;

    /// Tries for an exclusive lock on a file, leaving `holder` in it for others to read, and [`LEFT`] over its first byte
    /// when it is given back.
    ///
    /// # Errors
    /// [`DiskError`].
    fn lock(&self, path: &Path, holder: &str) -> Result<Locked, DiskError>;
}
