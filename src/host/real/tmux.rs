//! tmux, by its own client: one short-lived process a call, a deadline on each.
//!
//! Everything here was tried on tmux 3.3a (Debian 12).

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use super::Machine;
use super::command::Output;
use crate::host::tmux::{OpenPane, Opened, Pane, PaneId, Panes, Socket, StampText, Tmux, TmuxError, TmuxSession};
use crate::spec::visible::visible;

mod client;
mod listing;
mod open;
mod script;
mod told;

pub(super) use client::Program;
use script::Script;

/// Most that is kept of a pane's text, in bytes.
const CAPTURE_LIMIT: usize = 64 * 1024;

/// What a server without any session answers to `list-panes`.
const NO_SESSION: &str = "no current target";

/// The server that `--tmux-socket` and its kin mean: a value with a slash is a path, any other the name that `tmux -L`
/// takes. `env` looks up environment variables.
#[must_use]
pub fn socket(name_or_path: &str, env: impl Fn(&str) -> Option<OsString>) -> Socket {
    if name_or_path.contains('/') {
        return Socket(std::path::absolute(name_or_path).unwrap_or_else(|_| name_or_path.into()));
    }
    // As tmux does: a TMUX_TMPDIR that does not resolve counts as unset.
    let named = env("TMUX_TMPDIR").filter(|dir| !dir.is_empty()).and_then(|dir| fs::canonicalize(dir).ok());
    let dir = named.or_else(|| fs::canonicalize("/tmp").ok()).unwrap_or_else(|| "/tmp".into());
    Socket(dir.join(socket_dir()).join(name_or_path))
}

/// The directory of this account's named sockets.
fn socket_dir() -> String {
    format!("tmux-{}", rustix::process::getuid().as_raw())
}

/// How often a server is asked again that was ending when it was asked, and the time between.
const ENDING: (u32, Duration) = (20, Duration::from_millis(10));

impl Machine {
    /// The panes; a server that is just ending has soon none, and that is no failure.
    fn list_when_settled(&self, socket: &Socket) -> Result<Panes, TmuxError> {
        let ending = |error: &TmuxError| matches!(error, TmuxError::Failed(words) if open::EXITED.iter().any(|exited| words.contains(exited)));
        let (times, pause) = ENDING;
        for _ in 0..times {
            match self.list(socket) {
                Err(error) if ending(&error) => std::thread::sleep(pause),
                listed => return listed,
            }
        }
        self.list(socket)
    }
}

impl Tmux for Machine {
    fn panes(&self, socket: &Socket) -> Result<Panes, TmuxError> {
        let panes = self.list_when_settled(socket)?;
        if !panes.panes.iter().any(has_unknown_end) {
            return Ok(panes);
        }
        // tmux 3.3a now and then misses that a process has ended, and leaves it a zombie until another child of its ends.
        self.call(socket, &["run-shell", "true"], None)?;
        self.list(socket)
    }

    fn open(&self, socket: &Socket, requests: &[OpenPane]) -> Result<Vec<Result<Opened, TmuxError>>, TmuxError> {
        open::open(self, socket, requests)
    }

    fn stamp(&self, socket: &Socket, stamps: &[(PaneId, StampText)]) -> Result<(), TmuxError> {
        let mut script = Script::default();
        for (pane, stamp) in stamps {
            script::check_pane(pane).and_then(|()| script::check_stamp(stamp)).map_err(TmuxError::Failed)?;
            script.stamp(&pane.0, stamp);
            script.end_line();
        }
        self.run_script(socket, &script, |_| false)
    }

    fn close(&self, socket: &Socket, panes: &[PaneId]) -> Result<(), TmuxError> {
        let mut script = Script::default();
        for pane in panes {
            script::check_pane(pane).map_err(TmuxError::Failed)?;
            script.command(["kill-pane", "-t", &pane.0]);
            script.end_line();
        }
        self.run_script(socket, &script, |complaint| complaint.starts_with("can't find pane"))
    }

    fn capture(&self, socket: &Socket, pane: &PaneId, lines: u32) -> Result<String, TmuxError> {
        script::check_pane(pane).map_err(TmuxError::Failed)?;
        let output = self.ask(socket, &["capture-pane", "-p", "-t", &pane.0, "-S", &format!("-{lines}")])?;
        Ok(last_lines(&String::from_utf8_lossy(&output.stdout), lines))
    }

    fn rename(&self, socket: &Socket, session: &TmuxSession, name: &str) -> Result<(), TmuxError> {
        script::check_session(session).and_then(|()| script::check_name(name)).map_err(TmuxError::Failed)?;
        self.ask(socket, &["rename-session", "-t", &session.0, "--", name]).map(drop)
    }
}

impl Machine {
    fn list(&self, socket: &Socket) -> Result<Panes, TmuxError> {
        let output = match self.ask(socket, &["list-panes", "-a", "-F", listing::FORMAT]) {
            Err(TmuxError::Failed(words)) if words == NO_SESSION => return self.no_panes(socket),
            other => other?,
        };
        let text = String::from_utf8_lossy(&output.stdout);
        listing::parse(&text).map_err(TmuxError::Failed)?.map_or_else(|| self.no_panes(socket), Ok)
    }

    /// The answer of a server without any session (`exit-empty off`).
    fn no_panes(&self, socket: &Socket) -> Result<Panes, TmuxError> {
        let output = self.ask(socket, &["display-message", "-p", "#{pid}"])?;
        let text = String::from_utf8_lossy(&output.stdout);
        let unsaid = |_| TmuxError::Failed("it does not say its process number".to_owned());
        Ok(Panes { server: text.trim().parse().map_err(unsaid)?, panes: Vec::new() })
    }

    /// Calls tmux and takes nothing but success.
    fn ask(&self, socket: &Socket, args: &[&str]) -> Result<Output, TmuxError> {
        let output = self.call(socket, args, None)?;
        if output.status.success() { Ok(output) } else { Err(self.explained(failure(&output))) }
    }

    /// Runs a script; complaints that `harmless` knows are no failure.
    fn run_script(&self, socket: &Socket, script: &Script, harmless: fn(&str) -> bool) -> Result<(), TmuxError> {
        if script.is_empty() {
            return Ok(());
        }
        let output = self.call(socket, &["source-file", "-"], Some(script))?;
        let complaints = complaints(&output);
        let serious: Vec<&str> = complaints.iter().map(String::as_str).filter(|c| !harmless(c)).collect();
        if serious.is_empty() && (output.status.success() || !complaints.is_empty()) {
            return Ok(());
        }
        let failure = if serious.is_empty() { failure(&output) } else { TmuxError::Failed(serious.join("; ")) };
        Err(self.explained(failure))
    }
}

/// Whether tmux knows that the pane's process has ended, and not how.
fn has_unknown_end(pane: &Pane) -> bool {
    pane.end.is_some_and(|end| end.status.is_none() && end.signal.is_none())
}

/// What tmux complained of, a line each.
fn complaints(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stderr)
        .lines()
        .map(|line| visible(line.trim()))
        .filter(|line| !line.is_empty())
        .collect()
}

fn failure(output: &Output) -> TmuxError {
    let complaint = output.complaint();
    TmuxError::Failed(if complaint.is_empty() { format!("{}", output.status) } else { complaint })
}

/// The last `lines` lines with anything below the last text left out, at most [`CAPTURE_LIMIT`] bytes, without control
/// characters.
fn last_lines(text: &str, lines: u32) -> String {
    let clean: String = text.trim_end().chars().filter(|c| *c == '\n' || !c.is_control()).collect();
    let wanted = usize::try_from(lines).unwrap_or(usize::MAX);
    let mut last: Vec<&str> = Vec::new();
    let mut size = 0;
    for line in clean.rsplit('\n').take(wanted) {
        size += line.len() + 1;
        if size > CAPTURE_LIMIT {
            break;
        }
        last.push(line.trim_end());
    }
    last.reverse();
    last.join("\n")
}

/// Refuses the directory of named sockets when it is somebody else's, as tmux itself does when it is called with a name.
fn check_socket_dir(socket: &Socket) -> Result<(), TmuxError> {
    let Some(dir) = socket.path().parent().filter(|dir| dir.ends_with(socket_dir())) else { return Ok(()) };
    let Ok(metadata) = fs::symlink_metadata(dir) else { return Ok(()) };
    let private = metadata.mode().trailing_zeros() >= 3;
    if metadata.is_dir() && private && metadata.uid() == rustix::process::getuid().as_raw() {
        return Ok(());
    }
    Err(unsafe_dir(dir))
}

fn unsafe_dir(dir: &Path) -> TmuxError {
    let dir = dir.display();
    TmuxError::NotUsable(format!("{dir} is not a private directory of this account; remove it, or set `TMUX_TMPDIR`"))
}

#[cfg(test)]
mod tests;
