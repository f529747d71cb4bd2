//! What ends a verb early: the one place where errors become words for an operator.

use std::io;

use crate::config::problem::Problems;
use crate::reconcile::pass::PassError;
use crate::state::error::StateError;

use super::exit::Exit;

/// A verb's error.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The fleet files have problems; they were printed.
    #[error("the fleet files have problems")]
    Fleet(Problems),
    /// No pass could be made.
    #[error(transparent)]
    Pass(#[from] PassError),
    /// The state directory.
    #[error(transparent)]
    State(#[from] StateError),
    /// The command line's values do not make sense.
    #[error("{0}")]
    Usage(String),
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
    /// Nobody reads the output any more: no error.
    #[error("broken pipe")]
    BrokenPipe,
}

impl CliError {
    /// Its exit code.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::BrokenPipe => Exit::Ok,
            Self::Fleet(_) | Self::Pass(_) | Self::State(_) | Self::Other(_) => Exit::Error,
        }
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Other(error.to_string()),
        }
    }
}
