//! Reading a session's reports, and taking them.
//!
//! Reading changes nothing, so that a plan can judge what is pending. A pass that writes *takes* each report it has
//! judged by renaming it, then discards it, or puts it back where its own evidence could not be read. A pass that is
//! killed in between leaves a taken report, which the next one reads like any other.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::host::disk::{Disk, DiskError, DiskFault};
use crate::host::process::ProcessKey;
use crate::state::error::StateError;
use crate::state::layout::Layout;
use crate::state::record::SessionId;

use super::{MAX_REPORT, MAX_REPORTERS, Report, Slot, TAKEN, VERSION, file, parse_name};

/// The most files of one session that are read: all slots, each taken and anew.
const MAX_FILES: usize = MAX_REPORTERS * Slot::ALL.len() * 2;

/// The most bytes of one session's reports that are read.
const MAX_BYTES: u64 = 4 * MAX_REPORT;

/// One report on the disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Its file.
    pub file: PathBuf,
    /// The reporting process, by the file's name.
    pub reporter: ProcessKey,
    /// Its slot.
    pub slot: Slot,
    /// The report, or why it cannot be understood, in words.
    pub report: Result<Report, String>,
    /// The file could not be read, which says nothing of what is in it.
    pub unread: bool,
}

/// A report that nobody else judges now.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    /// What was taken; it may be newer than what was found.
    pub found: Found,
    place: PathBuf,
}

/// All reports in a session's directory, oldest first, those that cannot be understood before all. Changes nothing.
///
/// # Errors
/// [`StateError::Disk`] when the directory cannot be listed. A file that cannot be read is in the answer.
pub fn all(disk: &dyn Disk, dir: &Path) -> Result<Vec<Found>, StateError> {
    let mut budget = MAX_BYTES;
    let names = disk.list(dir)?;
    let known = names.iter().filter_map(|name| parse_name(name).map(|parsed| (name, parsed)));
    let mut found: Vec<Found> = known
        .take(MAX_FILES)
        .filter_map(|(name, (reporter, slot, _))| {
            let file = dir.join(name);
            let (report, unread) = read(disk, &file, reporter, &mut budget)?;
            Some(Found { file, reporter, slot, report, unread })
        })
        .collect();
    found.sort_by_key(|found| found.report.as_ref().map(|report| (report.at.boot_ms, report.at.wall_ms)).ok());
    Ok(found)
}

/// One report, and whether it could not be read; `None` when it is gone by now.
fn read(
    disk: &dyn Disk,
    file: &Path,
    reporter: ProcessKey,
    budget: &mut u64,
) -> Option<(Result<Report, String>, bool)> {
    let bytes = match disk.read(file, MAX_REPORT.min(*budget)) {
        Err(error) if error.fault == DiskFault::Missing => return None,
        Err(error) => return Some((Err(error.words), error.fault == DiskFault::Other)),
        Ok(bytes) => bytes,
    };
    *budget = budget.saturating_sub(bytes.len() as u64);
    // serde_json's own words quote the value they stumble over.
    let damaged = |error: serde_json::Error| format!("damaged in line {}, column {}", error.line(), error.column());
    let report = serde_json::from_slice::<Report>(&bytes).map_err(damaged).and_then(|report| match report {
        report if report.version != VERSION => Err(format!("of version {}, not {VERSION}", report.version)),
        report if report.reporter != reporter => Err("its name is another reporter's".to_owned()),
        report => Ok(report),
    });
    Some((report, false))
}

/// Takes a report: `None` when it is gone. What was found may have been replaced by a newer one, which then is taken.
///
/// # Errors
/// [`StateError::Disk`].
pub fn take(disk: &dyn Disk, found: &Found) -> Result<Option<Taken>, StateError> {
    let place = found.file.parent().unwrap_or(Path::new("/"));
    let place = file(place, found.reporter, found.slot);
    let taken = taken_name(&place);
    if found.file == place {
        match disk.move_file(&place, &taken, true) {
            Err(error) if error.fault == DiskFault::Missing => return Ok(None),
            other => other?,
        }
    }
    let report = read(disk, &taken, found.reporter, &mut MAX_REPORT.clone());
    let taken_as = |(report, unread)| Found { file: taken.clone(), report, unread, ..found.clone() };
    Ok(report.map(|read| Taken { found: taken_as(read), place }))
}

/// Removes a taken report: it was judged.
///
/// # Errors
/// [`StateError::Disk`].
pub fn discard(disk: &dyn Disk, taken: &Taken) -> Result<(), StateError> {
    Ok(disk.remove(&taken.found.file)?)
}

/// Puts a taken report back, to be judged again, unless a newer one has its place.
///
/// # Errors
/// [`StateError::Disk`].
pub fn put_back(disk: &dyn Disk, taken: &Taken) -> Result<(), StateError> {
    match disk.move_file(&taken.found.file, &taken.place, false) {
        Err(error) if error.fault == DiskFault::Exists => discard(disk, taken),
        Err(error) if error.fault == DiskFault::Missing => Ok(()),
        other => Ok(other?),
    }
}

fn taken_name(place: &Path) -> PathBuf {
    let mut name = place.as_os_str().to_owned();
    name.push(TAKEN);
    name.into()
}

/// Removes the reports and hook logs of `buried` sessions. Of a session that nothing is known of they stay: its lost
/// record may yet be rebuilt from a live pane.
///
/// # Errors
/// The first [`DiskError`]; the others are tried all the same.
pub fn prune(disk: &dyn Disk, layout: &Layout, buried: &BTreeSet<SessionId>) -> Result<(), DiskError> {
    let mut first = Ok(());
    let names: BTreeSet<String> = disk.list(&layout.reports())?.into_iter().collect();
    for id in buried.iter().filter(|id| names.contains(&id.to_string())) {
        first = first.and(disk.remove_dir(&layout.report_dir(*id)));
    }
    first
}

#[cfg(test)]
mod tests;
