//! Which fleet, and which of its sessions: flags that verbs share.

use std::path::PathBuf;

use clap::Args;

/// Fleet files and what fills them.
#[derive(Debug, Clone, Default, Args)]
pub struct Files {
    /// Files, directories (their *.yaml) or `-` [default: ./farhelm.yaml].
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Set a variable.
    #[arg(long, value_name = "NAME=VALUE")]
    pub var: Vec<String>,
    /// Read variables from a file.
    #[arg(long, value_name = "FILE")]
    pub vars: Vec<PathBuf>,
}

/// The fleet files, where sessions are named otherwise.
#[derive(Debug, Clone, Default, Args)]
pub struct FleetFlag {
    /// The fleet's file or directory [default: ./farhelm.yaml].
    #[arg(short = 'f', long = "file", value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Set a variable.
    #[arg(long, value_name = "NAME=VALUE")]
    pub var: Vec<String>,
    /// Read variables from a file.
    #[arg(long, value_name = "FILE")]
    pub vars: Vec<PathBuf>,
}

impl From<FleetFlag> for Files {
    fn from(flag: FleetFlag) -> Self {
        Self { paths: flag.paths, var: flag.var, vars: flag.vars }
    }
}

/// Which sessions.
#[derive(Debug, Clone, Default, Args)]
pub struct Select {
    /// Only sessions whose names match.
    #[arg(long, value_name = "GLOB")]
    pub only: Vec<String>,
    /// No sessions whose names match.
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,
    /// Only sessions with this label.
    #[arg(short = 'l', long = "label", value_name = "LABEL=VALUE")]
    pub labels: Vec<String>,
}

impl Select {
    /// Whether nothing is left out.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.only.is_empty() && self.exclude.is_empty() && self.labels.is_empty()
    }
}
