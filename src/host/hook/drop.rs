//! Leaving a report: whole or not at all, in a slot of its reporter's own, within bounds.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;

use crate::host::clock::Moment;
use crate::host::process::ProcessKey;
use crate::host::real;
use crate::state::reports::log::{self, Outcome};
use crate::state::reports::{self, MAX_REPORT, MAX_REPORTERS, Report, Slot};

use super::credentials::Credentials;

/// The ending of a file that is not yet in its place; every reader passes over it.
const UNFINISHED: &str = ".unfinished";

/// The age at which such a file is a killed hook's.
const ABANDONED: Duration = Duration::from_secs(60);

/// Leaves `report` in its slot, unless a newer one is there.
pub(super) fn report(credentials: &Credentials, mut report: Report, slot: Slot) -> io::Result<()> {
    let dir = credentials.dir();
    make_dir(&credentials.layout.reports())?;
    make_dir(&dir)?;
    make_room(&dir, report.reporter)?;
    let path = reports::file(&dir, report.reporter, slot);
    if read(&path).is_some_and(|other| other.boot == report.boot && other.at.boot_ms > report.at.boot_ms) {
        return Ok(());
    }
    let mut bytes = serde_json::to_vec(&report)?;
    if bytes.len() as u64 > MAX_REPORT {
        // Only arguments can be that long, and only where they are mostly unprintable.
        report.ancestry.iter_mut().skip(1).for_each(|link| link.argv = None);
        bytes = serde_json::to_vec(&report)?;
    }
    replace(&path, &bytes, slot.durable())
}

/// Adds a line to the session's hook log. Every failure is ignored.
pub(super) fn log(
    credentials: &Credentials,
    at: Moment,
    outcome: Outcome,
    conversation: Option<&str>,
    source: Option<&str>,
) {
    let dir = credentials.dir();
    let _ = make_dir(&credentials.layout.reports()).and_then(|()| make_dir(&dir));
    let path = log::file(&dir);
    let _ = add_line(&path, &log::line(at.wall_ms, outcome, conversation, source));
}

fn add_line(path: &Path, line: &str) -> io::Result<()> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut options = File::options();
    let mut file = options.append(true).create(true).mode(0o600).custom_flags(flags).open(path)?;
    let length = file.metadata()?.len();
    if length <= log::MAX_LOG {
        return file.write_all(line.as_bytes());
    }
    // Larger than it ever becomes by lines of ours: not worth reading.
    let old = if length <= log::MAX_LOG * 16 { fs::read(path)? } else { Vec::new() };
    let mut kept = log::newer_half(&old).to_vec();
    kept.extend(line.as_bytes());
    replace(path, &kept, false)
}

fn make_dir(dir: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

fn replace(path: &Path, bytes: &[u8], durable: bool) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = path.with_file_name(format!(".{name}.{}{UNFINISHED}", std::process::id()));
    let write = || {
        let flags = OFlags::NOFOLLOW.bits().cast_signed();
        let mut file =
            File::options().write(true).create_new(true).mode(0o600).custom_flags(flags).open(&unfinished)?;
        file.write_all(bytes)?;
        if durable {
            file.sync_data()?;
        }
        fs::rename(&unfinished, path)
    };
    // A killed hook had the same number.
    let _ = fs::remove_file(&unfinished);
    write().inspect_err(|_| {
        let _ = fs::remove_file(&unfinished);
    })?;
    match path.parent() {
        Some(dir) if durable => File::open(dir)?.sync_all(),
        _ => Ok(()),
    }
}

fn read(path: &Path) -> Option<Report> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    if file.metadata().ok()?.len() > MAX_REPORT {
        return None;
    }
    serde_json::from_reader(io::BufReader::new(file)).ok()
}

/// Makes room for one more reporter, and removes what killed hooks left.
fn make_room(dir: &Path, own: ProcessKey) -> io::Result<()> {
    let mut reporters: BTreeMap<ProcessKey, BTreeSet<PathBuf>> = BTreeMap::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if let Some((reporter, ..)) = reports::parse_name(name) {
            reporters.entry(reporter).or_default().insert(path);
        } else if name.ends_with(UNFINISHED) && is_abandoned(&path) {
            let _ = fs::remove_file(&path);
        }
    }
    reporters.remove(&own);
    let surplus = (reporters.len() + 1).saturating_sub(MAX_REPORTERS);
    if surplus == 0 {
        return Ok(());
    }
    let worth = worths(&reporters);
    let mut least: Vec<(ProcessKey, BTreeSet<PathBuf>)> = reporters.into_iter().collect();
    least.sort_by_key(|(reporter, _)| worth.get(reporter).copied());
    for path in least.into_iter().take(surplus).flat_map(|(_, paths)| paths) {
        let _ = fs::remove_file(path);
    }
    Ok(())
}

fn is_abandoned(path: &Path) -> bool {
    let age = fs::symlink_metadata(path).and_then(|meta| meta.modified()).map(|at| at.elapsed().unwrap_or_default());
    age.is_ok_and(|age| age > ABANDONED)
}

/// How much each reporter's reports are worth keeping, as far as a hook can tell: those of the latest launch before
/// others, then those nearest to the terminal, since nested agents stand below the one that started them, then the
/// living, then the youngest. What cannot be read has no worth.
fn worths(
    reporters: &BTreeMap<ProcessKey, BTreeSet<PathBuf>>,
) -> BTreeMap<ProcessKey, (u32, Reverse<usize>, bool, u64)> {
    let worth = |reporter: &ProcessKey, paths: &BTreeSet<PathBuf>| {
        let report = paths.iter().rev().find_map(|path| read(path))?;
        let alive = real::process(reporter.pid).ok().flatten().is_some_and(|now| now.key == *reporter && !now.dead);
        let above = report.ancestry.iter().position(|link| link.process == *reporter)?;
        let depth = report.ancestry.len() - above;
        Some((*reporter, (report.generation, Reverse(depth), alive, report.at.boot_ms)))
    };
    reporters.iter().filter_map(|(reporter, paths)| worth(reporter, paths)).collect()
}
