//! The tmux program, and one call to it.

use std::io::{self, Seek, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::fs::MemfdFlags;

use super::super::Machine;
use super::super::command::{Output, RunError, run};
use super::script::Script;
use super::{check_socket_dir, complaints};
use crate::host::tmux::{Socket, TmuxError};
use crate::spec::visible::visible;

/// Oldest version that has what is used here.
const OLDEST: (u32, u32) = (3, 2);

/// Most that is taken of tmux's answer, in bytes: some thousand panes with long stamps.
const ANSWER_LIMIT: usize = 16 * 1024 * 1024;

/// Added to the deadline per line of a script: a loaded machine makes some hundred panes a second.
const PER_LINE: Duration = Duration::from_millis(50);

/// The tmux program.
#[derive(Debug)]
pub(in crate::host::real) struct Program {
    path: PathBuf,
    timeout: Duration,
    /// Its version where that will do, once asked.
    verdict: OnceLock<Result<String, TmuxError>>,
}

impl Program {
    pub(in crate::host::real) fn new(path: Option<PathBuf>, timeout: Duration) -> Self {
        Self { path: path.unwrap_or_else(|| "tmux".into()), timeout, verdict: OnceLock::new() }
    }
}

impl Machine {
    /// The arguments every call starts with.
    pub(in crate::host::real) fn tmux_argv(&self, socket: &Socket) -> Vec<std::ffi::OsString> {
        // -u: without a UTF-8 locale tmux would print names, and separators, as underscores.
        vec![self.tmux.path.clone().into(), "-u".into(), "-S".into(), socket.path().into()]
    }

    /// Runs one tmux client. An answer with a failing status is an answer; only the absence of one is an error.
    pub(super) fn call(&self, socket: &Socket, args: &[&str], script: Option<&Script>) -> Result<Output, TmuxError> {
        let mut command_line = self.tmux_argv(socket);
        command_line.extend(args.iter().map(Into::into));
        self.call_argv(socket, &command_line, script)
    }

    /// [`Self::call`] with a whole command line, which may put something in front of tmux.
    pub(super) fn call_argv(
        &self,
        socket: &Socket,
        argv: &[std::ffi::OsString],
        script: Option<&Script>,
    ) -> Result<Output, TmuxError> {
        check_socket_dir(socket)?;
        let Some((program, rest)) = argv.split_first() else { return Err(TmuxError::Failed("no program".to_owned())) };
        let mut command = Command::new(program);
        command.args(rest).stdin(Stdio::null());
        self.environment.apply(&mut command);
        let mut limit = self.tmux.timeout;
        if let Some(script) = script {
            let file =
                script_file(script).map_err(|error| TmuxError::Failed(format!("cannot write to memory: {error}")))?;
            command.stdin(Stdio::from(file));
            limit += PER_LINE.saturating_mul(script.lines());
        }
        let output = run(&mut command, limit, ANSWER_LIMIT).map_err(|error| self.no_answer(error))?;
        if complaints(&output).iter().any(|complaint| says_no_server(complaint)) {
            return Err(TmuxError::NoServer(socket.clone()));
        }
        Ok(output)
    }

    fn no_answer(&self, error: RunError) -> TmuxError {
        let program = self.tmux.path.display();
        match error {
            RunError::Timeout(limit) => TmuxError::Timeout(limit),
            RunError::Start(error) if error.kind() == io::ErrorKind::NotFound => TmuxError::NotUsable(format!(
                "`{program}` was not found; install tmux {}.{} or newer",
                OLDEST.0, OLDEST.1
            )),
            RunError::Start(error) => TmuxError::NotUsable(format!("`{program}` cannot be started: {error}")),
            other => TmuxError::Failed(other.to_string()),
        }
    }

    /// Whether the program is new enough; asked once.
    pub(super) fn usable(&self) -> Result<(), TmuxError> {
        self.tmux_version().map(drop)
    }

    /// What the program says its version is, such as `tmux 3.3a`; asked once.
    ///
    /// # Errors
    /// [`TmuxError::NotUsable`] when it is missing or too old; any other when it did not answer.
    pub fn tmux_version(&self) -> Result<String, TmuxError> {
        if let Some(verdict) = self.tmux.verdict.get() {
            return verdict.clone();
        }
        let mut command = Command::new(&self.tmux.path);
        command.arg("-V").stdin(Stdio::null());
        self.environment.apply(&mut command);
        let output = run(&mut command, self.tmux.timeout, 4096).map_err(|error| self.no_answer(error))?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let verdict = if new_enough(&text) {
            Ok(visible(&text))
        } else {
            let says = match (output.status.success(), text.as_str()) {
                (false, _) => format!("fails when asked for its version ({}) {}", output.status, output.complaint()),
                (true, "") => "does not say its version".to_owned(),
                (true, text) => format!("says it is `{}`", visible(text)),
            };
            let (path, (major, minor)) = (self.tmux.path.display(), OLDEST);
            let says = says.trim_end();
            Err(TmuxError::NotUsable(format!("`{path}` {says}; tmux {major}.{minor} or newer is needed")))
        };
        self.tmux.verdict.get_or_init(|| verdict).clone()
    }

    /// `error`, or the program's age where that explains it.
    pub(super) fn explained(&self, error: TmuxError) -> TmuxError {
        match self.usable() {
            Err(unusable @ TmuxError::NotUsable(_)) => unusable,
            _ => error,
        }
    }
}

/// Whether a line of standard error says that nobody listens on the socket.
fn says_no_server(complaint: &str) -> bool {
    complaint.starts_with("no server running on ")
        || (complaint.starts_with("error connecting to ")
            && (complaint.ends_with("(No such file or directory)") || complaint.ends_with("(Connection refused)")))
}

/// Whether what `tmux -V` printed names a version that will do. Builds between releases (`next-3.6`, `master`) pass by
/// their number, or unnumbered.
fn new_enough(text: &str) -> bool {
    let Some(version) = text.strip_prefix("tmux ") else { return false };
    let version = version.strip_prefix("next-").unwrap_or(version);
    let Some((major, rest)) = version.split_once('.') else { return version == "master" };
    let Ok(major) = major.parse::<u32>() else { return version.starts_with("openbsd-") };
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    minor.parse().is_ok_and(|minor: u32| (major, minor) >= OLDEST)
}

/// The script as a file in memory, complete before tmux starts: a pipe would end early if farhelm were killed, and tmux
/// would run the half of it. It leaves nothing behind and needs no disk.
fn script_file(script: &Script) -> io::Result<std::fs::File> {
    let mut file = std::fs::File::from(rustix::fs::memfd_create("farhelm-script", MemfdFlags::CLOEXEC)?);
    file.write_all(script.bytes())?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared() {
        for good in [
            "tmux 3.2",
            "tmux 3.2a",
            "tmux 3.3a",
            "tmux 3.10",
            "tmux next-3.6",
            "tmux master",
            "tmux 4.0",
            "tmux openbsd-7.5",
        ] {
            assert!(new_enough(good), "{good}");
        }
        for bad in ["tmux 3.1c", "tmux 2.9", "tmux 1.8", "screen 4.9", "", "tmux", "tmux x.y"] {
            assert!(!new_enough(bad), "{bad}");
        }
    }

    #[test]
    fn only_a_silent_socket_is_no_server() {
        assert!(says_no_server("no server running on /tmp/x"));
        assert!(says_no_server("error connecting to /tmp/x (No such file or directory)"));
        assert!(says_no_server("error connecting to /tmp/x (Connection refused)"));
        assert!(!says_no_server("error connecting to /tmp/x (Permission denied)"));
        assert!(!says_no_server("server exited unexpectedly"));
    }
}
