//! `validate`

use super::args::Files;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;

/// Checks fleet files.
///
/// # Errors
/// Their problems.
pub fn run(context: &Context, args: &Files) -> Result<Exit, CliError> {
    let loaded = context.load(args)?;
    let desired = &loaded.desired;
    let fleet = desired.fleet.as_ref().map_or("(unnamed)", |name| name.as_str());
    let (files, sessions) = (desired.sources.len(), desired.sessions.len());
    context.output.data(&format!("fleet {fleet}: {sessions} sessions in {files} files, no problems"))?;
    Ok(Exit::Ok)
}
