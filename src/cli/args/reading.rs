//! The words of verbs that only read.

use clap::{Args, ValueEnum};

use crate::spec::duration::Period;

use super::{FleetFlag, Select};

/// `status`
#[derive(Debug, Args)]
pub struct Status {
    /// Sessions [default: all].
    pub names: Vec<String>,
    /// The fleet.
    #[command(flatten)]
    pub fleet: FleetFlag,
    /// Which sessions.
    #[command(flatten)]
    pub select: Select,
    /// One JSON document.
    #[arg(long)]
    pub json: bool,
    /// Exit 1 unless every session is in sync and well.
    #[arg(long)]
    pub health: bool,
    /// Go on as it changes.
    #[arg(short, long, conflicts_with = "health")]
    pub watch: bool,
}

/// `describe`
#[derive(Debug, Args)]
pub struct Describe {
    /// The session.
    pub name: String,
    /// The fleet.
    #[command(flatten)]
    pub fleet: FleetFlag,
    /// One JSON document.
    #[arg(long)]
    pub json: bool,
}

/// `conversations`
#[derive(Debug, Args)]
pub struct Conversations {
    /// The fleet.
    #[command(flatten)]
    pub fleet: FleetFlag,
    /// One JSON document.
    #[arg(long)]
    pub json: bool,
}

/// `logs`
#[derive(Debug, Args)]
pub struct Logs {
    /// The session, or one of its tabs.
    #[arg(value_name = "[FLEET/]NAME[:TAB]")]
    pub target: String,
    /// At most this many lines.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 200)]
    pub lines: u32,
    /// Go on as lines come, also in the terminal of a later launch.
    #[arg(short = 'f', long)]
    pub follow: bool,
}

/// `events`
#[derive(Debug, Args)]
pub struct Events {
    /// Go on as events come.
    #[arg(short = 'f', long)]
    pub follow: bool,
    /// Only those of the last while.
    #[arg(long, value_name = "DURATION")]
    pub since: Option<Period>,
}

/// `schema`
#[derive(Debug, Args)]
pub struct Schema {
    /// Of which document.
    #[arg(value_enum, default_value_t = Document::Fleet)]
    pub of: Document,
}

/// Documents with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Document {
    /// The fleet file.
    Fleet,
    /// `plan --json`.
    Plan,
    /// The event log's lines.
    Events,
    /// A kind's file.
    Kind,
}

/// `explain`
#[derive(Debug, Args)]
pub struct Explain {
    /// A field's path, such as `sessions.restart.when`, or `kind NAME`.
    #[arg(value_name = "FIELD.PATH")]
    pub path: Vec<String>,
}
