//! The plan: a pure function of what is desired, what was observed, what is recorded, the request and now.
//!
//! It changes nothing, ever. The truth table is `decide`; text, JSON and exit codes come from the same [`Counters`].

pub mod action;
pub mod reason;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::host::clock::Moment;
use crate::host::tmux::Socket;
use crate::spec::name::Name;

use action::Item;

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
    /// `restart NAME…`, `start NAME…`: launch or restart these even when nothing differs.
    pub again: Vec<Name>,
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
    /// `-l LABEL=VALUE`, all of which must hold.
    pub labels: Vec<(String, String)>,
}

/// A plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The fleet.
    pub fleet: Name,
    /// Its files.
    pub sources: Vec<PathBuf>,
    /// The commit the files are at, when they are in git and unmodified.
    pub revision: Option<String>,
    /// Sessions in the files.
    pub sessions: usize,
    /// The tmux socket.
    pub socket: Socket,
    /// Names of values taken from the environment.
    pub from_environment: Vec<String>,
    /// When it was made.
    pub at: Moment,
}

/// Totals of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Launches.
    pub launch: usize,
    /// Those of them that resume.
    pub launch_resume: usize,
    /// Adjustments, tabs opened, adoptions and moves.
    pub adjust: usize,
    /// Restarts.
    pub restart: usize,
    /// Those of them that resume.
    pub restart_resume: usize,
    /// Those of them that are fresh.
    pub restart_fresh: usize,
    /// Stops.
    pub stop: usize,
    /// Reaps.
    pub reap: usize,
    /// Tabs to close.
    pub close_tab: usize,
    /// Waiting.
    pub waiting: usize,
    /// Blocked.
    pub blocked: usize,
    /// Unknown.
    pub unknown: usize,
    /// Items that destroy something: reaps, closed tabs, conversations lost.
    pub destructive: usize,
    /// Sessions with nothing to do.
    pub unchanged: usize,
}
