//! The terminals: tmux.
//!
//! Every call names the server by its socket's absolute path, has a deadline, and targets panes and sessions by tmux's
//! own ids, never by name.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::process::Pid;

/// The absolute path of a tmux server's socket.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Socket(pub PathBuf);

impl Socket {
    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl fmt::Display for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.display())
    }
}

/// tmux's id of a pane, `%12`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PaneId(pub String);

/// tmux's id of a session, `$3`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TmuxSession(pub String);

impl fmt::Display for PaneId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for TmuxSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A pane's stamp in parts, by name: all but the id share one option of tmux's. `state::stamp` gives them meaning.
pub type StampText = BTreeMap<String, String>;

/// How a pane's process ended, as tmux knows it. Both `None`: tmux does not know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaneEnd {
    /// Exit status.
    pub status: Option<i32>,
    /// Signal number.
    pub signal: Option<i32>,
    /// When, in seconds since 1970.
    pub at: Option<i64>,
}

/// One pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pane {
    /// Its id.
    pub id: PaneId,
    /// The tmux session it is in (the first that links its window).
    pub session: TmuxSession,
    /// That session's name.
    pub session_name: String,
    /// Its process; of a dead pane, the number it had.
    pub pid: Pid,
    /// How its process ended; `None` while it runs.
    pub end: Option<PaneEnd>,
    /// Clients that show this tmux session.
    pub clients: u32,
    /// farhelm's options on it.
    pub stamp: StampText,
}

/// A server's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panes {
    /// The server's process.
    pub server: Pid,
    /// All its panes, each once.
    pub panes: Vec<Pane>,
}

/// Where a new process gets its terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A new tmux session of this name.
    NewSession(String),
    /// A new window in that tmux session.
    NewWindow(TmuxSession),
    /// The same pane again; its process is dead.
    Respawn(PaneId),
}

/// One process to start in a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenPane {
    /// Where.
    pub place: Place,
    /// The window's name.
    pub window: String,
    /// Working directory.
    pub dir: PathBuf,
    /// The command, as arguments; no shell sees them.
    pub argv: Vec<String>,
    /// Options to set with the creation, on the same line.
    pub stamp: StampText,
}

/// A started process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Its pane.
    pub pane: PaneId,
    /// The tmux session.
    pub session: TmuxSession,
    /// The pane's process.
    pub pid: Pid,
    /// The server's process.
    pub server: Pid,
    /// What a pane that is used again showed until then: at most [`KEPT_LINES`].
    pub showed: Option<String>,
}

/// Lines of a pane that are kept when it is used again or closed.
pub const KEPT_LINES: u32 = 200;

/// What a call to tmux can answer instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TmuxError {
    /// Nobody listens on the socket. tmux says the same of a live server whose socket file was deleted.
    #[error("no tmux server on {0}")]
    NoServer(Socket),
    /// No answer in time.
    #[error("tmux did not answer within {}s", .0.as_secs_f32())]
    Timeout(Duration),
    /// No usable tmux program.
    #[error("{0}")]
    NotUsable(String),
    /// tmux refused.
    #[error("tmux failed: {0}")]
    Failed(String),
}

/// The tmux port.
pub trait Tmux {
    /// Lists all panes of the server in one call.
    ///
    /// # Errors
    /// [`TmuxError`]; none of them means "there are no panes" but, where the server's process is gone too,
    /// [`TmuxError::NoServer`].
    fn panes(&self, socket: &Socket) -> Result<Panes, TmuxError>;

    /// Starts all of `requests`, in order, in as few calls as possible, the server too where there is none, and reads
    /// back what came of each.
    ///
    /// # Errors
    /// The outer error: nothing is known of any of them. An inner one: that one was not started.
    fn open(&self, socket: &Socket, requests: &[OpenPane]) -> Result<Vec<Result<Opened, TmuxError>>, TmuxError>;

    /// Sets options on panes.
    ///
    /// # Errors
    /// [`TmuxError`].
    fn stamp(&self, socket: &Socket, stamps: &[(PaneId, StampText)]) -> Result<(), TmuxError>;

    /// Closes panes; those already gone are no error.
    ///
    /// # Errors
    /// [`TmuxError`].
    fn close(&self, socket: &Socket, panes: &[PaneId]) -> Result<(), TmuxError>;

    /// The last `lines` lines of a pane as plain text, bounded.
    ///
    /// # Errors
    /// [`TmuxError`].
    fn capture(&self, socket: &Socket, pane: &PaneId, lines: u32) -> Result<String, TmuxError>;

    /// Renames a tmux session (`moved`).
    ///
    /// # Errors
    /// [`TmuxError`].
    fn rename(&self, socket: &Socket, session: &TmuxSession, name: &str) -> Result<(), TmuxError>;
}
