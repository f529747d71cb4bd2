//! Reasons: the one place where a reason code, its words and the way out of it are defined.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spec::name::Name;
use crate::state::fields::Field;

/// Why an action is planned, or why it is held back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Reason {
    // Why something starts.
    /// Not there, never launched.
    NotRunning,
    /// It ended with a status.
    Exited {
        /// The exit status.
        status: i32,
        /// How long ago, in milliseconds.
        #[serde(default, rename = "ago_ms", with = "millis_or_none")]
        #[schemars(with = "Option<u64>")]
        ago: Option<Duration>,
    },
    /// A signal ended it.
    Killed {
        /// The signal's number.
        signal: i32,
        /// How long ago, in milliseconds.
        #[serde(default, rename = "ago_ms", with = "millis_or_none")]
        #[schemars(with = "Option<u64>")]
        ago: Option<Duration>,
    },
    /// It is gone, its status unknown.
    Vanished,
    /// Its tmux server died under it.
    ServerDied,
    /// The machine was rebooted.
    Rebooted,
    /// An earlier launch failed.
    LaunchFailed {
        /// Why it failed.
        words: String,
    },
    /// Marked processes of an earlier launch are alive.
    Leftovers {
        /// How many.
        processes: usize,
    },
    /// It was stopped and is wanted again.
    WantedAgain,
    /// It comes back from a tombstone.
    Restored,
    /// An operator asked.
    Asked,

    // Why something changes or ends.
    /// A launch-class field differs. Values only where they may be shown, never those of the environment.
    Changed {
        /// The field.
        #[schemars(with = "String")]
        field: Field,
        /// What it was, where that is known and may be shown.
        old: Option<Vec<String>>,
        /// What it is to be, where that may be shown.
        new: Option<Vec<String>>,
    },
    /// A policy or text field differs.
    Adjusted {
        /// The field.
        field: String,
    },
    /// `desired: stopped`.
    DesiredStopped,
    /// An operator's `stop` is in force.
    HeldStopped {
        /// The operator's words.
        why: Option<String>,
    },
    /// It is no longer in the files.
    Removed,
    /// An agent asked for it, and the session of that agent has left the fleet.
    ParentGone {
        /// That session.
        parent: Name,
    },
    /// An agent asked for it, and `policy.spawn` no longer allows its profile.
    ProfileGone {
        /// The profile.
        profile: Name,
    },
    /// An agent asked for it, and it was dismissed.
    Dismissed,
    /// `down`.
    Down,
    /// The tab is no longer in the files.
    TabRemoved {
        /// The tab.
        tab: Name,
    },
    /// The tab's definition changed.
    TabChanged {
        /// The tab.
        tab: Name,
    },
    /// The tab is not there.
    TabMissing {
        /// The tab.
        tab: Name,
    },
    /// A stamped pane of ours has no record.
    NoRecord,
    /// Named by `moved`.
    Moved {
        /// The session's former name.
        from: Name,
    },
    /// Named by the fleet's `moved`.
    FleetMoved {
        /// The fleet's former name.
        from: Name,
    },

    // Why it must wait.
    /// In a turn; goes on when idle.
    Working,
    /// It asks something; goes on when that is answered and it is idle.
    NeedsInput,
    /// `update.when: idle` and no signal of activity.
    ActivityUnknown,
    /// `update.when: manual`.
    ManualUpdate,
    /// `policy.max_running` is reached.
    MaxRunning {
        /// The limit.
        limit: usize,
    },
    /// `policy.max_unavailable` is reached.
    MaxUnavailable {
        /// The limit.
        limit: usize,
    },
    /// The change is tried on another session first.
    Canary {
        /// That session.
        session: Name,
    },
    /// Backoff.
    Backoff {
        /// Time left, in milliseconds.
        #[serde(rename = "left_ms", with = "millis")]
        #[schemars(with = "u64")]
        left: Duration,
    },
    /// Its launch has not been proven yet.
    Launching {
        /// Since the pane was opened, in milliseconds.
        #[serde(rename = "since_ms", with = "millis")]
        #[schemars(with = "u64")]
        since: Duration,
    },

    // Why it must not.
    /// The login shell never reached the launch.
    LaunchStuck {
        /// Since the pane was opened, in milliseconds.
        #[serde(rename = "since_ms", with = "millis")]
        #[schemars(with = "u64")]
        since: Duration,
    },
    /// Protected.
    Protected,
    /// More reaps than `max_reap`.
    MaxReap {
        /// The limit.
        limit: usize,
        /// Reaps this plan would make.
        wanted: usize,
    },
    /// `pause` is in force.
    Paused {
        /// The operator's words.
        why: Option<String>,
        /// When it ends by itself, in milliseconds since 1970.
        until_ms: Option<i64>,
    },
    /// The fleet was last applied from other files.
    OtherSources {
        /// Those files; empty when nothing says which.
        known: Vec<String>,
    },
    /// Another state directory owns a pane of it.
    OtherOwner {
        /// Its owner id.
        owner: String,
        /// The pane.
        pane: String,
    },
    /// More than one live pane or agent.
    Several {
        /// Words naming each.
        what: Vec<String>,
    },
    /// The directory is not there, or not what it was.
    Dir {
        /// What is wrong with it.
        words: String,
    },
    /// Its conversation cannot be verified, or would be lost.
    Conversation {
        /// Which, and why.
        words: String,
    },
    /// Too many failures.
    CrashLoop {
        /// Ends in a row.
        failures: u32,
    },
    /// Too many of its kind did not come up.
    KindTripped {
        /// The kind.
        kind: Name,
        /// How many.
        ended: usize,
    },
    /// The session on which its change was tried first did not come up.
    CanaryFailed {
        /// That session.
        session: Name,
    },
    /// A removed session and a new one share a directory: `moved` was probably meant.
    MaybeMoved {
        /// The other of the two.
        other: Name,
    },
    /// `prune` is off.
    NoPrune,
    /// farhelm runs inside this session.
    Inside,
    /// `down` was the last word: nothing is launched until the next `apply`.
    FleetDown,

    // Why nothing is done though it does not run.
    /// Ended with status 0 and is not to be restarted.
    Completed,
    /// Ended and `restart.when: never`.
    NotRestarted {
        /// The exit status, where it ended with one.
        status: Option<i32>,
    },

    /// Why it is unknown.
    Unobservable {
        /// What could not be observed.
        words: String,
    },
}

impl Reason {
    /// The reason in words, as a clause: `it was killed by SIGKILL 12s ago`. May contain foreign text as it is.
    #[must_use]
    pub fn words(&self) -> String {
        super::text::reason::words(self)
    }

    /// Its code, as in a plan's document and in events.
    #[must_use]
    pub fn code(&self) -> String {
        // Every reason is written with its code: nothing else can come of it.
        let written = serde_json::to_value(self).unwrap_or_default();
        written.get("code").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
    }

    /// Whether it stands in the way of an action, rather than being its cause.
    #[must_use]
    pub fn hinders(&self) -> bool {
        matches!(
            self,
            Self::Working
                | Self::NeedsInput
                | Self::ActivityUnknown
                | Self::ManualUpdate
                | Self::MaxRunning { .. }
                | Self::Backoff { .. }
                | Self::MaxUnavailable { .. }
                | Self::Canary { .. }
                | Self::KindTripped { .. }
                | Self::CanaryFailed { .. }
                | Self::Launching { .. }
                | Self::LaunchStuck { .. }
                | Self::Protected
                | Self::MaxReap { .. }
                | Self::Paused { .. }
                | Self::OtherSources { .. }
                | Self::OtherOwner { .. }
                | Self::Several { .. }
                | Self::Dir { .. }
                | Self::Conversation { .. }
                | Self::CrashLoop { .. }
                | Self::MaybeMoved { .. }
                | Self::NoPrune
                | Self::Inside
                | Self::FleetDown
                | Self::Unobservable { .. }
        )
    }

    /// What an operator can do about it, as a command, an option or a line of the file.
    #[must_use]
    pub fn way_out(&self, session: &Name) -> Option<String> {
        Some(match self {
            Self::Working | Self::NeedsInput => "--now: this turn is lost".to_owned(),
            Self::ActivityUnknown => "--now".to_owned(),
            Self::ManualUpdate => format!("farhelm restart {session}"),
            Self::Backoff { .. } | Self::FleetDown | Self::KindTripped { .. } => "farhelm apply".to_owned(),
            Self::CanaryFailed { session } => format!("farhelm logs {session}, then mend the files, or farhelm apply"),
            Self::LaunchStuck { .. } => format!("farhelm logs {session}, farhelm restart {session}"),
            Self::CrashLoop { .. } => format!("farhelm logs {session}, then farhelm apply"),
            Self::Protected => format!("farhelm unprotect {session}"),
            Self::MaxReap { wanted, .. } => format!("--max-reap {wanted}"),
            Self::Paused { .. } => format!("farhelm unpause {session}"),
            Self::OtherSources { .. } => "--take-over".to_owned(),
            Self::OtherOwner { .. } => "--state-dir of its owner".to_owned(),
            Self::Several { .. } => format!("farhelm describe {session}"),
            Self::Conversation { .. } => format!("--allow-fresh {session}"),
            Self::MaybeMoved { .. } => "`moved` in the new one, or reap the old one alone with --only".to_owned(),
            Self::ParentGone { .. } => format!("farhelm children --keep {session}"),
            Self::NoPrune => "`policy.prune`".to_owned(),
            Self::Inside => "from a terminal outside of it".to_owned(),
            _ => return None,
        })
    }
}

/// Durations as whole milliseconds.
mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}

/// Durations as whole milliseconds, or null.
mod millis_or_none {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "the signature serde calls")]
    pub(super) fn serialize<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_millis))
    }
}
