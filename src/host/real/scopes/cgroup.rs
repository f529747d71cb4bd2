//! The cgroups behind the scopes, for what the manager has forgotten.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::Machine;
use crate::host::process::{Processes, Signal, Signalled};
use crate::host::scope::ScopeError;

/// Where below its own cgroup the manager puts scopes: in `app.slice` since systemd 247.
const SLICES: [&str; 2] = ["app.slice", ""];

/// The directory of the cgroup that systemd calls `path`.
pub(super) fn directory(path: &str) -> Result<PathBuf, ScopeError> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")
        .map_err(|error| ScopeError(format!("cannot read /proc/self/mountinfo: {error}")))?;
    let hierarchy = hierarchy(&mounts).ok_or_else(|| ScopeError("no cgroup v2 hierarchy is mounted".to_owned()))?;
    Ok(hierarchy.join(path.trim_start_matches('/')))
}

/// The mount point of cgroup v2 in a `mountinfo` (`proc_pid_mountinfo(5)`).
fn hierarchy(mounts: &str) -> Option<PathBuf> {
    let line =
        mounts.lines().filter_map(|line| line.split_once(" - ")).rfind(|(_, rest)| rest.starts_with("cgroup2 "))?;
    line.0.split(' ').nth(4).map(PathBuf::from)
}

fn scope(manager: &Path, unit: &str) -> Option<PathBuf> {
    SLICES.iter().map(|slice| manager.join(slice).join(unit)).find(|dir| dir.is_dir())
}

/// Whether anything runs in the unit's cgroup. Uncollected dead processes do not count.
pub(super) fn populated(manager: &Path, unit: &str) -> bool {
    scope(manager, unit)
        .and_then(|dir| fs::read_to_string(dir.join("cgroup.events")).ok())
        .is_some_and(|events| events.lines().any(|line| line == "populated 1"))
}

/// Signals everything in the unit's cgroup, without the manager.
pub(super) fn kill(machine: &Machine, manager: &Path, unit: &str, signal: Signal) -> Result<(), ScopeError> {
    let Some(dir) = scope(manager, unit) else { return Ok(()) };
    let failed = |error: &dyn std::fmt::Display| ScopeError(format!("cannot signal what is left in {unit}: {error}"));
    // Linux 5.14; atomic, where it is there.
    if signal == Signal::Kill && fs::write(dir.join("cgroup.kill"), "1").is_ok() {
        return Ok(());
    }
    let table = machine.table().map_err(|error| failed(&error))?;
    let list = fs::read_to_string(dir.join("cgroup.procs")).map_err(|error| failed(&error))?;
    for process in list.lines().filter_map(|pid| table.running(pid.parse().ok()?)) {
        if let Signalled::Refused(why) = machine.signal(process.key, signal) {
            return Err(failed(&why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_hierarchy_is_found_beside_the_first() {
        let mounts = "30 1 0:26 / /sys/fs/cgroup rw - tmpfs cgroup rw\n\
            31 30 0:27 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw\n\
            32 30 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n";
        assert_eq!(hierarchy(mounts), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(hierarchy(""), None);
    }
}
