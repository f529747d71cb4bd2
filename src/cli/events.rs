//! `events`

use std::time::Duration;

use jiff::Timestamp;

use crate::host::clock::{Clock, Interrupt};
use crate::host::disk::Disk;
use crate::reconcile::pass::Reconciler;
use crate::state::events::{Event, Follower};

use super::args::Events;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::protocol::{Answer, Ask};
use super::resident::Resident;

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
    let layout = reconciler.store().layout();
    let go_on = || machine.interrupt() == Interrupt::None;
    let mut told = Told { context, since, last: None };
    if args.follow {
        let names = machine.list(layout.dir()).unwrap_or_default();
        for socket in layout.supervisor_sockets(&names) {
            let since_ms = since.map(Timestamp::as_millisecond);
            let Some(mut resident) = Resident::ask(&socket, Ask::Events { since_ms })? else { continue };
            while let Ok(Some(answer)) = resident.answer(Duration::MAX, &go_on) {
                if let Answer::Event(event) = answer {
                    told.tell(&event)?;
                }
            }
            // It ended before the operator did: what comes now is looked for.
            break;
        }
    }
    let mut log = Follower::new(&machine, layout, told.since);
    while go_on() {
        for event in log.next_events()? {
            told.tell(&event)?;
        }
        if !args.follow {
            break;
        }
        machine.sleep(LOOK);
    }
    Ok(Exit::Ok)
}

/// What was printed.
struct Told<'a> {
    context: &'a Context,
    since: Option<Timestamp>,
    /// The events of the latest time that were printed: those of the same time may come again.
    last: Option<(Timestamp, Vec<Event>)>,
}

impl Told<'_> {
    fn tell(&mut self, event: &Event) -> Result<(), CliError> {
        match &mut self.last {
            Some((at, known)) if *at == event.at => {
                if known.contains(event) {
                    return Ok(());
                }
                known.push(event.clone());
            }
            _ => self.last = Some((event.at, vec![event.clone()])),
        }
        self.since = Some(event.at);
        let line = serde_json::to_string(event).map_err(|error| CliError::Other(error.to_string()))?;
        self.context.output.data(&line)
    }
}
