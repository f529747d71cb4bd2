//! `status`

use crate::config::desired::Desired;
use crate::host::real::Machine;
use crate::plan::status::{self, Health, Status, Sync};
use crate::plan::{Request, Trigger};
use crate::reconcile::pass::{Reconciler, Setup};
use crate::spec::visible::visible;
use crate::state::layout::Layout;
use crate::state::{kept, lock};

use super::args::{self, Files};
use super::context::{Context, selection};
use super::error::CliError;
use super::exit::Exit;
use super::{revision, table};

/// Prints each session's sync and health, by what a `watch` that keeps the fleet would do, or else an apply.
///
/// # Errors
/// When the fleet or the state cannot be read, or a name is no session.
pub fn run(context: &Context, args: &args::Status) -> Result<Exit, CliError> {
    let machine = context.machine(false)?;
    let setup = context.setup(&machine, "status", None)?;
    let (desired, revision, unfit) = fleet(context, &machine, &setup, &args.fleet.clone().into())?;
    let setup = Setup { revision, ..setup };
    let reconciler = Reconciler::new(&machine, &setup)?;
    let lock = desired.fleet.as_ref().map(|fleet| reconciler.store().layout().watch_lock(fleet));
    let watch = lock.and_then(|lock| lock::holder(&machine, &lock));
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
    let header = &plan.header;
    if args.json {
        context.output.json(&serde_json::json!({
            "fleet": header.fleet, "revision": header.revision, "watch": watch, "unfit": unfit, "sessions": sessions,
        }))?;
    } else {
        let mut parts = vec![format!("fleet {}", desired.fleet.as_ref().map_or("?", |fleet| fleet.as_str()))];
        parts.extend(header.revision.as_ref().map(|revision| format!("at {}", visible(revision))));
        parts.extend(watch.map(|holder| format!("kept by watch (pid {})", holder.pid)));
        context.output.data(&format!("{}\n{}", parts.join(" · "), rows(&sessions)))?;
    }
    let well = sessions.iter().all(|session| session.sync == Sync::InSync && is_well(session.health));
    Ok(if args.health && !(well && unfit.is_none()) { Exit::Error } else { Exit::Ok })
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
            visible(&session.reason),
        ]);
    }
    table::lines(&rows)
}
