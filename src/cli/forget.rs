//! `forget`

use crate::reconcile::pass::{PassError, Reconciler};

use crate::spec::name::Name;

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
    for text in &args.names {
        let name = Name::new(text.clone()).map_err(|error| CliError::Usage(error.to_string()))?;
        if reconciler.store().forget(fleet, &name)? == 0 {
            return Err(CliError::Other(format!("nothing is remembered of a reaped session `{name}`")));
        }
        context.output.message(&format!("forgot {name}"));
    }
    Ok(Exit::Ok)
}
