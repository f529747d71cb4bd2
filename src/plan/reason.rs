//! Reasons: the one place where a reason code and its words are defined.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::spec::name::Name;
use crate::state::fields::Field;

/// Why an action is planned, or why it is held back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Reason {
    // Why something starts.
    /// Not there, never launched.
    NotRunning,
    /// It ended with a status.
    Exited { status: i32, ago: Option<Duration> },
    /// A signal ended it.
    Killed { signal: i32, ago: Option<Duration> },
    /// It is gone, its status unknown.
    Vanished,
    /// Its tmux server died under it.
    ServerDied,
    /// The machine was rebooted.
    Rebooted,
    /// An earlier launch failed.
    LaunchFailed { words: String },
    /// Marked processes of an earlier launch are alive.
    Leftovers { processes: usize },
    /// It was stopped and is wanted again.
    WantedAgain,
    /// It comes back from a tombstone.
    Restored,
    /// An operator asked.
    Asked,

    // Why something changes or ends.
    /// A launch-class field differs. Values only where they may be shown.
    Changed { field: Field, old: Option<Vec<String>>, new: Option<Vec<String>> },
    /// A policy or text field differs.
    Adjusted { field: String },
    /// `desired: stopped`.
    DesiredStopped,
    /// An operator's `stop` is in force.
    HeldStopped { why: Option<String> },
    /// It is no longer in the files.
    Removed,
    /// `down`.
    Down,
    /// The tab is no longer in the files, or changed.
    TabRemoved { tab: Name },
    /// The tab's definition changed.
    TabChanged { tab: Name },
    /// The tab is not there.
    TabMissing { tab: Name },
    /// A live stamped pane has no record.
    NoRecord,
    /// Named by `moved`.
    Moved { from: Name },

    // Why it must wait.
    /// In a turn; restarts when idle.
    Working,
    /// `update.when: idle` and no signal of activity.
    ActivityUnknown,
    /// `update.when: manual`.
    ManualUpdate,
    /// `policy.max_running` is reached.
    MaxRunning { limit: usize },
    /// Backoff.
    Backoff { left: Duration },
    /// Its launch has not been proven yet.
    Launching { since: Duration },

    // Why it must not.
    /// Protected.
    Protected,
    /// More reaps than `max_reap`.
    MaxReap { limit: usize, wanted: usize },
    /// `pause` is in force.
    Paused { why: Option<String>, until_ms: Option<i64> },
    /// The fleet was last applied from other files.
    OtherSources { known: Vec<String> },
    /// Another state directory owns a live pane of it.
    OtherOwner { owner: String, pane: String },
    /// More than one live pane or agent.
    Several { what: Vec<String> },
    /// The directory is not there, or not what it was.
    Dir { words: String },
    /// Its conversation cannot be verified, or would be lost.
    Conversation { words: String },
    /// Too many failures.
    CrashLoop { failures: u32 },
    /// A removed session and a new one share a directory: `moved` was probably meant.
    MaybeMoved { other: Name },
    /// `prune` is off.
    NoPrune,
    /// farhelm runs inside this session.
    Inside,

    // Why nothing is done though it does not run.
    /// Ended with status 0 and is not to be restarted.
    Completed,
    /// Ended and `restart.when: never`.
    NotRestarted { status: Option<i32> },

    /// Why it is unknown.
    Unobservable { words: String },
}
