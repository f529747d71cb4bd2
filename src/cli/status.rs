//! `status`

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use crate::config::desired::Desired;
use crate::host::clock::{Clock, Interrupt};
use crate::host::real::Machine;
use crate::plan::status::{self, Health, Status, Sync};
use crate::plan::{Request, Trigger};
use crate::reconcile::pass::{Reconciler, Setup};
use crate::spec::name::Name;
use crate::spec::visible::visible;
use crate::state::layout::Layout;
use crate::state::lock::Holder;
use crate::state::{kept, lock};

use super::args::{self, Files};
use super::context::{Context, selection};
use super::error::CliError;
use super::exit::Exit;
use super::protocol::{Answer, Ask, Overview};
use super::resident::Resident;
use super::{revision, table};

/// Between two looks while no `watch` says what changes.
const LOOK: Duration = Duration::from_secs(2);

/// Prints each session's sync and health, by what a `watch` that keeps the fleet would do, or else an apply.
///
/// # Errors
/// When the fleet or the state cannot be read, or a name is no session.
pub fn run(context: &Context, args: &args::Status) -> Result<Exit, CliError> {
    let machine = context.machine(args.watch)?;
    let mut shown = None;
    loop {
        let found = look(context, &machine, args)?;
        if !args.watch {
            print(context, args, &found, "")?;
            let well = found.overview.sessions.iter().all(|one| one.sync == Sync::InSync && is_well(one.health));
            return Ok(if args.health && !(well && found.overview.unfit.is_none()) { Exit::Error } else { Exit::Ok });
        }
        renew(context, args, &mut shown, &found)?;
        follow(context, &machine, args, &mut shown, &found)?;
        if machine.interrupt() != Interrupt::None {
            return Ok(Exit::Ok);
        }
        machine.sleep(LOOK);
    }
}

/// What one look found.
#[derive(Clone)]
struct Found {
    overview: Overview,
    watch: Option<Holder>,
    /// Where the fleet's `watch` listens.
    socket: Option<PathBuf>,
    /// The sessions that are asked for.
    selected: BTreeSet<Name>,
}

fn look(context: &Context, machine: &Machine, args: &args::Status) -> Result<Found, CliError> {
    let setup = context.setup(machine, "status", None)?;
    let (desired, revision, unfit) = fleet(context, machine, &setup, &args.fleet.clone().into())?;
    let setup = Setup { revision, ..setup };
    let reconciler = Reconciler::new(machine, &setup)?;
    let layout = reconciler.store().layout();
    let lock = desired.fleet.as_ref().map(|fleet| layout.watch_lock(fleet));
    let watch = lock.and_then(|lock| lock::holder(machine, &lock));
    let situation = reconciler.look(&desired)?;
    let trigger = if watch.is_some() { Trigger::Watch } else { Trigger::Apply };
    let request = Request { trigger, selection: selection(&args.select)?, ..Request::default() };
    let plan = reconciler.plan(&situation, &request);
    let mut sessions = status::all(&plan, &situation.observed, &situation.recorded);
    for name in &args.names {
        if !sessions.iter().any(|session| session.name.as_str() == name) {
            return Err(CliError::Other(format!("no session `{name}` in this fleet")));
        }
    }
    sessions.retain(|session| args.names.is_empty() || args.names.iter().any(|name| name == session.name.as_str()));
    Ok(Found {
        selected: sessions.iter().map(|session| session.name.clone()).collect(),
        socket: desired.fleet.as_ref().map(|fleet| layout.supervisor_socket(fleet)),
        overview: Overview { fleet: plan.header.fleet, revision: plan.header.revision, unfit, sessions },
        watch,
    })
}

/// Prints what the `watch` says, for as long as it says something.
fn follow(
    context: &Context,
    machine: &Machine,
    args: &args::Status,
    shown: &mut Option<Overview>,
    found: &Found,
) -> Result<(), CliError> {
    let Some(socket) = found.socket.as_ref().filter(|_| found.watch.is_some()) else { return Ok(()) };
    let Some(mut resident) = Resident::ask(socket, Ask::Status)? else { return Ok(()) };
    let all = args.names.is_empty() && args.select.is_everything();
    let go_on = || machine.interrupt() == Interrupt::None;
    while let Ok(Some(answer)) = resident.answer(Duration::MAX, &go_on) {
        let Answer::Status(mut overview) = answer else { continue };
        overview.sessions.retain(|session| all || found.selected.contains(&session.name));
        renew(context, args, shown, &Found { overview, ..found.clone() })?;
    }
    Ok(())
}

/// Prints what is found, unless it was printed last; on a terminal, in its place.
fn renew(context: &Context, args: &args::Status, shown: &mut Option<Overview>, found: &Found) -> Result<(), CliError> {
    if shown.as_ref() == Some(&found.overview) {
        return Ok(());
    }
    *shown = Some(found.overview.clone());
    // Home, and everything below it cleared.
    let clear = if std::io::stdout().is_terminal() { "\x1b[H\x1b[J" } else { "" };
    print(context, args, found, clear)
}

/// Prints what is found; `before` is for people alone.
fn print(context: &Context, args: &args::Status, found: &Found, before: &str) -> Result<(), CliError> {
    let Found { overview, watch, .. } = found;
    if args.json {
        let mut document = serde_json::to_value(overview).map_err(|error| CliError::Other(error.to_string()))?;
        document["watch"] = serde_json::json!(watch);
        // One a line where more come.
        return if args.watch { context.output.data(&document.to_string()) } else { context.output.json(&document) };
    }
    let mut parts = vec![format!("fleet {}", overview.fleet.as_ref().map_or("?", |fleet| fleet.as_str()))];
    parts.extend(overview.revision.as_ref().map(|revision| format!("at {}", visible(revision))));
    parts.extend(watch.as_ref().map(|holder| format!("kept by watch (pid {})", holder.pid)));
    context.output.data(&format!("{before}{}\n{}", parts.join(" · "), rows(&overview.sessions)))
}

/// The fleet as its files say or, where those cannot be used, as `watch` last read it; and then what is wrong.
fn fleet(
    context: &Context,
    machine: &Machine,
    setup: &Setup,
    files: &Files,
) -> Result<(Desired, Option<String>, Option<String>), CliError> {
    let problems = match context.load(files) {
        Ok(loaded) => return Ok((loaded.desired.clone(), revision::of(machine, &loaded.desired), None)),
        Err(CliError::Fleet(problems)) => problems,
        Err(error) => return Err(error),
    };
    let key = kept::key(&context.load_request(files)?.asked());
    let Ok(Some(kept)) = kept::find(machine, &Layout::new(&setup.state_dir), &key) else {
        return Err(CliError::Fleet(problems));
    };
    context.output.message(problems.render(context.output.colored_messages()).trim_end());
    context.output.message("the files cannot be used: this is the fleet as `watch` last read it");
    Ok((kept.desired, kept.revision, Some(problems.render(false))))
}

const fn is_well(health: Health) -> bool {
    !matches!(health, Health::Failed | Health::CrashLoop | Health::Backoff | Health::Unknown)
}

pub(super) fn word<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn rows(sessions: &[Status]) -> String {
    let mut rows = vec![["SESSION", "KIND", "SYNC", "HEALTH", "PID", "REASON"].map(str::to_owned)];
    for session in sessions {
        rows.push([
            session.name.to_string(),
            session.kind.as_ref().map(ToString::to_string).unwrap_or_default(),
            word(&session.sync),
            word(&session.health),
            session.pid.map(|pid| pid.to_string()).unwrap_or_default(),
            visible(&reason(session)),
        ]);
    }
    table::lines(&rows)
}

fn reason(session: &Status) -> String {
    let parent = session.parent.as_ref().map(|parent| format!("{parent} asked for it"));
    let parts = parent.into_iter().chain(Some(session.reason.clone()).filter(|reason| !reason.is_empty()));
    parts.collect::<Vec<_>>().join("; ")
}
