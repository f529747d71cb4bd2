//! The files of one launch: what the shim is to run, and what it says when that fails.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::record::SessionId;

/// The version of both formats. They are written and read by the same build; another version is refused.
pub const LAUNCH_FILES_VERSION: u32 = 1;

/// `launch/<session>.<generation>.json`: everything the shim needs. Holds credentials: 0600, unlinked before it is
/// parsed, never shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchSpec {
    /// [`LAUNCH_FILES_VERSION`].
    pub version: u32,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Variables to set.
    pub env: BTreeMap<String, String>,
    /// Variables to remove.
    pub unset: Vec<String>,
    /// Working directory.
    pub dir: PathBuf,
    /// A command to run first.
    pub before_launch: Option<BeforeLaunch>,
    /// The session.
    pub session: SessionId,
    /// The tab, for a tab's terminal.
    pub tab: Option<SessionId>,
    /// The session's launch counter.
    pub generation: u32,
    /// Bearer credential of the session.
    pub token: String,
    /// The supervisor's socket.
    pub socket: PathBuf,
    /// The directory of the farhelm program, to be first in `PATH`.
    pub bin_dir: PathBuf,
    /// Where the shim writes a [`Sentinel`] when it fails.
    pub status_file: PathBuf,
    /// Made right before the exec.
    pub exec_file: PathBuf,
}

/// A command to run in the pane before the launch.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeforeLaunch {
    /// The program and its arguments.
    pub run: Vec<String>,
    /// How long it may take, in milliseconds.
    pub timeout_ms: u64,
}

/// `launch/<session>.<generation>.status`: why a launch came to nothing. Its absence proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sentinel {
    /// [`LAUNCH_FILES_VERSION`].
    pub version: u32,
    /// What failed.
    pub failure: Failure,
    /// The shim's words.
    pub words: String,
}

/// The steps of a launch that can fail in the shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// The spec could not be read.
    UnreadableSpec,
    /// The directory could not be entered.
    Chdir,
    /// `before_launch` failed, took too long or was interrupted.
    BeforeLaunch,
    /// The program could not be executed.
    Exec,
}
