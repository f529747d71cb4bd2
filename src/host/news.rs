//! What somebody who stays waits for.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::process::ProcessKey;

/// What to be told of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interest {
    /// Directories whose entries matter; what is below those does not. One that is not there is no error.
    pub dirs: BTreeSet<PathBuf>,
    /// Processes whose end matters.
    pub processes: BTreeSet<ProcessKey>,
}

/// What came. News say that something may be different, never what is so: whoever hears them looks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct News {
    /// Entries of the directories that were made or changed.
    pub changed: BTreeSet<PathBuf>,
    /// Entries of the directories that are gone.
    pub removed: BTreeSet<PathBuf>,
    /// Processes that ended.
    pub ended: BTreeSet<ProcessKey>,
    /// News were lost: anything may have changed.
    pub lost: bool,
    /// Somebody asks to read the fleet's files anew (SIGHUP).
    pub reload: bool,
}

impl News {
    /// Whether nothing came.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
