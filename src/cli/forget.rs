//! `forget`

use crate::reconcile::pass::{PassError, Reconciler};

use super::args::Forget;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;

/// Drops tombstones: those sessions come back in new conversations.
///
/// # Errors
/// For names without one.
pub fn run(context: &Context, args: &Forget) -> Result<Exit, CliError> {
    let loaded = context.load(&args.fleet.clone().into())?;
    let machine = context.machine(false)?;
    let setup = context.setup(&machine, "forget", Some(&loaded.desired))?;
    let reconciler = Reconciler::new(&machine, &setup)?;
    let _lock = reconciler.lock()?;
    let fleet = loaded.desired.fleet.as_ref().ok_or(PassError::NoFleet)?;
    let recorded = reconciler.store().recorded(fleet, None, &setup.owner)?;
    for name in &args.names {
        let tombstone = recorded.tombstones.iter().find(|(known, _)| known.as_str() == name);
        let Some((_, tombstone)) = tombstone else {
            return Err(CliError::Other(format!("nothing is remembered of a reaped session `{name}`")));
        };
        reconciler.store().forget(tombstone.record.id)?;
        context.output.message(&format!("forgot {name}"));
    }
    Ok(Exit::Ok)
}
