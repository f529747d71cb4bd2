//! What happened in a simulated world, in order, and what must never have happened.

use std::fmt;

use super::super::process::{ProcessKey, Signal};

/// Whose a process or a pane is: the truth, which farhelm has to find out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The session's id.
    pub session: String,
    /// The tab's id, or name, where it belongs to one.
    pub tab: Option<String>,
    /// The launch.
    pub generation: u32,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.session.get(..8).unwrap_or(&self.session), self.generation)?;
        self.tab.as_ref().map_or(Ok(()), |tab| write!(f, " tab {tab}"))
    }
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    /// When, in milliseconds since the world began (boots do not reset it).
    pub at: u64,
    /// The number of farhelm's effect, 0 where it was not farhelm.
    pub effect: u64,
    /// Whose session it concerns.
    pub origin: Option<Origin>,
    /// What.
    pub what: What,
}

/// The sorts of things that happen.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are what their variants name")]
pub enum What {
    /// farhelm opened or respawned a pane.
    Opened { pane: String, respawned: bool },
    /// farhelm closed a pane.
    Closed { pane: String, live: bool },
    /// farhelm set options on a pane.
    Stamped { pane: String },
    /// farhelm sent a signal.
    Signalled { key: ProcessKey, signal: Signal },
    /// farhelm wrote, made, extended or removed a file.
    File { verb: &'static str, path: String },
    /// The shim became the program.
    Exec { key: ProcessKey, argv: Vec<String> },
    /// The shim failed before.
    LaunchFailed { words: String },
    /// A process ended.
    Ended { key: ProcessKey, how: String },
    /// A tmux server is gone.
    ServerGone { key: ProcessKey },
    /// Something else: words.
    Note(String),
}

impl fmt::Display for Happened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>9}ms ", self.at)?;
        if self.effect > 0 {
            write!(f, "#{:<4} ", self.effect)?;
        } else {
            f.write_str("      ")?;
        }
        match &self.what {
            What::Opened { pane, respawned } => {
                write!(f, "{} {pane}", if *respawned { "respawned" } else { "opened" })?;
            }
            What::Closed { pane, live } => write!(f, "closed {} {pane}", if *live { "live" } else { "dead" })?,
            What::Stamped { pane } => write!(f, "stamped {pane}")?,
            What::Signalled { key, signal } => write!(f, "{signal:?} to {key}")?,
            What::File { verb, path } => write!(f, "{verb} {path}")?,
            What::Exec { key, argv } => {
                // What hooks inject is long, and says nothing here.
                let shown: Vec<&String> = argv.iter().take_while(|word| word.len() < 80).collect();
                let more = if shown.len() < argv.len() { " …" } else { "" };
                write!(f, "{key} became {shown:?}{more}")?;
            }
            What::LaunchFailed { words } => write!(f, "launch failed: {words}")?,
            What::Ended { key, how } => write!(f, "{key} ended: {how}")?,
            What::ServerGone { key } => write!(f, "tmux server {key} is gone")?,
            What::Note(words) => f.write_str(words)?,
        }
        self.origin.as_ref().map_or(Ok(()), |origin| write!(f, " [{origin}]"))
    }
}

/// One exec of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRun {
    /// Whose.
    pub origin: Origin,
    /// Its process.
    pub key: ProcessKey,
    /// Its arguments, the first included.
    pub argv: Vec<String>,
    /// When, in milliseconds since the world began.
    pub at: u64,
    /// The conversation it continues (`--resume X`).
    pub resumed: Option<String>,
    /// The conversation it was told to begin (`--session-id X`).
    pub assigned: Option<String>,
}

impl AgentRun {
    /// The conversation it is in.
    #[must_use]
    pub fn conversation(&self) -> Option<&str> {
        self.resumed.as_deref().or(self.assigned.as_deref())
    }
}

/// The word behind `flag`.
pub(super) fn flag_value(argv: &[String], flag: &str) -> Option<String> {
    argv.iter().position(|word| word == flag).and_then(|at| argv.get(at + 1)).cloned()
}

/// Everything noted of a world.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// In order.
    pub(super) happened: Vec<Happened>,
    /// Every exec of an agent.
    pub(super) runs: Vec<AgentRun>,
    /// What must not have happened, in words.
    pub(super) violations: Vec<String>,
}
