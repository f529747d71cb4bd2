//! The last good fleet: `kept/<key>.json`, a fleet as `watch` read it when its files were last right.
//!
//! Files that are cut off, empty, full of conflict markers or gone change nothing, also not for a `watch` that starts on
//! them after a reboot. Holds what the files hold, literal environment values too, and no secret that they refer to.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::config::desired::Desired;
use crate::host::disk::{Disk, DiskError, DiskFault};
use crate::spec::name::Name;

use super::digest;
use super::layout::Layout;

/// The version of the format. Another one is as good as none: the next good load writes it anew.
const VERSION: u32 = 2;

/// The most that is read, in bytes: many times the largest fleet that can be loaded.
const LIMIT: u64 = 64 << 20;

/// A fleet as it was last right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    version: u32,
    /// When it was read, in milliseconds since 1970.
    pub at_ms: i64,
    /// The commit its files were at.
    pub revision: Option<String>,
    /// The fleet.
    pub desired: Desired,
}

impl Kept {
    /// A fleet that was just read.
    #[must_use]
    pub fn new(at_ms: i64, revision: Option<String>, desired: Desired) -> Self {
        Self { version: VERSION, at_ms, revision, desired }
    }
}

/// What a fleet is kept under: the paths it is read from, absolute.
#[must_use]
pub fn key(paths: &[PathBuf]) -> String {
    digest::short("kept", paths.iter().map(|path| path.as_os_str().as_encoded_bytes()))
}

/// Keeps a fleet, unless it is kept as it is.
///
/// # Errors
/// [`DiskError`].
pub fn keep(disk: &dyn Disk, layout: &Layout, key: &str, kept: &Kept) -> Result<(), DiskError> {
    let same = |known: &Kept| known.desired == kept.desired && known.revision == kept.revision;
    if find(disk, layout, key).ok().flatten().is_some_and(|known| same(&known)) {
        return Ok(());
    }
    write(disk, layout.kept(key), kept)
}

/// The fleet of this name as it was last kept, whichever paths it was read from.
///
/// # Errors
/// [`DiskError`].
pub fn of_fleet(disk: &dyn Disk, layout: &Layout, fleet: &Name) -> Result<Option<Kept>, DiskError> {
    let mut newest: Option<Kept> = None;
    for name in disk.list(&layout.all_kept())? {
        let Some(found) = name.strip_suffix(".json").map(|key| find(disk, layout, key)).transpose()?.flatten() else {
            continue;
        };
        let newer = newest.as_ref().is_none_or(|known| known.at_ms < found.at_ms);
        if found.desired.fleet.as_ref() == Some(fleet) && newer {
            newest = Some(found);
        }
    }
    Ok(newest)
}

/// Keeps a fleet as it was just applied: what agents may ask for while no `watch` runs goes by it. Nothing is kept of a
/// fleet whose agents may not and never could ask for anything.
///
/// # Errors
/// [`DiskError`].
pub fn keep_applied(disk: &dyn Disk, layout: &Layout, kept: &Kept) -> Result<(), DiskError> {
    let Some(fleet) = &kept.desired.fleet else { return Ok(()) };
    let known = of_fleet(disk, layout, fleet)?;
    let same = known.as_ref().is_some_and(|known| known.desired == kept.desired && known.revision == kept.revision);
    if same || (known.is_none() && kept.desired.spawn.templates.is_empty()) {
        return Ok(());
    }
    // It is the newest, also where the clock was set back since another was kept.
    let at_ms = known.map_or(kept.at_ms, |known| kept.at_ms.max(known.at_ms.saturating_add(1)));
    write(disk, layout.kept(&key(&kept.desired.sources)), &Kept { at_ms, ..kept.clone() })
}

fn write(disk: &dyn Disk, path: PathBuf, kept: &Kept) -> Result<(), DiskError> {
    match serde_json::to_vec(kept) {
        Ok(text) => disk.replace(&[(path, text)]),
        Err(error) => Err(DiskError { doing: "write", path, fault: DiskFault::Other, words: error.to_string() }),
    }
}

/// The fleet that was kept; none where there is none, or none that can be read.
///
/// # Errors
/// [`DiskError`].
pub fn find(disk: &dyn Disk, layout: &Layout, key: &str) -> Result<Option<Kept>, DiskError> {
    match disk.read(&layout.kept(key), LIMIT) {
        Ok(text) => Ok(serde_json::from_slice(&text).ok().filter(|kept: &Kept| kept.version == VERSION)),
        Err(error) if error.fault == DiskFault::Missing => Ok(None),
        Err(error) => Err(error),
    }
}
