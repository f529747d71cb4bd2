//! The ports on this machine: real files, real processes, real tmux, the real systemd user manager.

use std::path::PathBuf;
use std::time::Duration;

use crate::host::tmux::Socket;

pub mod checkout;
mod clock;
mod command;
#[cfg(test)]
mod costs;
mod disk;
mod environment;
pub mod news;
mod processes;
mod scopes;
pub mod socket;
#[cfg(test)]
mod testing;
mod tmux;
pub mod versions;

pub(super) use clock::now;
pub(super) use processes::{boot, process};
pub use tmux::socket;

use clock::Signals;
use environment::Environment;
use scopes::Prober;
use tmux::Program;

/// What the machine may use.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The tmux program; `None`: the first `tmux` on `PATH`.
    pub tmux: Option<PathBuf>,
    /// How long a call to tmux may take.
    pub tmux_timeout: Duration,
    /// Whether SIGINT and SIGTERM are taken as the operator's wish to stop.
    pub interruptible: bool,
    /// Whether the systemd user manager may be probed and used.
    pub scopes: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { tmux: None, tmux_timeout: Duration::from_secs(2), interruptible: false, scopes: true }
    }
}

/// The machine could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen for SIGINT and SIGTERM: {0}")]
pub struct MachineError(#[from] std::io::Error);

/// All ports, on this machine. Making one starts no process and reads no file.
#[derive(Debug)]
pub struct Machine {
    signals: Signals,
    environment: Environment,
    tmux: Program,
    scopes: Prober,
}

impl crate::host::ids::Ids for Machine {}

impl Machine {
    /// A machine as `settings` allow.
    ///
    /// # Errors
    /// When `interruptible` is asked for and signals cannot be listened to.
    pub fn new(settings: Settings) -> Result<Self, MachineError> {
        Ok(Self {
            signals: if settings.interruptible { Signals::listen()? } else { Signals::ignored() },
            environment: Environment::of_this_process(),
            tmux: Program::new(settings.tmux, settings.tmux_timeout),
            scopes: Prober::new(settings.scopes),
        })
    }

    /// The command line of a tmux client on `socket`, to be completed by a command: for a process that becomes one.
    #[must_use]
    pub fn tmux_client(&self, socket: &Socket) -> Vec<std::ffi::OsString> {
        self.tmux_argv(socket)
    }
}
