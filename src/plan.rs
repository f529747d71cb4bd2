//! The plan: a pure function of what is desired, what was observed, what is recorded, the request and now.
//!
//! It changes nothing, ever, and reads nothing but its [`Inputs`]. [`decide::plan`] holds the truth table; every
//! session is first joined into one `Subject`, gets one verdict, passes the caps that look at all sessions at once, and
//! becomes items. Text, JSON and exit codes come from the same [`Counters`].

pub mod action;
mod aim;
pub mod backoff;
pub mod basis;
mod begin;
mod breaker;
mod caps;
mod changes;
mod conversation;
pub mod conversations;
pub mod counters;
pub mod decide;
mod ended;
mod lines;
pub mod reason;
pub(crate) mod rollout;
pub mod schema;
mod sources;
pub mod spawn;
pub mod status;
mod subject;
pub mod tabs;
pub mod text;
pub mod units;
mod verdict;

#[cfg(test)]
pub(crate) mod tests;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::desired::{Desired, Session};
use crate::host::clock::Moment;
use crate::host::tmux::Socket;
use crate::observe::observed::Observed;
use crate::spec::name::Name;
use crate::state::record::{Recorded, SessionId};

use action::Item;
pub use conversation::prompt_hash;
pub use counters::Counters;

/// The version of the plan document written by this build.
pub const PLAN_VERSION: u32 = 1;

/// All that a plan is made from.
#[derive(Debug, Clone)]
pub struct Inputs<'a> {
    /// What the files want.
    pub desired: &'a Desired,
    /// What was seen.
    pub observed: &'a Observed,
    /// What is remembered.
    pub recorded: &'a Recorded,
    /// The present moment.
    pub now: Moment,
    /// What somebody asks for.
    pub request: &'a Request,
    /// The session that farhelm itself runs inside of, if any: nothing may end it.
    pub inside: Option<SessionId>,
    /// The commit the files are at, for the header.
    pub revision: Option<String>,
}

/// What somebody asks for: the trigger and its flags.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Who asks.
    pub trigger: Trigger,
    /// Which sessions.
    pub selection: Selection,
    /// `--now`: restart working sessions too.
    pub now: bool,
    /// `--allow-fresh GLOB`: sessions that may lose their conversation.
    pub allow_fresh: Option<globset::GlobSet>,
    /// `--max-reap N`.
    pub max_reap: Option<usize>,
    /// `--take-over`: these sources are the fleet's from now on.
    pub take_over: bool,
    /// `restart NAME…`: launch or restart these even when nothing differs.
    pub again: Vec<Name>,
    /// `start NAME…`: launch these even when they have completed; those that run are left alone.
    pub start: Vec<Name>,
    /// `restart --fresh`: those of `again` start a new conversation.
    pub fresh: bool,
    /// `restart --accept-dir`: those of `again` accept the directory's new identity.
    pub accept_dir: bool,
}

/// Who asks for a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// `plan`, `apply`, and the verbs on named sessions.
    #[default]
    Apply,
    /// `watch`.
    Watch,
    /// `down`: everything of the fleet is to be reaped.
    Down,
}

/// Selection flags: `--only`, `--exclude`, `-l`.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// `--only GLOB…`; none selects all.
    pub only: Option<globset::GlobSet>,
    /// `--exclude GLOB…`.
    pub exclude: Option<globset::GlobSet>,
    /// `-l LABEL=VALUE`, all of which must hold. A session that is no longer in the files has no labels.
    pub labels: Vec<(String, String)>,
}

impl Selection {
    /// Whether the session is selected; `session` is its block, while it has one.
    #[must_use]
    pub fn selects(&self, name: &Name, session: Option<&Session>) -> bool {
        self.only.as_ref().is_none_or(|globs| globs.is_match(name.as_str()))
            && !self.exclude.as_ref().is_some_and(|globs| globs.is_match(name.as_str()))
            && self.labels.iter().all(|(label, value)| session.is_some_and(|s| s.labels.get(label) == Some(value)))
    }
}

/// A plan: the document that `plan --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Version of this document's format.
    pub version: u32,
    /// What it is a plan of.
    pub header: Header,
    /// What to do, or not to do, by session; unchanged sessions included.
    pub items: Vec<Item>,
    /// Totals, from which the last line and the exit code come.
    pub counters: Counters,
}

/// The plan's first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// The fleet.
    pub fleet: Option<Name>,
    /// Its files.
    pub sources: Vec<PathBuf>,
    /// These files are the fleet's once this is applied: they were before, or nothing is recorded yet, or they take
    /// over.
    pub sources_stand: bool,
    /// The commit the files are at, when they are in git and unmodified.
    pub revision: Option<String>,
    /// Sessions in the files.
    pub sessions: usize,
    /// The tmux socket.
    #[schemars(with = "PathBuf")]
    pub socket: Socket,
    /// Names of values taken from the environment.
    pub from_environment: Vec<String>,
    /// When it was made: milliseconds since 1970 (`wall_ms`) and since boot (`boot_ms`).
    #[schemars(with = "schema::MomentForm")]
    pub at: Moment,
}
