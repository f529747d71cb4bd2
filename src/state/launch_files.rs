//! The files by which farhelm and the shim in a pane speak of one launch.
//!
//! `launch/<session>.<generation>.json`, the spec: farhelm writes it, the shim reads it and unlinks it *before* parsing.
//! `….exec`: the shim makes it right before exec, with its process number in it. `….status`, the sentinel: the shim writes it, durably, when
//! anything fails. So: an exec file and no sentinel means that exec happened; a spec still there means that the shim was
//! never reached. A launch of a tab has a fourth part in its names: `<session>.<generation>.<tab>.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::host::disk::{Disk, DiskError, DiskFault};
use crate::host::process::Pid;
use crate::spec::name::Name;
use crate::spec::visible::shortened;

use super::error::StateError;
use super::record::SessionId;

/// Version of the spec and of the sentinel; farhelm and its shim are the same program, except while it is upgraded.
pub const VERSION: u32 = 1;

/// The largest spec, in bytes: the kernel takes 2 MiB of arguments and environment by default (execve(2)); JSON adds
/// escapes.
pub const MAX_SPEC: u64 = 8 << 20;

/// The largest sentinel, in bytes.
pub const MAX_SENTINEL: u64 = 64 << 10;

/// The largest exec file that is read, in bytes: it holds a process number.
const MAX_EXEC: u64 = 64;

const GARBLED: &str = "the launch failed and left no words (its status file is damaged)";

/// The names of one launch's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchFiles {
    /// The spec.
    pub spec: PathBuf,
    /// The sentinel.
    pub status: PathBuf,
    /// The proof that exec was reached.
    pub exec: PathBuf,
}

impl LaunchFiles {
    /// The files of a launch in the launch directory `dir`; of a tab's launch, where `tab` is given.
    #[must_use]
    pub fn new(dir: &Path, session: SessionId, generation: u32, tab: Option<SessionId>) -> Self {
        let tab = tab.map(|tab| format!(".{tab}")).unwrap_or_default();
        let file = |ending: &str| dir.join(format!("{session}.{generation}{tab}.{ending}"));
        Self { spec: file("json"), status: file("status"), exec: file("exec") }
    }

    /// Writes the spec. It must not be there: a generation is launched once.
    ///
    /// # Errors
    /// [`StateError::Disk`].
    pub fn write_spec(&self, disk: &dyn Disk, spec: &LaunchSpec) -> Result<(), StateError> {
        let text = to_json(&self.spec, spec)?;
        Ok(disk.create(&self.spec, &text)?)
    }

    /// Whether the shim has not yet taken the spec.
    ///
    /// # Errors
    /// [`StateError::Disk`]: not known.
    pub fn spec_unread(&self, disk: &dyn Disk) -> Result<bool, StateError> {
        is_there(disk, &self.spec)
    }

    /// Whether the shim came to its exec. It may have failed there: then there is a sentinel.
    ///
    /// # Errors
    /// [`StateError::Disk`]: not known.
    pub fn exec_reached(&self, disk: &dyn Disk) -> Result<bool, StateError> {
        is_there(disk, &self.exec)
    }

    /// Whether the shim has left word of how far it came among `names`, those of the files in the launch directory.
    #[must_use]
    pub fn has_word(&self, names: &BTreeSet<String>) -> bool {
        let is_there = |path: &Path| path.file_name().and_then(OsStr::to_str).is_some_and(|name| names.contains(name));
        is_there(&self.exec) || is_there(&self.status)
    }

    /// The number of the process that came to its exec, as the shim noted it; `None` where it did not come so far or
    /// left no number.
    ///
    /// # Errors
    /// [`StateError::Disk`]: not known.
    pub fn exec_by(&self, disk: &dyn Disk) -> Result<Option<Pid>, StateError> {
        match disk.read(&self.exec, MAX_EXEC) {
            Ok(bytes) => Ok(std::str::from_utf8(&bytes).ok().and_then(|text| text.trim().parse().ok())),
            Err(error) if error.fault == DiskFault::Missing => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The shim's words on why the program did not run; `None` when it left none, which proves nothing. A sentinel that
    /// cannot be understood is a failure too.
    ///
    /// # Errors
    /// [`StateError::Disk`]: not known.
    pub fn failure(&self, disk: &dyn Disk) -> Result<Option<Sentinel>, StateError> {
        let bytes = match disk.read(&self.status, MAX_SENTINEL) {
            Ok(bytes) => bytes,
            Err(error) if error.fault == DiskFault::Missing => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let left = serde_json::from_slice::<Sentinel>(&bytes);
        let (what, words) = left.map_or((Failure::Garbled, GARBLED.to_owned()), |left| (left.what, left.words));
        Ok(Some(Sentinel::new(what, &words)))
    }

    /// Removes all of them.
    ///
    /// # Errors
    /// [`StateError::Disk`].
    pub fn remove(&self, disk: &dyn Disk) -> Result<(), StateError> {
        for path in [&self.spec, &self.status, &self.exec] {
            disk.remove(path)?;
        }
        Ok(())
    }
}

/// Removes the launch files in `dir` of every launch for which `keep` (session, generation) says no.
///
/// # Errors
/// [`StateError::Disk`].
pub fn sweep(disk: &dyn Disk, dir: &Path, keep: impl Fn(SessionId, u32) -> bool) -> Result<(), StateError> {
    for name in disk.list(dir)? {
        if launch_of(&name).is_some_and(|(session, generation)| !keep(session, generation)) {
            disk.remove(&dir.join(name))?;
        }
    }
    Ok(())
}

/// Session and generation in a launch file's name; `None` for any other file.
fn launch_of(name: &str) -> Option<(SessionId, u32)> {
    let mut parts = name.split('.');
    let session = SessionId(uuid::Uuid::try_parse(parts.next()?).ok()?);
    Some((session, parts.next()?.parse().ok()?))
}

fn is_there(disk: &dyn Disk, path: &Path) -> Result<bool, StateError> {
    match disk.read(path, MAX_SPEC) {
        Ok(_) => Ok(true),
        Err(error) if error.fault == DiskFault::Missing => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn to_json<T: Serialize>(path: &Path, value: &T) -> Result<Vec<u8>, StateError> {
    serde_json::to_vec(value).map_err(|error| {
        let (path, words) = (path.to_owned(), error.to_string());
        DiskError { doing: "write", path, fault: DiskFault::Other, words }.into()
    })
}

/// All the shim needs to become the program. It holds a whole command line and environment: handle it as a credential.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchSpec {
    /// [`VERSION`].
    pub version: u32,
    /// The session.
    pub session: SessionId,
    /// The tab, when a tab is launched and not the agent.
    pub tab: Option<SessionId>,
    /// The launch's number.
    pub generation: u32,
    /// The program and its arguments; never empty.
    pub argv: Vec<String>,
    /// Variables to set, besides farhelm's own; `PATH` among them only if the fleet sets it.
    pub env: BTreeMap<String, String>,
    /// Variables to remove first, before any is set.
    pub unset: Vec<String>,
    /// The working directory.
    pub dir: PathBuf,
    /// A command to run first, in the same directory and environment.
    pub before_launch: Option<Before>,
    /// Value of `FARHELM_SESSION_TOKEN`.
    pub token: String,
    /// Value of `FARHELM_SUPERVISOR_SOCK`.
    pub socket: PathBuf,
    /// The directory of the farhelm program, to be put first in `PATH`.
    pub bin_dir: PathBuf,
    /// Where the sentinel goes.
    pub status_file: PathBuf,
    /// The file to make right before exec.
    pub exec_file: PathBuf,
    /// That file is synced: a prompt rides in the argv, and must not be delivered again after a power cut.
    #[serde(default)]
    pub durable_exec: bool,
    /// The kind of a known agent, to be named when its program is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Name>,
}

impl fmt::Debug for LaunchSpec {
    /// Only what is no secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LaunchSpec({} generation {})", self.session, self.generation)
    }
}

/// A command that runs before the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// The command and its arguments; never empty.
    pub run: Vec<String>,
    /// How long it may take, in milliseconds; then it is ended and the launch fails.
    pub timeout_ms: u64,
}

/// Why the program does not run, as the shim left it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sentinel {
    /// [`VERSION`].
    pub version: u32,
    /// What failed.
    pub what: Failure,
    /// The same for an operator: `claude: not found in PATH`. At most 1000 characters.
    pub words: String,
}

impl Sentinel {
    /// A sentinel of this version.
    #[must_use]
    pub fn new(what: Failure, words: &str) -> Self {
        Self { version: VERSION, what, words: shortened(words, 1000) }
    }

    /// Writes it durably.
    ///
    /// # Errors
    /// [`StateError::Disk`].
    pub fn write(&self, disk: &dyn Disk, status_file: &Path) -> Result<(), StateError> {
        Ok(disk.replace(&[(status_file.to_owned(), to_json(status_file, self)?)])?)
    }
}

/// The steps of a launch that can fail in the shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// The spec could not be read or understood.
    UnreadableSpec,
    /// The working directory could not be entered.
    Chdir,
    /// The command before the launch failed, took too long or was interrupted.
    BeforeLaunch,
    /// The program could not be executed.
    Exec,
    /// The sentinel itself is empty or damaged; never written, only read.
    Garbled,
}
