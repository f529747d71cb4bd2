//! `status`

use crate::plan::Request;
use crate::plan::status::{self, Health, Status, Sync};
use crate::reconcile::pass::Reconciler;
use crate::spec::visible::visible;

use super::args;
use super::context::{Context, selection};
use super::error::CliError;
use super::exit::Exit;
use super::table;

/// Prints each session's sync and health.
///
/// # Errors
/// When the fleet or the state cannot be read, or a name is no session.
pub fn run(context: &Context, args: &args::Status) -> Result<Exit, CliError> {
    let loaded = context.load(&args.fleet.clone().into())?;
    let machine = context.machine(false)?;
    let setup = context.setup(&machine, "status", Some(&loaded.desired))?;
    let reconciler = Reconciler::new(&machine, &setup)?;
    let situation = reconciler.look(&loaded.desired)?;
    let request = Request { selection: selection(&args.select)?, ..Request::default() };
    let plan = reconciler.plan(&loaded.desired, &situation, &request);
    let mut sessions = status::all(&plan, &situation.observed, &situation.recorded);
    for name in &args.names {
        if !sessions.iter().any(|session| session.name.as_str() == name) {
            return Err(CliError::Other(format!("no session `{name}` in this fleet")));
        }
    }
    sessions.retain(|session| args.names.is_empty() || args.names.iter().any(|name| name == session.name.as_str()));
    if args.json {
        context.output.json(&serde_json::json!({ "fleet": plan.header.fleet, "sessions": sessions }))?;
    } else {
        context.output.data(&rows(&sessions))?;
    }
    let well = sessions.iter().all(|session| session.sync == Sync::InSync && is_well(session.health));
    Ok(if args.health && !well { Exit::Error } else { Exit::Ok })
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
