//! `attach`

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::host::tmux::{Socket, Tmux};
use crate::reconcile::pass::Reconciler;
use crate::state::stamp::Stamp;

use super::args::Attach;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;

/// Becomes a tmux client on the session's terminal, or switches the present one to it.
///
/// # Errors
/// When there is no such terminal.
pub fn run(context: &Context, args: &Attach) -> Result<Exit, CliError> {
    let machine = context.machine(false)?;
    let setup = context.setup(&machine, "attach", None)?;
    let reconciler = Reconciler::new(&machine, &setup)?;
    let (path, tab) = match args.target.split_once(':') {
        Some((path, tab)) => (path, Some(tab)),
        None => (args.target.as_str(), None),
    };
    let (fleet, name) = match path.split_once('/') {
        Some((fleet, name)) => (Some(fleet), name),
        None => (None, path),
    };
    let records = reconciler.store().records()?;
    let mut found =
        records.records.values().filter(|r| r.name.as_str() == name && fleet.is_none_or(|f| r.fleet.as_str() == f));
    let record = found.next().ok_or_else(|| CliError::Other(format!("no session `{path}`")))?;
    if let Some(other) = found.next() {
        let (one, two) = (&record.fleet, &other.fleet);
        return Err(CliError::Usage(format!("`{name}` is in the fleets {one} and {two}; write {one}/{name}")));
    }
    let socket = record.launch().map_or(&setup.socket, |launch| &launch.socket);
    let panes = machine.panes(socket).map_err(|error| CliError::Other(error.to_string()))?;
    let pane = panes
        .panes
        .iter()
        .filter_map(|pane| Some((pane, Stamp::read(&pane.stamp)?)))
        .filter(|(_, stamp)| stamp.id == record.id && stamp.owner == *reconciler.store().owner())
        .find(|(_, stamp)| stamp.tab.as_ref().map(|(name, _)| name.as_str()) == tab)
        .map(|(pane, _)| pane.id.0.clone())
        .ok_or_else(|| CliError::Other(format!("`{}` has no terminal; `farhelm status` tells why", args.target)))?;
    Err(become_client(context, &machine, socket, &pane))
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
