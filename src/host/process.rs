//! The process table.
//!
//! A process is known by (boot, pid, start time). A pid alone is never trusted: the kernel hands numbers out again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::clock::Moment;

/// A process number.
pub type Pid = i32;

/// The kernel's boot id; a new one at every boot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BootId(pub String);

/// One process within one boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessKey {
    /// Its number.
    pub pid: Pid,
    /// Its start time in clock ticks since boot (field 22 of `/proc/PID/stat`).
    pub start: u64,
}

impl fmt::Display for ProcessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {}", self.pid)
    }
}

/// One row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Who it is.
    pub key: ProcessKey,
    /// Its parent's number.
    pub parent: Pid,
    /// Exited but not yet collected (state Z or X): it runs nothing any more.
    pub dead: bool,
    /// `comm`: at most 15 bytes, as the kernel has it.
    pub comm: String,
    /// Resident memory in bytes.
    pub memory: u64,
}

/// One complete reading of the process table.
#[derive(Debug, Clone, Default)]
pub struct ProcessTable {
    /// All processes, by number.
    pub processes: BTreeMap<Pid, Process>,
    /// Children by parent, made when a tree is first asked for: a plan asks for one per session.
    children: OnceLock<BTreeMap<Pid, Vec<Pid>>>,
}

impl From<BTreeMap<Pid, Process>> for ProcessTable {
    fn from(processes: BTreeMap<Pid, Process>) -> Self {
        Self { processes, children: OnceLock::new() }
    }
}

impl ProcessTable {
    /// The process, when it is still the same one and runs.
    #[must_use]
    pub fn alive(&self, key: ProcessKey) -> Option<&Process> {
        self.processes.get(&key.pid).filter(|p| p.key == key && !p.dead)
    }

    /// `pid` as it is now, when it runs.
    #[must_use]
    pub fn running(&self, pid: Pid) -> Option<&Process> {
        self.processes.get(&pid).filter(|p| !p.dead)
    }

    /// All that descend from `roots`, the roots included, as far as they are in the table.
    #[must_use]
    pub fn trees(&self, roots: &[ProcessKey]) -> BTreeSet<ProcessKey> {
        let mut found = BTreeSet::new();
        let row = |pid: &Pid| self.processes.get(pid);
        let mut open: Vec<&Process> = roots.iter().filter_map(|k| row(&k.pid).filter(|p| p.key == *k)).collect();
        while let Some(process) = open.pop() {
            if found.insert(process.key) {
                open.extend(self.children().get(&process.key.pid).into_iter().flatten().filter_map(row));
            }
        }
        found
    }

    fn children(&self) -> &BTreeMap<Pid, Vec<Pid>> {
        self.children.get_or_init(|| {
            let mut children: BTreeMap<Pid, Vec<Pid>> = BTreeMap::new();
            for process in self.processes.values() {
                children.entry(process.parent).or_default().push(process.key.pid);
            }
            children
        })
    }

    /// `pid` and its ancestors, nearest first.
    #[must_use]
    pub fn ancestors(&self, pid: Pid) -> Vec<ProcessKey> {
        let mut line = Vec::new();
        let mut next = self.processes.get(&pid);
        while let Some(process) = next {
            if line.contains(&process.key) {
                break;
            }
            line.push(process.key);
            next = self.processes.get(&process.parent);
        }
        line
    }
}

/// farhelm's marks in a process's *exec-time* environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Markers {
    /// `FARHELM_SESSION_ID`.
    pub session: Option<String>,
    /// `FARHELM_AGENT_ID`.
    pub agent: Option<String>,
    /// `FARHELM_TAB_ID`.
    pub tab: Option<String>,
    /// `FARHELM_SUPERVISOR_SOCK`.
    pub socket: Option<String>,
}

/// What reading one process's environment gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarkersRead {
    /// Read; unmarked processes have empty [`Markers`].
    Read(Markers),
    /// It ended meanwhile, or its number is another process's now.
    Gone,
    /// It belongs to another account: never ours.
    Foreign,
    /// Ours, and yet unreadable (it made itself undumpable, say).
    Unreadable,
}

/// The signals farhelm sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// SIGTERM.
    Term,
    /// SIGHUP.
    Hup,
    /// SIGSTOP.
    Stop,
    /// SIGCONT.
    Cont,
    /// SIGKILL.
    Kill,
    /// SIGUSR1 (to a tmux server: recreate the socket).
    Usr1,
}

/// What became of a signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signalled {
    /// Delivered to exactly that process.
    Sent,
    /// That process is no more; nothing was signalled.
    Gone,
    /// The kernel refused.
    Refused(String),
}

/// The process table could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read the process table: {0}")]
pub struct ProcessError(pub String);

/// The process port.
pub trait Processes {
    /// This boot's id.
    ///
    /// # Errors
    /// When the kernel does not say.
    fn boot(&self) -> Result<BootId, ProcessError>;

    /// One pass over the whole table.
    ///
    /// # Errors
    /// When it cannot be listed. A failed reading is never an empty table.
    fn table(&self) -> Result<ProcessTable, ProcessError>;

    /// The marks in one process's environment, read in a bounded way.
    fn markers(&self, key: ProcessKey) -> MarkersRead;

    /// The process's arguments, read in a bounded way; `None` when it is gone or unreadable.
    fn argv(&self, key: ProcessKey) -> Option<Vec<String>>;

    /// The process's working directory; `None` when it is gone or unreadable, or where nothing can tell.
    fn dir(&self, _key: ProcessKey) -> Option<PathBuf> {
        None
    }

    /// The files a process has open, as it opened them; `None` when it is gone or unreadable, or where nothing can tell.
    fn open_files(&self, _key: ProcessKey) -> Option<Vec<PathBuf>> {
        None
    }

    /// Sends `signal` to exactly this process, through a pidfd, its start time checked just before.
    fn signal(&self, key: ProcessKey, signal: Signal) -> Signalled;

    /// Waits until every one of `keys` is gone (no such number, other start time, or zombie), at most `limit`, and
    /// returns those that are not. Ends early on [`super::clock::Interrupt::Abandon`].
    fn wait_gone(&self, keys: &BTreeSet<ProcessKey>, limit: Duration) -> BTreeSet<ProcessKey>;

    /// farhelm's own number.
    fn own(&self) -> Pid;

    /// When a process of this start time began.
    fn started(&self, start: u64) -> Moment;
}
