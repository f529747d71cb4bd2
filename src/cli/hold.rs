//! `stop`, `start`, `pause`, `unpause`, `unprotect`: an operator's decisions, recorded and acted on at once.

use crate::config::desired::Desired;
use crate::host::clock::Clock;
use crate::plan::Request;
use crate::reconcile::pass::{Patience, Reconciler, after};
use crate::spec::name::Name;
use crate::state::events::{Event, EventLog, Outcome};
use crate::state::record::{Hold, HoldKind, Record};

use super::apply::Run;
use super::args::{Named, Pause};
use super::context::{Context, globs};
use super::error::CliError;
use super::exit::Exit;

/// `stop`
///
/// # Errors
/// As `apply`, and for names that are no sessions.
pub fn stop(context: &Context, args: &Named) -> Result<Exit, CliError> {
    let held = decide(context, args, "stop", true, &|record, hold| record.hold = Some(hold(HoldKind::Stopped)));
    if let Err(error @ CliError::State(_)) = held {
        // A full disk never prevents a stop: it is not held, and a later apply starts it again.
        context.output.message(&format!("warning: the stop is carried out and not remembered: {error}"));
    } else {
        held?;
    }
    act(context, args, "stop", Request { now: true, ..Request::default() })
}

/// A `restart` of a stopped session wants it running again.
///
/// # Errors
/// For names that are no sessions.
pub fn lift_stop(context: &Context, args: &Named) -> Result<(), CliError> {
    let lift = |record: &mut Record, _: &dyn Fn(HoldKind) -> Hold| {
        record.hold.take_if(|hold| hold.what == HoldKind::Stopped);
    };
    decide(context, args, "restart", true, &lift).map(|_| ())
}

/// `start`
///
/// # Errors
/// As `apply`, and for names that are no sessions.
pub fn start(context: &Context, args: &Named) -> Result<Exit, CliError> {
    let loaded = context.load(&args.fleet.clone().into())?;
    let wanted_stopped = |name: &Name| loaded.desired.sessions.get(name).is_some_and(|session| !session.running);
    decide(context, args, "start", true, &|record, hold| {
        record.hold = wanted_stopped(&record.name).then(|| hold(HoldKind::Started));
    })?;
    act(context, args, "start", Request { start: names(args)?, ..Request::default() })
}

/// `pause`
///
/// # Errors
/// For names that are no sessions.
pub fn pause(context: &Context, args: &Pause) -> Result<Exit, CliError> {
    decide(context, &args.named, "pause", false, &|record, hold| {
        let mut hold = hold(HoldKind::Paused);
        hold.until_ms = args.for_time.map(|period| after(hold.since, period.0));
        record.hold = Some(hold);
    })
}

/// `unpause`
///
/// # Errors
/// For names that are no sessions.
pub fn unpause(context: &Context, args: &Named) -> Result<Exit, CliError> {
    decide(context, args, "unpause", false, &|record, _| {
        record.hold.take_if(|hold| hold.what == HoldKind::Paused);
    })
}

/// `unprotect`
///
/// # Errors
/// For names that are no sessions.
pub fn unprotect(context: &Context, args: &Named) -> Result<Exit, CliError> {
    decide(context, args, "unprotect", false, &|record, _| record.protect = false)
}

/// The names given, checked.
///
/// # Errors
/// One that is no name.
pub fn names(args: &Named) -> Result<Vec<Name>, CliError> {
    let name = |text: &String| Name::new(text.clone()).map_err(|error| CliError::Usage(error.to_string()));
    args.names.iter().map(name).collect()
}

/// Changes a record by a decision; makes its hold with the function given.
type Change<'a> = &'a dyn Fn(&mut Record, &dyn Fn(HoldKind) -> Hold);

/// Records a decision on each named session, under the lock; with `wanted`, only on those that the fleet still has: an
/// apply of any other would reap it.
fn decide(
    context: &Context,
    args: &Named,
    verb: &'static str,
    wanted: bool,
    change: Change<'_>,
) -> Result<Exit, CliError> {
    let loaded = context.load(&args.fleet.clone().into())?;
    let machine = context.machine(false)?;
    let setup = context.setup(&machine, verb, Some(&loaded.desired))?;
    let reconciler = Reconciler::new(&machine, &setup)?;
    let _lock = reconciler.lock()?;
    let situation = reconciler.look(&loaded.desired)?;
    let since = machine.now();
    let hold = |what| Hold { what, since, until_ms: None, why: args.message.clone() };
    let mut changed = Vec::new();
    for name in names(args)? {
        let recorded = situation.recorded.records.get(&name).cloned();
        if wanted && recorded.is_some() && !situation.desired.sessions.contains_key(&name) {
            let words = format!("`{name}` is not in the fleet any more; `farhelm apply --only {name}` reaps it");
            return Err(CliError::Other(words));
        }
        let mut record = match recorded {
            Some(record) => record,
            None => match reconciler.rebuilt(&situation, &name) {
                Some(record) => record,
                None => unlaunched(&situation.desired, &name)?,
            },
        };
        change(&mut record, &hold);
        changed.push(record);
    }
    reconciler.store().save_decision(&changed)?;
    for record in &changed {
        let event = Event {
            fleet: Some(record.fleet.clone()),
            session: Some(record.name.clone()),
            detail: args.message.clone(),
            ..Event::new(machine.now(), verb, verb, Outcome::Done)
        };
        let _ = EventLog::new(&machine, reconciler.store().layout()).append(&[event]);
    }
    Ok(Exit::Ok)
}

/// A session that was never launched can be held too.
fn unlaunched(desired: &Desired, name: &Name) -> Result<Record, CliError> {
    let missing = || no_session(name);
    let session = desired.sessions.get(name).ok_or_else(missing)?;
    let fleet = desired.fleet.clone().ok_or_else(missing)?;
    Ok(Record::unlaunched(fleet, session))
}

fn no_session(name: &Name) -> CliError {
    CliError::Other(format!("no session `{name}` in this fleet; `farhelm status` lists them"))
}

fn act(context: &Context, args: &Named, actor: &'static str, request: Request) -> Result<Exit, CliError> {
    let mut loaded = context.load(&args.fleet.clone().into())?;
    let mut request = request;
    request.selection.only = globs(&args.names)?;
    if actor == "stop" {
        for name in names(args)? {
            if let Some(session) = loaded.desired.sessions.get_mut(&name) {
                session.running = false;
            }
        }
    }
    let run = Run { actor, yes: true, json: false, patience: Patience::default(), saved: None };
    run.go(context, &loaded.desired, &request)
}
