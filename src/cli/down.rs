//! `down`

use crate::plan::{Request, Trigger};
use crate::reconcile::pass::Patience;

use super::apply::Run;
use super::args::Down;
use super::context::{Context, selection};
use super::error::CliError;
use super::exit::Exit;

/// Reaps the whole fleet.
///
/// # Errors
/// As `apply`.
pub fn run(context: &Context, args: &Down) -> Result<Exit, CliError> {
    let loaded = context.load(&args.files)?;
    let request = Request {
        trigger: Trigger::Down,
        selection: selection(&args.select)?,
        take_over: args.take_over,
        now: true,
        ..Request::default()
    };
    let run = Run { actor: "down", yes: args.yes, json: args.json, patience: Patience::default(), saved: None };
    run.go(context, &loaded.desired, &request)
}
