//! `adopt`

use crate::plan::Request;
use crate::plan::action::Action;
use crate::reconcile::pass::Reconciler;

use super::args::Adopt;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;

/// Rebuilds lost records from stamps; launches and ends nothing.
///
/// # Errors
/// When the fleet or the state cannot be read.
pub fn run(context: &Context, args: &Adopt) -> Result<Exit, CliError> {
    let loaded = context.load(&args.files)?;
    let machine = context.machine(false)?;
    let setup = context.setup(&machine, "adopt", Some(&loaded.desired))?;
    let reconciler = Reconciler::new(&machine, &setup)?;
    let only = |action: &Action| matches!(action, Action::Adopt);
    let mut report = |done: &crate::reconcile::ledger::Done| context.output.message(&super::apply::line(done));
    let outcome = reconciler.once(&loaded.desired, &Request::default(), &only, &mut report)?;
    context.output.data(&format!("{} adopted", outcome.len()))?;
    Ok(if outcome.iter().any(|done| done.failure.is_some()) { Exit::SomeFailed } else { Exit::Ok })
}
