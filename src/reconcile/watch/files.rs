//! The fleet's files: which changes concern them, and when they have settled.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::desired::Desired;
use crate::host::clock::Moment;
use crate::host::news::News;

/// Files that have not changed for this time are read: editors truncate and write in pieces, git writes many.
pub const SETTLE: Duration = Duration::from_millis(300);
/// Files that do not come to rest are read after this time all the same.
pub const AT_LAST: Duration = Duration::from_secs(3);

/// Where a fleet comes from.
pub trait Source {
    /// Reads it.
    ///
    /// # Errors
    /// Everything that is wrong, in words.
    fn load(&mut self) -> Result<Fresh, String>;

    /// All that the last reading looked for, there or not: files, and directories whose `*.yaml` count.
    fn trail(&self) -> &BTreeSet<PathBuf>;

    /// Something that differs when one of those was changed since: their times and sizes.
    fn stamp(&self) -> u64;
}

/// A fleet that was just read.
#[derive(Debug, Clone, PartialEq)]
pub struct Fresh {
    /// The fleet.
    pub desired: Desired,
    /// The commit its files are at.
    pub revision: Option<String>,
}

/// Changes that have not been read yet.
#[derive(Debug, Default)]
pub struct Settling {
    first: Option<Moment>,
    last: Option<Moment>,
}

impl Settling {
    /// Something changed.
    pub fn stir(&mut self, now: Moment) {
        self.first.get_or_insert(now);
        self.last = Some(now);
    }

    /// Time left until the files are to be read; none when nothing changed.
    #[must_use]
    pub fn left(&self, now: Moment) -> Option<Duration> {
        let (first, last) = self.first.zip(self.last)?;
        let rest = |since: Moment, time: Duration| time.saturating_sub(now.since(&since));
        Some(rest(last, SETTLE).min(rest(first, AT_LAST)))
    }

    /// They are read now.
    pub fn done(&mut self) {
        *self = Self::default();
    }
}

/// Whether news concern files that were looked for.
#[must_use]
pub fn concern(trail: &BTreeSet<PathBuf>, news: &News) -> bool {
    news.lost || news.changed.iter().chain(&news.removed).any(|path| counts(trail, path))
}

fn counts(trail: &BTreeSet<PathBuf>, path: &Path) -> bool {
    let yaml = || path.extension().is_some_and(|end| end == OsStr::new("yaml") || end == OsStr::new("yml"));
    trail.contains(path) || (yaml() && path.parent().is_some_and(|dir| trail.contains(dir)))
}

/// The directories whose changes concern what was looked for: each one's own, or the nearest above that is there.
#[must_use]
pub fn dirs(trail: &BTreeSet<PathBuf>, is_dir: &dyn Fn(&Path) -> bool) -> BTreeSet<PathBuf> {
    let nearest = |path: &Path| path.ancestors().skip(1).find(|dir| is_dir(dir)).map(Path::to_owned);
    let own = trail.iter().filter(|path| is_dir(path)).cloned();
    own.chain(trail.iter().filter_map(|path| nearest(path))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Moment {
        Moment { boot_ms: ms, wall_ms: 0 }
    }

    fn paths(all: &[&str]) -> BTreeSet<PathBuf> {
        all.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn files_are_read_once_they_rest() {
        let mut settling = Settling::default();
        assert_eq!(settling.left(at(0)), None);
        settling.stir(at(1_000));
        settling.stir(at(1_200));
        assert_eq!(settling.left(at(1_200)), Some(SETTLE));
        assert_eq!(settling.left(at(1_500)), Some(Duration::ZERO));
        settling.done();
        assert_eq!(settling.left(at(1_500)), None);
    }

    #[test]
    fn files_that_never_rest_are_read_all_the_same() {
        let mut settling = Settling::default();
        (0..40).for_each(|n| settling.stir(at(1_000 + n * 100)));
        assert_eq!(settling.left(at(4_900)), Some(Duration::ZERO));
        assert_eq!(settling.left(at(3_900)), Some(Duration::from_millis(100)));
    }

    #[test]
    fn only_files_that_were_looked_for_concern() {
        let trail = paths(&["/f/farhelm.yaml", "/f/parts", "/f/missing.env"]);
        let changed = |path: &str| News { changed: paths(&[path]), ..News::default() };
        for path in ["/f/farhelm.yaml", "/f/parts/new.yaml", "/f/missing.env"] {
            assert!(concern(&trail, &changed(path)), "{path}");
            assert!(concern(&trail, &News { removed: paths(&[path]), ..News::default() }), "{path}");
        }
        for path in ["/f/farhelm.yaml.swp", "/f/4913", "/f/parts/notes.txt", "/f/other.yaml", "/f"] {
            assert!(!concern(&trail, &changed(path)), "{path}");
        }
        assert!(concern(&trail, &News { lost: true, ..News::default() }));
    }

    #[test]
    fn the_nearest_directory_that_is_there_is_watched() {
        let trail = paths(&["/f/farhelm.yaml", "/f/parts", "/gone/deep/x.yaml"]);
        let there = |path: &Path| [Path::new("/f"), Path::new("/f/parts"), Path::new("/")].contains(&path);
        assert_eq!(dirs(&trail, &there), paths(&["/", "/f", "/f/parts"]));
    }
}
