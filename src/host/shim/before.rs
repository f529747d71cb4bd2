//! `before_launch`: a command in the pane, before the agent.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::state::launch_files::Before;

use super::environment::Environment;
use super::signals::Signals;

/// How the command came to its end.
enum End {
    Status(ExitStatus),
    TimedOut,
    Signalled(Signal),
}

/// Runs `before` in the agent's directory and environment, its output in the pane and its input empty: a process group
/// of its own is a background one, and must not wait for keys.
///
/// The error says in words what went wrong. A command cut short is killed with its whole group.
pub(super) fn run(before: &Before, environment: &Environment, signals: &mut Signals) -> Result<(), String> {
    let Some((program, args)) = before.run.split_first() else {
        return Err("`before_launch` has no command".to_owned());
    };
    let mut command = std::process::Command::new(program);
    environment.apply(&mut command);
    command.args(args).stdin(Stdio::null());
    let timeout = Duration::from_millis(before.timeout_ms);
    let Signals { runtime, inbox } = signals;
    let end = runtime.block_on(async {
        let mut child = tokio::process::Command::from(command).process_group(0).spawn()?;
        // Known until the child has been waited for, so that the number cannot be another group's.
        let group = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        let end = tokio::select! {
            status = child.wait() => return status.map(End::Status),
            () = tokio::time::sleep(timeout) => End::TimedOut,
            signal = inbox.ending() => End::Signalled(signal),
        };
        if let Some(group) = group {
            // It may have ended in this very moment; then there is nothing to kill.
            let _ = killpg(group, Signal::SIGKILL);
        }
        child.wait().await?;
        Ok(end)
    });
    match end {
        Ok(End::Status(status)) if status.success() => Ok(()),
        Ok(End::Status(status)) => Err(format!("`before_launch` failed: {program} ended with {status}")),
        Ok(End::TimedOut) => {
            Err(format!("`before_launch` failed: {program} took longer than {timeout:?} and was killed"))
        }
        Ok(End::Signalled(signal)) => Err(format!("`before_launch` was cut short by {signal}: {program} was killed")),
        Err(error) => Err(format!("`before_launch` failed: {}", super::cannot_run(program, environment, &error))),
    }
}
