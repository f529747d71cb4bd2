//! What a plan can say of a session.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::spec::name::Name;
use crate::state::record::SessionId;

use super::reason::Reason;

/// One line of a plan. A session can have several: a changed title and a closed tab, say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// The session.
    pub session: Name,
    /// Its id, once it has one.
    pub id: Option<SessionId>,
    /// Its kind.
    pub kind: Option<Name>,
    /// Its directory as written.
    pub dir: Option<String>,
    /// What to do.
    pub action: Action,
    /// Why; for blocked, waiting and unknown: what stands in the way.
    pub reasons: Vec<Reason>,
    /// What it costs.
    pub cost: Cost,
    /// Remarks that change nothing: unmanaged agents in the directory, a prompt not delivered now, …
    pub notes: Vec<String>,
}

/// What to do about a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Nothing.
    Unchanged,
    /// Start it; nothing of it is alive.
    Launch(Mode),
    /// Write changed text and policies to record and stamp; nothing ends.
    Adjust,
    /// Open a tab.
    OpenTab(Name),
    /// End what is alive of the agent, then start it.
    Restart(Mode),
    /// End the agent; the session stays.
    Stop,
    /// End all of it and keep a tombstone.
    Reap,
    /// End a tab.
    CloseTab(Name),
    /// Rebuild the record from the stamp.
    Adopt,
    /// Rename in place.
    Move {
        /// The former name.
        from: Name,
    },
    /// Something is to be done, later.
    Waiting(Box<Action>),
    /// Something would be done, and must not be.
    Blocked(Box<Action>),
    /// It could not be observed.
    Unknown,
}

/// How a session starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A new conversation, or a kind without any.
    Fresh {
        /// The prompt is delivered.
        prompt: bool,
    },
    /// The id assigned at an earlier launch, never used: the same id again, nothing is lost.
    SameId {
        /// The conversation's id.
        conversation: String,
        /// The prompt is delivered.
        prompt: bool,
    },
    /// The conversation goes on.
    Resume {
        /// Its id.
        conversation: String,
    },
    /// The profile's own `resume` command, which names no conversation (generic kinds).
    Verbatim,
}

/// What an action costs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// The conversation's fate.
    pub conversation: ConversationFate,
    /// A turn in progress is cut off.
    pub turn_lost: bool,
    /// Clients that show it now.
    pub clients: u32,
    /// Processes to be ended.
    pub processes: usize,
    /// Their memory, in bytes.
    pub memory: u64,
    /// The tombstone's end, in milliseconds since 1970 (reap).
    pub restorable_until_ms: Option<i64>,
    /// Something cannot be had back: a reap, a closed tab, a lost conversation.
    pub destructive: bool,
}

/// What becomes of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConversationFate {
    /// There is none, or it is not touched.
    #[default]
    NotTouched,
    /// Kept; words such as `4bfc71d6, reported 3h ago`.
    Kept(String),
    /// Kept as far as known: assigned at launch, confirmed by nobody.
    KeptUnconfirmed(String),
    /// Never prompted.
    NothingToLose,
    /// It ends, and this session cannot come back to it.
    Lost(String),
}

/// A saved plan's proof of what it was made from (`plan --out`): hashes of the three inputs, by session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Basis {
    /// The fleet files' real paths.
    pub sources: Vec<PathBuf>,
    /// Per session: hash of its desired, observed and recorded state, without times.
    pub sessions: std::collections::BTreeMap<Name, String>,
}
