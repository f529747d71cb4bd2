//! `logs`

use crate::host::disk::{Disk, DiskFault};
use crate::host::real::Machine;
use crate::host::tmux::Tmux;
use crate::reconcile::pass::Reconciler;
use crate::spec::visible::visible;
use crate::state::record::Record;

use super::args;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::target::Target;

/// The most that is read of a kept text, in bytes.
const LIMIT: u64 = 4 << 20;

/// Prints the last lines of a session's terminal: of the present one or, where there is none, of the last that was kept.
///
/// # Errors
/// When there is no such session, or nothing of it.
pub fn run(context: &Context, args: &args::Logs) -> Result<Exit, CliError> {
    let machine = context.machine(false)?;
    let setup = context.setup(&machine, "logs", None)?;
    let reconciler = Reconciler::new(&machine, &setup)?;
    let target = Target::find(&reconciler, &setup, &args.target)?;
    // Without an answer of tmux there may still be what was kept.
    let pane = target.pane(&machine, &reconciler);
    let text = match &pane {
        Ok(Some(pane)) => Some(
            machine.capture(&target.socket, pane, args.lines).map_err(|error| CliError::Other(error.to_string()))?,
        ),
        _ if target.is_agent() => kept(&machine, &reconciler, &target.record)?,
        _ => None,
    };
    let Some(text) = text else {
        pane?;
        return Err(CliError::Other(format!("nothing is kept of `{}`", args.target)));
    };
    let lines: Vec<String> = text.trim_end().lines().map(visible).collect();
    let wanted = usize::try_from(args.lines).unwrap_or(usize::MAX);
    context.output.data(&lines[lines.len().saturating_sub(wanted)..].join("\n"))?;
    Ok(Exit::Ok)
}

/// The last lines of the newest launch of which any were kept.
fn kept(machine: &Machine, reconciler: &Reconciler<'_>, record: &Record) -> Result<Option<String>, CliError> {
    let dir = reconciler.store().layout().logs(record.id);
    let names = machine.list(&dir).map_err(|error| CliError::Other(error.to_string()))?;
    let Some(newest) = names.iter().filter_map(|name| name.parse::<u32>().ok()).max() else { return Ok(None) };
    match machine.read(&dir.join(newest.to_string()), LIMIT) {
        Ok(text) => Ok(Some(String::from_utf8_lossy(&text).into_owned())),
        Err(error) if error.fault == DiskFault::Missing => Ok(None),
        Err(error) => Err(CliError::Other(error.to_string())),
    }
}
