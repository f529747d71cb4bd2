//! What was asked to end and takes its time: remembered, so that nobody has to wait for it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::host::clock::Moment;
use crate::host::process::{BootId, ProcessKey};

use super::record::{Record, SessionId};

/// What of a session is ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Claim {
    /// Its agent: what a stop and a restart end. Tabs stay.
    Agent,
    /// All of it: what a reap ends.
    Session,
    /// One tab.
    Tab(SessionId),
}

/// Who was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// What is in the scopes of its launches.
    Scopes,
    /// Its processes.
    Processes,
}

/// Something that was asked to end (TERM) and still had time to when a pass went on to other things. The next pass goes
/// on from here: it does not ask again, and ends it when the time is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaving {
    /// What of the session.
    pub claim: Claim,
    /// Who was asked.
    pub stage: Stage,
    /// When.
    pub at: Moment,
    /// In which boot.
    pub boot: BootId,
    /// How long it may take, in milliseconds.
    pub grace_ms: u64,
    /// What lived of it then. One of these may lose its parent, and had perhaps no marks.
    pub processes: Vec<ProcessKey>,
}

impl Leaving {
    /// Time left to end by itself; none after a reboot.
    #[must_use]
    pub fn left(&self, now: Moment, boot: &BootId) -> Duration {
        let grace = if self.boot == *boot { Duration::from_millis(self.grace_ms) } else { Duration::ZERO };
        grace.saturating_sub(now.since(&self.at))
    }
}

impl Record {
    /// What of `claim` was asked to end in this boot.
    #[must_use]
    pub fn leaves(&self, claim: &Claim, boot: &BootId) -> Option<&Leaving> {
        self.leaving.iter().find(|one| one.claim == *claim && one.boot == *boot)
    }

    /// Something of it was asked to end, and still has time to.
    #[must_use]
    pub fn is_leaving(&self, now: Moment, boot: &BootId) -> bool {
        self.leaving.iter().any(|one| !one.left(now, boot).is_zero())
    }
}
