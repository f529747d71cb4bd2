//! What `watch` tells, and why it cannot start.

use crate::reconcile::ledger::Done;
use crate::reconcile::pass::PassError;
use crate::spec::name::Name;
use crate::state::error::StateError;

use super::conditions::Condition;

/// What is told to whoever follows.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// The files were read, and are right.
    Loaded {
        /// How many sessions they have.
        sessions: usize,
        /// The commit they are at.
        revision: Option<String>,
    },
    /// The files cannot be used: what is wrong. What was read before stays in force.
    Unfit(String),
    /// Something was done, or failed.
    Done(Done),
    /// Something keeps a session, or all of a kind, from being as the files say.
    Held(Condition),
    /// No pass could be made: why.
    NoPass(String),
}

/// Why `watch` cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The files cannot be used, and nothing was kept of them.
    #[error("{0}")]
    NoFleet(String),
    /// Another one keeps the fleet.
    #[error("fleet {fleet}: {error}")]
    Kept {
        /// The fleet.
        fleet: Name,
        /// Who.
        error: StateError,
    },
    /// The state directory's.
    #[error(transparent)]
    Pass(#[from] PassError),
}

/// What stays the same while the same keeps a pass from being made.
pub(super) fn sign(error: &PassError) -> String {
    match error {
        PassError::State(StateError::Busy { path, .. }) => path.display().to_string(),
        // Its words name a file that is another one at each try.
        PassError::State(StateError::Disk(error)) => {
            format!("{} {} {:?}", error.doing, error.path.display(), error.fault)
        }
        error => error.to_string(),
    }
}
