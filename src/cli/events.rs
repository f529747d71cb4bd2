//! `events`

use std::time::Duration;

use jiff::Timestamp;

use crate::host::clock::Clock;
use crate::reconcile::pass::Reconciler;
use crate::state::events::Follower;

use super::args::Events;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;

/// Between two looks for new events.
const LOOK: Duration = Duration::from_millis(250);

/// Prints the event log, one JSON document a line.
///
/// # Errors
/// When the log cannot be read.
pub fn run(context: &Context, args: &Events) -> Result<Exit, CliError> {
    let machine = context.machine(true)?;
    let setup = context.setup(&machine, "events", None)?;
    let reconciler = Reconciler::new(&machine, &setup)?;
    let since = args.since.and_then(|period| {
        let back = i64::try_from(period.0.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millisecond(machine.now().wall_ms.saturating_sub(back)).ok()
    });
    let mut log = Follower::new(&machine, reconciler.store().layout(), since);
    loop {
        for event in log.next_events()? {
            let line = serde_json::to_string(&event).map_err(|error| CliError::Other(error.to_string()))?;
            context.output.data(&line)?;
        }
        if !args.follow || machine.interrupt() != crate::host::clock::Interrupt::None {
            return Ok(Exit::Ok);
        }
        machine.sleep(LOOK);
    }
}
