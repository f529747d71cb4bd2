//! systemd user scopes: a cgroup around each launch, where a user manager was proven to work.

use std::time::Duration;

use super::process::Signal;

/// Whether scopes can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScopeSupport {
    /// Proven with a throwaway scope. `runner` is the argument prefix (absolute `systemd-run` and its options, without
    /// `--unit`), to be followed by `--unit=NAME`, `--` and the command.
    Usable {
        /// The argument prefix.
        runner: Vec<String>,
    },
    /// Not here, and why.
    Unusable(String),
    /// Not answered in time: no verdict.
    Unknown(String),
}

/// The scope manager did not answer, or refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the systemd user manager: {0}")]
pub struct ScopeError(pub String);

/// The scope port.
pub trait Scopes {
    /// Whether scopes can be used here; probed at most once a minute.
    fn support(&self) -> ScopeSupport;

    /// Whether the unit still exists.
    ///
    /// # Errors
    /// [`ScopeError`]: not known.
    fn exists(&self, unit: &str) -> Result<bool, ScopeError>;

    /// Signals everything in the unit. The verdict is the unit's disappearance, not this call.
    ///
    /// # Errors
    /// [`ScopeError`].
    fn kill(&self, unit: &str, signal: Signal) -> Result<(), ScopeError>;

    /// Waits until none of `units` exists, at most `limit`; returns those that remain or could not be asked.
    fn wait_collected(&self, units: &[String], limit: Duration) -> Vec<String>;
}
