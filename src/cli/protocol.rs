//! What is said between a resident `watch` and other programs of its user: one JSON document a line.
//!
//! Who accepts says [`Hello`] first. Then each [`Request`] is answered by one or more [`Answer`]s. The hook's line, `report
//! SESSION`, is the only one that is no document.

use serde::{Deserialize, Serialize};

use crate::plan::spawn;
use crate::plan::status::Status;
use crate::reconcile::ledger::Done;
use crate::reconcile::spawn::{Credentials, Who};
use crate::spec::name::Name;
use crate::state::events::Event;

/// The version of what is said. Both ends must have the same one.
pub const PROTOCOL: u32 = 1;

/// The first line of whoever accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// farhelm's version.
    pub farhelm: String,
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// The fleet that is kept.
    pub fleet: Option<Name>,
    /// The process that keeps it.
    pub pid: i32,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// What is asked.
    pub ask: Ask,
}

/// What can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// The status of all sessions, now and whenever it has changed.
    Status,
    /// The event log from a time on, and whatever is added to it.
    Events {
        /// In milliseconds since 1970; none for all that is kept.
        since_ms: Option<i64>,
    },
    /// A new session.
    Spawn {
        /// Who asks.
        who: Credentials,
        /// For what.
        ask: spawn::Ask,
    },
    /// Sessions that were asked for are no longer wanted.
    Dismiss {
        /// Who asks.
        who: Credentials,
        /// Which.
        names: Vec<Name>,
    },
    /// Who the session is.
    Who(Credentials),
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// No.
    Refused {
        /// Why, for programs.
        code: String,
        /// Why, for people.
        words: String,
    },
    /// To [`Ask::Status`].
    Status(Overview),
    /// To [`Ask::Events`].
    Event(Box<Event>),
    /// To [`Ask::Spawn`]: granted. What comes of it follows.
    Spawned(Name),
    /// To [`Ask::Spawn`]: it was granted for the same request before. Nothing follows.
    Known(Name),
    /// To [`Ask::Spawn`], after [`Answer::Spawned`]: it was launched, or was not.
    Done(Done),
    /// To [`Ask::Spawn`], after [`Answer::Spawned`]: it waits, and for what.
    Held(String),
    /// To [`Ask::Dismiss`].
    Dismissed,
    /// To [`Ask::Who`].
    Who(Box<Who>),
}

/// All sessions of a fleet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    /// The fleet.
    pub fleet: Option<Name>,
    /// The commit its files are at.
    pub revision: Option<String>,
    /// What is wrong with its files, when they cannot be used.
    pub unfit: Option<String>,
    /// The sessions.
    pub sessions: Vec<Status>,
}

/// A line of what is said.
#[must_use]
pub fn line<T: Serialize>(said: &T) -> Vec<u8> {
    // Plain data with text keys: writing it cannot fail.
    serde_json::to_vec(said).unwrap_or_default()
}
