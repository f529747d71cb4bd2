//! A directory's entries, to be compared: what takes the place of a watch.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::host::news::News;

/// Which directory a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

/// The directory that `path` leads to, if any.
pub(super) fn identity(path: &Path) -> Option<Identity> {
    let found = fs::metadata(path).ok().filter(Metadata::is_dir)?;
    Some(Identity { device: found.dev(), inode: found.ino() })
}

/// The entries of a directory, each with what changes when it is written: inode, size, time.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Listing(BTreeMap<PathBuf, (u64, u64, i64, i64)>);

impl Listing {
    /// The entries as they are now; none of a directory that is not there.
    pub(super) fn of(dir: &Path) -> Self {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        let known = entries.filter_map(|entry| {
            let path = entry.path();
            let found = fs::metadata(&path).ok()?;
            Some((path, (found.ino(), found.size(), found.mtime(), found.mtime_nsec())))
        });
        Self(known.collect())
    }

    /// Looks anew, and tells what differs.
    pub(super) fn renew(&mut self, dir: &Path, news: &mut News) {
        let now = Self::of(dir);
        let changed = now.0.iter().filter(|(path, entry)| self.0.get(*path) != Some(entry));
        news.changed.extend(changed.map(|(path, _)| path.clone()));
        news.removed.extend(self.0.keys().filter(|path| !now.0.contains_key(*path)).cloned());
        *self = now;
    }
}
