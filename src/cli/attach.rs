//! `attach`

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::host::tmux::Socket;
use crate::reconcile::pass::Reconciler;

use super::args::Attach;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::target::Target;

/// Becomes a tmux client on the session's terminal, or switches the present one to it.
///
/// # Errors
/// When there is no such terminal.
pub fn run(context: &Context, args: &Attach) -> Result<Exit, CliError> {
    let machine = context.machine(false)?;
    let setup = context.setup(&machine, "attach", None)?;
    let reconciler = Reconciler::new(&machine, &setup)?;
    let target = Target::find(&reconciler, &setup, &args.target)?;
    let pane = target.pane(&machine, &reconciler)?;
    let pane =
        pane.ok_or_else(|| CliError::Other(format!("`{}` has no terminal; `farhelm status` tells why", args.target)))?;
    Err(become_client(context, &machine, &target.socket, &pane.0))
}

/// Returns only when tmux could not be run.
fn become_client(context: &Context, machine: &crate::host::real::Machine, socket: &Socket, pane: &str) -> CliError {
    let here = context.var("TMUX").and_then(|tmux| tmux.split(',').next());
    let client = machine.tmux_client(socket);
    let Some((program, args)) = client.split_first() else { return CliError::Other("no tmux".to_owned()) };
    let mut tmux = Command::new(program);
    tmux.args(args);
    if here.is_some_and(|here| socket.path() == std::path::Path::new(here)) {
        tmux.args(["switch-client", "-t", pane]);
    } else {
        // From inside another server a client of its own is meant, not a nesting error.
        tmux.env_remove("TMUX");
        tmux.args(["select-window", "-t", pane, ";", "attach-session", "-t", pane]);
    }
    CliError::Other(format!("cannot run tmux: {}", tmux.exec()))
}
