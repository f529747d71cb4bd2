//! `schema`

use crate::{agents, plan, spec, state};

use super::args::{Document, Schema};
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;

/// Prints a JSON schema.
///
/// # Errors
/// Only for the output itself.
pub fn run(context: &Context, args: &Schema) -> Result<Exit, CliError> {
    let schema = match args.of {
        Document::Fleet => format!("{:#}\n", spec::schema::fleet()),
        Document::Plan => plan::schema::plan(),
        Document::Events => state::events::schema(),
        Document::Kind => agents::catalogue::schema(),
    };
    context.output.data(&schema)?;
    Ok(Exit::Ok)
}
