//! `render`

use crate::config::render;

use super::args::Render;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;

/// Prints the effective fleet.
///
/// # Errors
/// The files' problems.
pub fn run(context: &Context, args: &Render) -> Result<Exit, CliError> {
    let loaded = context.load(&args.files)?;
    context.output.data(&render::fleet(&loaded, args.origin))?;
    Ok(Exit::Ok)
}
