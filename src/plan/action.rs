//! What a plan can say of a session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spec::name::Name;
use crate::state::record::SessionId;

use super::reason::Reason;

/// One line of a plan. A session can have several: a changed title and a closed tab, say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// The session.
    pub session: Name,
    /// Its id, once it has one.
    #[schemars(with = "Option<String>")]
    pub id: Option<SessionId>,
    /// Its kind.
    pub kind: Option<Name>,
    /// Its directory as written.
    pub dir: Option<String>,
    /// The session whose agent asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Name>,
    /// What to do.
    pub action: Action,
    /// Why. For blocked, waiting and unknown: first what stands in the way, the strongest first, then why it would be
    /// done.
    pub reasons: Vec<Reason>,
    /// What it costs; for blocked and waiting, what it would cost.
    pub cost: Cost,
    /// Remarks that change nothing: unmanaged agents in the directory, a prompt not delivered now, …
    pub notes: Vec<String>,
}

/// What to do about a session: `do` names it, `with` holds what belongs to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "do", content = "with", rename_all = "kebab-case")]
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
    /// Rename in place, and take over from a former fleet.
    Move {
        /// The former name; the present one when only the fleet was renamed.
        from: Name,
    },
    /// Something is to be done, later.
    Waiting(Box<Action>),
    /// Something would be done, and must not be.
    Blocked(Box<Action>),
    /// It could not be observed.
    Unknown,
}

impl Action {
    /// Whether carrying out the plan does something for this item.
    #[must_use]
    pub fn effective(&self) -> bool {
        !matches!(self, Self::Unchanged | Self::Waiting(_) | Self::Blocked(_) | Self::Unknown)
    }
}

/// How a session starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "mode", rename_all = "kebab-case")]
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

impl Mode {
    /// Whether something goes on, rather than starting anew.
    #[must_use]
    pub fn resumes(&self) -> bool {
        matches!(self, Self::Resume { .. } | Self::Verbatim)
    }
}

/// What an action costs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// The conversation's fate.
    pub conversation: ConversationFate,
    /// A turn in progress is cut off.
    pub turn_lost: bool,
    /// Clients that show it now.
    pub clients: u32,
    /// Processes to be ended (reap).
    pub processes: usize,
    /// Their memory, in bytes.
    pub memory: u64,
    /// The tombstone's end, in milliseconds since 1970 (reap of a session with a conversation).
    pub restorable_until_ms: Option<i64>,
    /// Something cannot be had back: a reap, a closed tab, a lost conversation. Only of what is done now.
    pub destructive: bool,
}

/// What becomes of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fate", content = "words", rename_all = "kebab-case")]
pub enum ConversationFate {
    /// There is none, or it is not touched.
    #[default]
    NotTouched,
    /// Kept; words such as `4bfc71d6, reported 3h ago`.
    Kept(String),
    /// Kept as far as known: assigned at launch, confirmed by nobody.
    KeptUnconfirmed(String),
    /// Never prompted, or a kind without conversations.
    NothingToLose,
    /// It ends, and this session cannot come back to it.
    Lost(String),
}
