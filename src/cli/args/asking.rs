//! The words of requests from inside a session, and of what became of them.

use std::path::PathBuf;

use clap::Args;

use super::FleetFlag;

/// `spawn`
#[derive(Debug, Args)]
pub struct Spawn {
    /// What it is made from: one of those that `policy.spawn` allows.
    #[arg(long, value_name = "NAME")]
    pub profile: String,
    /// Where it works.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// Its prompt. Others can read it in the process table: see `--prompt-file`.
    #[arg(long, value_name = "TEXT")]
    pub prompt: Option<String>,
    /// A file with its prompt; `-` for standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "prompt")]
    pub prompt_file: Option<PathBuf>,
    /// Its title.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Its name [default: one that is free].
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The same request with the same key is the same session.
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

/// `whoami`
#[derive(Debug, Args)]
pub struct WhoAmI {
    /// One JSON document.
    #[arg(long)]
    pub json: bool,
}

/// `children`
#[derive(Debug, Args)]
pub struct Children {
    /// The fleet.
    #[command(flatten)]
    pub fleet: FleetFlag,
    /// As a fleet file has them.
    #[arg(long, conflicts_with = "json")]
    pub yaml: bool,
    /// One JSON document.
    #[arg(long)]
    pub json: bool,
    /// This one stays when its parent leaves.
    #[arg(long, value_name = "NAME")]
    pub keep: Vec<String>,
    /// This one leaves with its parent again.
    #[arg(long, value_name = "NAME")]
    pub release: Vec<String>,
}
