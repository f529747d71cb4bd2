//! `reap --strays`

use std::collections::BTreeSet;
use std::time::Duration;

use crate::observe::strays;
use crate::reconcile::pass::Reconciler;
use crate::reconcile::reap::{self, Target};
use crate::reconcile::terminals;
use crate::spec::visible::visible;
use crate::state::leaving::Claim;

use super::args::Reap;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;

/// The grace of strays: the default of a session.
const GRACE: Duration = Duration::from_secs(5);

/// Lists what earlier sessions of this state directory left behind, asks, and ends it.
///
/// # Errors
/// When it cannot be known what is left.
pub fn run(context: &Context, args: &Reap) -> Result<Exit, CliError> {
    let machine = context.machine(true)?;
    let setup = context.setup(&machine, "reap", None)?;
    let reconciler = Reconciler::new(&machine, &setup)?;
    let _lock = reconciler.lock()?;
    let records = reconciler.store().records()?;
    let sockets = terminals::sockets(records.records.values(), &setup.socket);
    let found = strays::find(&machine, &sockets, &records.known(), &setup.state_dir)
        .map_err(|error| CliError::Other(error.to_string()))?;
    if found.is_empty() {
        context.output.data("no strays")?;
        return Ok(Exit::Ok);
    }
    let lines: Vec<String> =
        found.iter().map(|stray| format!("{:>8}  {}", stray.key.pid, visible(&stray.words))).collect();
    context.output.data(&lines.join("\n"))?;
    if !args.yes && !context.output.ask(&format!("End these {}?", found.len()))? {
        return Ok(Exit::Error);
    }
    let sessions: BTreeSet<_> = found.iter().map(|stray| stray.session).collect();
    let targets: Vec<Target> = sessions
        .into_iter()
        .map(|session| Target {
            session,
            claim: Claim::Session,
            roots: Vec::new(),
            units: Vec::new(),
            grace: GRACE,
            asked: None,
            // Strays are found again by their marks.
            noted: true,
        })
        .collect();
    let mut failed = false;
    for ending in reap::end(&machine, &targets, None) {
        if !ending.complete() {
            failed = true;
            context.output.message(&format!("farhelm: {}", ending.words()));
        }
    }
    Ok(if failed { Exit::SomeFailed } else { Exit::Ok })
}
