//! The launch shim: what a pane runs before its agent, `farhelm internal launch SPEC`.
//!
//! It reads the spec and unlinks it, makes the environment, runs `before_launch`, and becomes the program. When it
//! cannot, it says so twice: in the pane, in plain words, and in a file beside the spec, durably. An exit status alone
//! proves nothing, since any program may end with any status.
//!
//! Under a systemd scope the pane runs `systemd-run … -- farhelm internal launch SPEC`: systemd-run execs in place, so
//! there is one stage only, and a program that is missing is still ours to report. A `systemd-run` that fails leaves a
//! spec unread, a dead pane and no words of ours, as does a login shell that fails.

mod before;
mod environment;
mod files;
mod pane;
mod signals;

use std::convert::Infallible;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::spec::visible::visible;
use crate::state::launch_files::{Failure, LaunchSpec};

pub use environment::{Environment, environment};
pub use pane::{NotText, login_shell, pane_command};

use signals::Signals;

/// The status of a launch that failed before its program was tried.
const FAILED: u8 = 125;
/// The status of a program that could not be executed, as shells have it.
const NOT_EXECUTABLE: u8 = 126;
/// The status of a program that is not there, as shells have it.
const NOT_FOUND: u8 = 127;

/// A launch that came to nothing.
#[derive(Debug)]
struct Failed {
    failure: Failure,
    words: String,
    status_file: PathBuf,
    code: u8,
}

/// Becomes the program that the spec at `spec_file` describes. Returns only when that fails, after having said so.
#[must_use]
pub fn run(spec_file: &Path) -> ExitCode {
    ExitCode::from(try_run(spec_file))
}

fn try_run(spec_file: &Path) -> u8 {
    let Err(failed) = launch(spec_file);
    // The file first: a terminal can be stopped, and then holds up who writes to it.
    let reported = files::report(&failed.status_file, failed.failure, &failed.words);
    say(&failed.words);
    if let Err(error) = reported {
        say(&format!("cannot write {}: {error}", failed.status_file.display()));
    }
    failed.code
}

fn launch(spec_file: &Path) -> Result<Infallible, Failed> {
    let unreadable = |words| Failed {
        failure: Failure::UnreadableSpec,
        words,
        status_file: files::status_beside(spec_file),
        code: FAILED,
    };
    // First of all: from here on a stray hangup cannot end the launch half-way.
    let mut signals = Signals::guard().map_err(|error| unreadable(format!("cannot set up signals: {error}")))?;
    let spec = files::take(spec_file).map_err(|error| unreadable(error.to_string()))?;
    let failed = |failure, code| {
        let status_file = spec.status_file.clone();
        move |words| Failed { failure, words, status_file, code }
    };
    std::env::set_current_dir(&spec.dir)
        .map_err(|error| format!("cannot enter {}: {error}", spec.dir.display()))
        .map_err(failed(Failure::Chdir, FAILED))?;
    let environment = environment(&spec, std::env::var_os("PATH").as_deref());
    if let Some(before) = &spec.before_launch {
        before::run(before, &environment, &mut signals).map_err(failed(Failure::BeforeLaunch, FAILED))?;
    }
    if let Some(signal) = signals.ending() {
        return Err(failed(Failure::Exec, FAILED)(format!("ended by {signal} before the program was started")));
    }
    let (words, code) = become_program(&spec, &environment);
    Err(failed(Failure::Exec, code)(words))
}

/// Execs. Dispositions of signals go back to their defaults with it (see [`signals`]), and std clears the mask.
fn become_program(spec: &LaunchSpec, environment: &Environment) -> (String, u8) {
    let Some((program, args)) = spec.argv.split_first() else {
        return ("the command is empty".to_owned(), FAILED);
    };
    if let Err(error) = files::mark_exec(&spec.exec_file, spec.durable_exec) {
        return (format!("cannot write {}: {error}", spec.exec_file.display()), FAILED);
    }
    let mut command = Command::new(program);
    environment.apply(&mut command);
    let error = command.args(args).exec();
    files::unmark_exec(&spec.exec_file);
    let code = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE };
    let words = cannot_run(program, environment, &error);
    match &spec.kind {
        Some(kind) if code == NOT_FOUND => {
            (format!("{words}; it is an agent of kind `{kind}`, and `farhelm doctor` says what is installed"), code)
        }
        _ => (words, code),
    }
}

/// `claude: not found in PATH`. The kernel says "not found" of a script whose interpreter is missing, too.
fn cannot_run(program: &str, environment: &Environment, error: &io::Error) -> String {
    let missing = error.kind() == io::ErrorKind::NotFound;
    if missing && program.contains('/') && Path::new(program).exists() {
        format!("{program}: its interpreter is missing")
    } else if missing && program.contains('/') {
        format!("{program}: not found")
    } else if missing && found(program, environment.path()) {
        format!("{program}: found in PATH, but its interpreter is missing")
    } else if missing {
        format!("{program}: not found in PATH")
    } else {
        format!("{program}: {error}")
    }
}

fn found(program: &str, path: &OsStr) -> bool {
    std::env::split_paths(path).any(|dir| dir.join(program).is_file())
}

/// Says something in the pane. A terminal that is gone hears nothing, and is no reason to stop: `eprintln!` would panic.
fn say(words: &str) {
    let _ = writeln!(io::stderr(), "farhelm: {}", visible(words));
}

#[cfg(test)]
mod tests;
