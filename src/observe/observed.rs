//! What was seen, in three values: it is so, it is not so, it could not be seen.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::host::clock::Moment;
use crate::host::process::{BootId, ProcessKey};
use crate::host::tmux::{Pane, PaneId, Socket, TmuxSession};
use crate::spec::name::Name;
use crate::state::fields::Contents;
use crate::state::record::{Ended, SessionId};
use crate::state::stamp::Stamp;

use super::silence::Silence;

/// Everything seen in one look.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// When.
    pub at: Moment,
    /// This boot.
    pub boot: BootId,
    /// The socket new sessions go to.
    pub socket: Socket,
    /// Each server asked.
    pub servers: BTreeMap<Socket, ServerSeen>,
    /// What was seen of each session that has a record or a stamped pane of ours, by session id.
    pub sessions: BTreeMap<SessionId, Seen>,
    /// Stamped panes of this fleet that another owner (state directory) made, by session name.
    pub foreign: BTreeMap<Name, Vec<ForeignPane>>,
    /// Directories of the desired sessions, by session name.
    pub dirs: BTreeMap<Name, DirSeen>,
    /// Every pane that was listed, ours or not.
    pub panes: Vec<PaneRead>,
    /// Files whose content counts, of the desired sessions.
    pub contents: Contents,
    /// Agents without our marks in a session's directory, by session name: words such as `claude (pid 12)`.
    pub unmanaged: BTreeMap<Name, Vec<String>>,
}

/// One pane, joined with the process table.
#[derive(Debug, Clone, PartialEq)]
pub struct PaneRead {
    /// The server.
    pub socket: Socket,
    /// The pane.
    pub pane: Pane,
    /// What its stamp says; none on a pane that is nobody's.
    pub stamp: Option<Stamp>,
    /// Its process, while the pane lives and the process does.
    pub process: Option<ProcessKey>,
}

impl PaneRead {
    /// tmux says that it lives and the table that its process does not: it ended between the two readings.
    #[must_use]
    pub fn vanishing(&self) -> bool {
        self.pane.end.is_none() && self.process.is_none()
    }
}

/// A tmux server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerSeen {
    /// It answered.
    Up {
        /// Its process.
        process: ProcessKey,
    },
    /// Nobody listens, and the process recorded for it, if any, is gone.
    Absent,
    /// Not known, in words: `tmux did not answer within 2s`.
    Unknown(String),
}

/// What was seen of one session.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The agent's state.
    pub agent: AgentSeen,
    /// The stamp of its pane, where there is one; a lost record is rebuilt from it.
    pub stamp: Option<Stamp>,
    /// Marked processes of the *agent* outside a live agent pane's tree: left over from an earlier launch.
    pub leftovers: Vec<ProcessKey>,
    /// All living processes of the session that were looked at (its agent's tree and its tabs'), for the cost of a reap.
    pub processes: usize,
    /// Their resident memory, in bytes.
    pub memory: u64,
    /// Its tabs, by name.
    pub tabs: BTreeMap<Name, TabSeen>,
    /// Its tmux session, while that exists.
    pub tmux_session: Option<TmuxSession>,
    /// Its conversation's evidence.
    pub conversation: Evidence,
    /// Activity by reports.
    pub activity: Activity,
    /// What keeps it from saying which conversation it has.
    pub silence: Option<Silence>,
}

/// A pane and what runs in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneSeen {
    /// The pane.
    pub pane: PaneId,
    /// The server it is on.
    pub socket: Socket,
    /// Its process.
    pub process: ProcessKey,
    /// Clients that show it.
    pub clients: u32,
    /// The generation of its stamp.
    pub generation: u32,
    /// The agent behind its process, where that is a wrapper and the agent is known by its kind's process names.
    pub agent: Option<ProcessKey>,
}

/// The state of a session's agent.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentSeen {
    /// Not known, in words; nothing may be done.
    Unknown(String),
    /// One live pane, the agent (or its wrapper) runs in it.
    Alive(PaneSeen),
    /// One live pane, its shim has not yet exec'd the agent.
    Launching {
        /// The pane.
        pane: PaneSeen,
        /// Since the pane was opened.
        since: Duration,
    },
    /// It ended. `pane` is the dead pane that tmux kept, if it did.
    Ended {
        /// The dead pane.
        pane: Option<PaneId>,
        /// How.
        how: Ended,
    },
    /// Nothing of it: no pane, no marked process.
    Absent,
    /// More than one live pane or agent: words naming each.
    Several(Vec<String>),
}

/// The state of a tab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TabSeen {
    /// Open; its command may have ended, and then stays as it ended.
    Open {
        /// Its id, by its stamp.
        id: SessionId,
        /// The pane.
        pane: PaneId,
        /// Its process, while it runs.
        process: Option<ProcessKey>,
    },
    /// Recorded, and not there.
    Missing,
}

/// A pane stamped by another owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignPane {
    /// The pane.
    pub pane: PaneId,
    /// The owner id in its stamp.
    pub owner: String,
}

/// A session's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirSeen {
    /// There; its canonical path.
    Present(PathBuf),
    /// Not a directory, or not there: in words.
    Missing(String),
    /// Not known.
    Unknown(String),
}

/// Whether a session's conversation can be resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Evidence {
    /// It was not looked at: no decision needs it.
    Unread,
    /// The kind has no conversations, or none was ever stored.
    None,
    /// There is an id, and provably no prompt was ever given: nothing is lost by a fresh start.
    NeverPrompted,
    /// The same, and the id cannot be used again: the agent has written a file of it.
    Empty,
    /// The exact evidence was found; by this it is resumed, the value of `{conversation}`.
    Verified(String),
    /// Found, but only assigned at launch, never reported by the agent.
    Assigned,
    /// Not there yet; it may come.
    Pending(String),
    /// It should be there and is not.
    Missing(String),
    /// It is there and is another's.
    Changed(String),
    /// Another one was reported last, and is not there.
    Unproven {
        /// Its id.
        conversation: String,
        /// What is not there, in words.
        words: String,
    },
    /// It could not be looked at: nothing is known of it.
    Unreadable(String),
    /// It is there and must not be resumed now: it is open elsewhere, or a resume would endanger it.
    Held(String),
    /// Another session's newer report owns it.
    TakenBy(Name),
}

/// What the agent does, by its reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// No signal.
    Unknown,
    /// In a turn.
    Working,
    /// Waiting for a prompt.
    Idle,
    /// Asks something.
    NeedsInput,
}
