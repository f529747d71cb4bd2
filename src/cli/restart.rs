//! `restart`

use crate::plan::Request;
use crate::reconcile::pass::Patience;

use super::apply::Run;
use super::args::Restart;
use super::context::{Context, globs};
use super::error::CliError;
use super::exit::Exit;
use super::hold;

/// Ends and starts sessions again.
///
/// # Errors
/// As `apply`.
pub fn run(context: &Context, args: &Restart) -> Result<Exit, CliError> {
    let named = &args.named;
    let loaded = context.load(&named.fleet.clone().into())?;
    let again = hold::names(named)?;
    hold::lift_stop(context, named)?;
    let mut request = Request {
        again,
        fresh: args.fresh,
        now: args.now,
        accept_dir: args.accept_dir,
        allow_fresh: if args.fresh { globs(&named.names)? } else { None },
        ..Request::default()
    };
    request.selection.only = globs(&named.names)?;
    let run = Run { actor: "restart", yes: true, json: false, patience: Patience::default(), saved: None };
    run.go(context, &loaded.desired, &request)
}
