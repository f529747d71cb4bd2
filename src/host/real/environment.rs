//! The environment handed to tmux and systemd.
//!
//! A tmux server keeps the environment of the client that started it and hands it to every pane, for as long as it
//! lives. So it gets what a login would give, and nothing that belongs to the terminal, the pane or the agent that
//! happened to run farhelm. What a session needs beyond that comes from its login shell and its fleet file.

use std::ffi::{OsStr, OsString};
use std::process::Command;

/// Variables passed on. Everything else is dropped: `TMUX`, `TMUX_PANE`, farhelm's own markers, agents' markers,
/// credentials.
const KEPT: [&str; 23] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "COLORTERM",
    "TMPDIR",
    "TMUX_TMPDIR",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_HOME",
    "XDG_DATA_DIRS",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
    "SSH_AUTH_SOCK",
    "DISPLAY",
    "WAYLAND_DISPLAY",
];

/// A prefix of variables passed on: the locale.
const KEPT_PREFIX: &str = "LC_";

/// The variables passed on, with their values.
#[derive(Debug, Clone)]
pub(super) struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// The kept part of this process's environment.
    pub(super) fn of_this_process() -> Self {
        Self::kept(std::env::vars_os())
    }

    fn kept(all: impl Iterator<Item = (OsString, OsString)>) -> Self {
        Self(
            all.filter(|(name, _)| name.to_str().is_some_and(|n| KEPT.contains(&n) || n.starts_with(KEPT_PREFIX)))
                .collect(),
        )
    }

    /// The value of `name`.
    pub(super) fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_os_str())
    }

    /// Gives `command` these variables and no others.
    pub(super) fn apply(&self, command: &mut Command) {
        command.env_clear().envs(self.0.iter().map(|(name, value)| (name, value)));
    }

    #[cfg(test)]
    pub(super) fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.0.retain(|(n, _)| n != name);
        self.0.push((name.into(), value.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_login_gives_is_kept() {
        let all = ["PATH", "LC_CTYPE", "TMUX", "TMUX_PANE", "FARHELM_SESSION_TOKEN", "CLAUDECODE", "API_KEY", "HOME"];
        let kept = Environment::kept(all.iter().map(|n| (n.into(), "x".into())));
        let names: Vec<&str> = kept.0.iter().filter_map(|(n, _)| n.to_str()).collect();
        assert_eq!(names, ["PATH", "LC_CTYPE", "HOME"]);
    }
}
