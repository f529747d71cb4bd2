//! One writer: an exclusive lock per state directory, held for a whole pass.
//!
//! It is a kernel lock on a file: a holder's death frees it, and a file left behind means nothing.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::host::clock::{Clock, Interrupt, Moment};
use crate::host::disk::{Disk, LEFT, Lock, Locked};
use crate::host::process::Pid;
use crate::spec::duration::Period;
use crate::spec::visible::shortened;

use super::error::StateError;

/// The most that is read of a holder's words, in bytes.
const MAX_HOLDER: u64 = 4096;

/// Time between two tries.
const PAUSE: Duration = Duration::from_millis(50);

/// Who holds the lock, as left in it for others to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process number.
    pub pid: Pid,
    /// What it does: `apply`, `watch`, …
    pub verb: String,
    /// Since when.
    pub since: Moment,
}

/// Takes the lock `path`, waiting for it at most `patience`.
///
/// # Errors
/// [`StateError::Busy`] names the holder after `patience`; [`StateError::Interrupted`] when the operator gave up.
pub fn acquire(
    disk: &dyn Disk,
    clock: &dyn Clock,
    path: &Path,
    holder: &Holder,
    patience: Duration,
) -> Result<Box<dyn Lock>, StateError> {
    // A struct of plain values: serialising it cannot fail.
    let words = serde_json::to_string(holder).unwrap_or_default();
    let begun = clock.now();
    loop {
        let left = match disk.lock(path, &words)? {
            Locked::Held(lock) => return Ok(lock),
            Locked::Busy(left) => left,
        };
        let now = clock.now();
        if clock.interrupt() != Interrupt::None {
            return Err(StateError::Interrupted(path.to_owned()));
        }
        let waited = now.since(&begun);
        if waited >= patience {
            return Err(busy(&left, path, &now));
        }
        clock.sleep(PAUSE.min(patience.saturating_sub(waited)));
    }
}

/// Who took the lock `path` last, whether it was given back or not; none when it cannot be told. Leaves the lock alone.
#[must_use]
pub fn last(disk: &dyn Disk, path: &Path) -> Option<Holder> {
    let words = String::from_utf8(disk.read(path, MAX_HOLDER).ok()?).ok()?;
    let whole = words.strip_prefix(LEFT).map_or(words.clone(), |rest| format!("{{{rest}"));
    serde_json::from_str(&whole).ok()
}

/// Whether whoever had the lock `path` last has given it back. Leaves the lock alone.
#[must_use]
pub fn is_left(disk: &dyn Disk, path: &Path) -> bool {
    disk.head(path, LEFT.len() as u64).is_ok_and(|head| head == LEFT.as_bytes())
}

/// Who holds the lock `path` now; none when nobody does, or it cannot be told. Takes it for an instant.
#[must_use]
pub fn holder(disk: &dyn Disk, path: &Path) -> Option<Holder> {
    match disk.lock(path, "") {
        Ok(Locked::Busy(left)) => serde_json::from_str(&left).ok(),
        Ok(Locked::Held(_)) | Err(_) => None,
    }
}

fn busy(left: &str, path: &Path, now: &Moment) -> StateError {
    let path = path.to_owned();
    match serde_json::from_str::<Holder>(left) {
        Ok(Holder { pid, verb, since }) => {
            let held = Period(Duration::from_secs(now.since(&since).as_secs()));
            let holder = format!("`farhelm {}` (pid {pid}, for {held})", shortened(&verb, 40));
            StateError::Busy { holder, path, way_out: format!("wait for it, or end it with `kill {pid}`") }
        }
        // The holder has the lock and has not yet written its name, or an older build wrote it.
        Err(_) => {
            let holder = "another farhelm".to_owned();
            let way_out = format!("wait for it, or find it with `fuser {}`", path.display());
            StateError::Busy { holder, path, way_out }
        }
    }
}
