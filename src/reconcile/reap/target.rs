//! What is to be ended, and what came of it.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::host::clock::Moment;
use crate::host::process::ProcessKey;
use crate::state::leaving::{Claim, Stage};
use crate::state::record::SessionId;

/// One thing to end.
#[derive(Debug, Clone)]
pub struct Target {
    /// The session.
    pub session: SessionId,
    /// What of it.
    pub claim: Claim,
    /// Pane processes whose descendants belong to it, marked or not.
    pub roots: Vec<ProcessKey>,
    /// Scopes of its launches.
    pub units: Vec<String>,
    /// Time from TERM to KILL.
    pub grace: Duration,
    /// Who was asked by an earlier pass, and when.
    pub asked: Option<(Stage, Moment)>,
    /// It is written down, or will be listed again, that this is being ended: a death of farhelm leaves what is frozen
    /// then to whoever comes next. Nothing else is frozen.
    pub noted: bool,
}

/// What was asked, and has not ended yet, although nothing went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Who was asked.
    pub stage: Stage,
    /// When.
    pub at: Moment,
    /// What lives of it.
    pub processes: BTreeSet<ProcessKey>,
}

/// What ending a target gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ending {
    /// Processes that were there.
    pub found: usize,
    /// Processes that could not be confirmed gone, in words.
    pub survivors: Vec<String>,
    /// What else went wrong, in words.
    pub errors: Vec<String>,
    /// It still has time to end by itself.
    pub left: Option<Left>,
}

impl Ending {
    /// All of it is gone, and that is known.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.left.is_none() && !self.failed()
    }

    /// It could not be ended.
    #[must_use]
    pub fn failed(&self) -> bool {
        !self.survivors.is_empty() || !self.errors.is_empty()
    }

    /// The failure in one line.
    #[must_use]
    pub fn words(&self) -> String {
        let mut parts = self.errors.clone();
        if !self.survivors.is_empty() {
            parts.push(format!("still alive: {}", self.survivors.join(", ")));
        }
        parts.join("; ")
    }
}
