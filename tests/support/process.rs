//! The process table, as the tests see it: by their own reading, not by the program under test.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// One process that was seen: its number and start time, so that a recycled number is another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    pub pid: i32,
    pub start: u64,
}

struct Stat {
    state: char,
    parent: i32,
    start: u64,
}

fn stat(pid: i32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some(Stat { state: fields[0].chars().next()?, parent: fields[1].parse().ok()?, start: fields[19].parse().ok()? })
}

/// The process of this number, when it runs; a zombie does not.
pub fn seen(pid: i32) -> Option<Seen> {
    stat(pid).filter(|s| !matches!(s.state, 'Z' | 'X')).map(|s| Seen { pid, start: s.start })
}

/// Whether a process of this number runs.
pub fn runs(pid: i32) -> bool {
    seen(pid).is_some()
}

/// All that run.
pub fn all() -> Vec<Seen> {
    let entries = fs::read_dir("/proc").expect("/proc can be listed");
    entries.filter_map(|entry| seen(entry.ok()?.file_name().to_str()?.parse().ok()?)).collect()
}

/// The running children of `pid`.
pub fn children(pid: i32) -> Vec<i32> {
    all().into_iter().filter(|p| stat(p.pid).is_some_and(|s| s.parent == pid)).map(|p| p.pid).collect()
}

/// The arguments of a process.
pub fn argv(pid: i32) -> Vec<OsString> {
    split_nul(&fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default())
}

/// The exec-time environment of a process; empty when it is gone or foreign.
pub fn environment(pid: i32) -> BTreeMap<OsString, OsString> {
    variables(&fs::read(format!("/proc/{pid}/environ")).unwrap_or_default())
}

/// Reads `NAME=value` texts separated by NUL.
pub fn variables(bytes: &[u8]) -> BTreeMap<OsString, OsString> {
    let pairs = bytes.split(|b| *b == 0).filter_map(|entry| {
        let at = entry.iter().position(|b| *b == b'=')?;
        Some((OsStr::from_bytes(&entry[..at]).to_owned(), OsStr::from_bytes(&entry[at + 1..]).to_owned()))
    });
    pairs.collect()
}

/// Reads texts each of which ends with NUL.
pub fn split_nul(bytes: &[u8]) -> Vec<OsString> {
    let Some(bytes) = bytes.strip_suffix(&[0]) else { return Vec::new() };
    bytes.split(|b| *b == 0).map(|part| OsString::from_vec(part.to_vec())).collect()
}

/// Sends `signal`; a process that is gone is no error.
pub fn signal(pid: i32, signal: Signal) {
    assert!(pid > 1, "pid {pid} is not for a test to signal");
    let _ = kill(Pid::from_raw(pid), signal);
}

/// Kills a process and waits until it runs no more.
#[track_caller]
pub fn kill_hard(pid: i32) {
    signal(pid, Signal::SIGKILL);
    super::wait::wait_until("a killed process ends", || !runs(pid));
}

/// Those whose environment or arguments contain `needle`.
pub fn mentioning(needle: &OsStr) -> Vec<Seen> {
    let contains = |bytes: Vec<u8>| bytes.windows(needle.len()).any(|window| window == needle.as_bytes());
    let mut found = all();
    found.retain(|p| {
        ["environ", "cmdline"]
            .iter()
            .any(|file| contains(fs::read(format!("/proc/{}/{file}", p.pid)).unwrap_or_default()))
    });
    found
}
