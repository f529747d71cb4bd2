//! `describe`

use std::fmt::Write as _;

use crate::plan::status::{self, Status};
use crate::plan::{Request, conversations, units};
use crate::reconcile::pass::{Reconciler, Setup};
use crate::reconcile::situation::Situation;
use crate::spec::visible::visible;
use crate::state::record::{HookState, Launch, Record};
use crate::state::reports::log;

use super::args;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::{conversations as listing, status as verb};

/// Lines of the hook log that are shown.
const LOG_LINES: usize = 20;

/// Prints all that is known of one session.
///
/// # Errors
/// When the fleet or the state cannot be read, or the name is no session.
pub fn run(context: &Context, args: &args::Describe) -> Result<Exit, CliError> {
    let loaded = context.load(&args.fleet.clone().into())?;
    let machine = context.machine(false)?;
    let setup = Setup { thorough: true, ..context.setup(&machine, "describe", Some(&loaded.desired))? };
    let reconciler = Reconciler::new(&machine, &setup)?;
    let situation = reconciler.look(&loaded.desired)?;
    let plan = reconciler.plan(&situation, &Request::default());
    let sessions = status::all(&plan, &situation.observed, &situation.recorded);
    let found = sessions.into_iter().find(|session| session.name.as_str() == args.name);
    let status = found.ok_or_else(|| CliError::Other(format!("no session `{}` in this fleet", args.name)))?;
    let known = conversations::all(&situation.observed, &situation.recorded);
    let known = known.into_iter().find(|known| known.session == status.name);
    let record = situation.recorded.records.get(&status.name);
    let reports = record.map(|record| reconciler.store().layout().report_dir(record.id));
    let log = reports.and_then(|dir| log::lines(&machine, &dir).ok()).unwrap_or_default();
    let log = &log[log.len().saturating_sub(LOG_LINES)..];
    if args.json {
        let launches = record.map(|record| &record.launches);
        let document = serde_json::json!({
            "status": status, "conversation": known, "launches": launches, "hook_log": log,
        });
        context.output.json(&document)?;
    } else {
        let mut text = of_status(&status);
        if let Some(known) = &known {
            let id = known.id.as_deref().map_or_else(|| "none".to_owned(), visible);
            let how = listing::how(known, situation.observed.at.wall_ms);
            line(&mut text, "conversation", &format!("{id}, {how}; {} {}", known.state, visible(&known.words)));
        }
        of_record(&mut text, record, &situation);
        if !log.is_empty() {
            line(&mut text, "hook log", "");
            log.iter().for_each(|entry| text.push_str(&format!("  {entry}\n")));
        }
        context.output.data(&text)?;
    }
    Ok(Exit::Ok)
}

fn line(text: &mut String, name: &str, value: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}", format!("{:<14} {value}", format!("{name}:")).trim_end());
}

fn of_status(status: &Status) -> String {
    let mut text = String::new();
    let shown = |value: Option<String>| value.map_or_else(|| "-".to_owned(), |value| visible(&value));
    line(&mut text, "session", status.name.as_str());
    line(&mut text, "title", &shown(status.title.clone()));
    line(&mut text, "kind", &shown(status.kind.as_ref().map(ToString::to_string)));
    line(&mut text, "dir", &shown(status.dir.clone()));
    let reason = if status.reason.is_empty() { String::new() } else { format!(" ({})", visible(&status.reason)) };
    line(&mut text, "sync", &verb::word(&status.sync));
    line(&mut text, "health", &format!("{}{reason}", verb::word(&status.health)));
    line(&mut text, "process", &shown(status.pid.map(|pid| pid.to_string())));
    line(&mut text, "pane", &shown(status.pane.clone()));
    for tab in &status.tabs {
        let pid = tab.pid.map(|pid| format!(", pid {pid}")).unwrap_or_default();
        line(&mut text, "tab", &format!("{} {}{pid}", tab.name, if tab.open { "open" } else { "closed" }));
    }
    text
}

fn of_record(text: &mut String, record: Option<&Record>, situation: &Situation<'_>) {
    let Some(record) = record else { return };
    line(text, "id", &record.id.to_string());
    for launch in record.launches.iter().rev() {
        line(text, &format!("launch {}", launch.generation), &of_launch(launch, situation.observed.at.wall_ms));
    }
}

fn of_launch(launch: &Launch, now_ms: i64) -> String {
    let mut words = vec![format!("{} ago", units::span(units::since(launch.at.wall_ms, now_ms)))];
    words.extend(launch.resumed.then(|| "resumed".to_owned()));
    words.extend(launch.scoped.then(|| "in a scope".to_owned()));
    match &launch.hook {
        HookState::None => {}
        HookState::Given => words.push("hooked".to_owned()),
        HookState::Skipped(why) => words.push(format!("not hooked: {}", visible(why))),
    }
    match &launch.ended {
        Some(ended) => words.push(format!("ended: {}", visible(&format!("{:?}", ended.how)))),
        None => words.push(format!("{:?}", launch.phase).to_lowercase()),
    }
    words.join(", ")
}
