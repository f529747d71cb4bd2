//! `doctor`: whether this machine is fit to run a fleet, and what to do where it is not. It changes nothing.

mod agents;
mod finding;
mod machine;
mod state;

use crate::config::desired::Desired;

use super::args::{Doctor, Files};
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use finding::{Finding, Level};

/// Looks at everything and prints what it finds. [`Exit::Error`] when something must be done first.
///
/// # Errors
/// When the fleet files are wrong, or it cannot print.
pub fn run(context: &Context, args: &Doctor) -> Result<Exit, CliError> {
    let files: Files = args.fleet.clone().into();
    let desired = if files.paths.is_empty() && !context.has_default_fleet() {
        Desired::default()
    } else {
        context.load(&files)?.desired
    };
    let host = context.machine(false)?;
    let state_dir = context.state_dir();
    let findings: Vec<Finding> = [
        machine::tmux(context, &host),
        machine::systemd(&host),
        agents::all(context, &host, &desired),
        machine::limits(&host, desired.sessions.len()),
        vec![machine::socket(context)],
        state::all(context, &host, &state_dir),
    ]
    .concat();
    let well = findings.iter().all(|finding| finding.level != Level::Problem);
    if args.json {
        context.output.json(&serde_json::json!({"well": well, "findings": findings}))?;
    } else {
        context.output.data(&finding::text(&findings))?;
    }
    Ok(if well { Exit::Ok } else { Exit::Error })
}
