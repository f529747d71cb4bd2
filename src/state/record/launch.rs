//! What is remembered of one launch.

use serde::{Deserialize, Serialize};

use crate::host::clock::Moment;
use crate::host::process::{BootId, ProcessKey};
use crate::host::tmux::{PaneId, Socket};

use super::is_false;

/// One launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Its number.
    pub generation: u32,
    /// How far it came.
    pub phase: Phase,
    /// When it was begun.
    pub at: Moment,
    /// The boot.
    pub boot: BootId,
    /// The tmux server's socket.
    pub socket: Socket,
    /// The tmux server.
    #[serde(default)]
    pub server: Option<ProcessKey>,
    /// The pane.
    #[serde(default)]
    pub pane: Option<PaneId>,
    /// The pane's process.
    #[serde(default)]
    pub process: Option<ProcessKey>,
    /// The agent behind a wrapper, once seen.
    #[serde(default)]
    pub agent: Option<ProcessKey>,
    /// It ran in a scope of its own.
    pub scoped: bool,
    /// It resumed the conversation.
    pub resumed: bool,
    /// Hash of the prompt it carries, if any.
    #[serde(default)]
    pub prompt: Option<String>,
    /// Whether its agent was given the hook.
    #[serde(default)]
    pub hook: HookState,
    /// Its exec was proven before its end was begun: `phase` says that no more then.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ran: bool,
    /// When its end was noticed: on the boot clock, which nobody sets.
    #[serde(default)]
    pub over: Option<Moment>,
    /// Why a report of its conversation counted for nothing, in words, while none has counted.
    #[serde(default)]
    pub refused: Option<String>,
    /// Why a report of another conversation than the one that counts was refused, in words: its record was something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradicted: Option<String>,
    /// How it ended.
    #[serde(default)]
    pub ended: Option<Ended>,
}

/// Whether an agent was given the hook by which it reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookState {
    /// Its kind has none.
    #[default]
    None,
    /// It was.
    Given,
    /// It was not, for this reason.
    Skipped(String),
}

/// How far a launch came. Written before the effect it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// About to open a pane.
    Intended,
    /// The pane is open, the agent not proven.
    Opened,
    /// The agent's exec is proven.
    Running,
    /// About to be ended, or ended.
    Stopping,
    /// It is over.
    Ended,
}

/// How a launch ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// In which way.
    pub how: EndedHow,
    /// When, in milliseconds since 1970, where known.
    #[serde(default)]
    pub at_ms: Option<i64>,
}

/// The ways a launch can end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndedHow {
    /// It exited with this status.
    Exited(i32),
    /// A signal ended it.
    Killed(i32),
    /// It is gone, nobody knows how: counts as a failure.
    Lost,
    /// Its tmux server died, or was killed, under it.
    ServerDied,
    /// The machine was rebooted.
    Rebooted,
    /// farhelm or the operator stopped it.
    Stopped,
    /// The agent never ran: the shim's or farhelm's words.
    LaunchFailed(String),
}
