//! `logs`

use std::time::Duration;

use crate::host::clock::{Clock, Interrupt, Moment};
use crate::host::disk::{Disk, DiskFault};
use crate::host::real::Machine;
use crate::host::tmux::{PaneId, Tmux};
use crate::reconcile::pass::{Reconciler, Setup};
use crate::spec::visible::visible;
use crate::state::record::Record;

use super::args;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::target::Target;

mod follow;

/// The most that is read of a kept text, in bytes.
const LIMIT: u64 = 4 << 20;
/// The most lines that are compared from look to look.
const FOLLOWED: u32 = 1_000;
/// Between two looks at a terminal that changes, at first…
const SOON: Duration = Duration::from_millis(500);
/// …and at most, at one that does not.
const LATE: Duration = Duration::from_secs(4);

/// Prints the last lines of a session's terminal: of the present one or, where there is none, of the last that was kept.
///
/// # Errors
/// When there is no such session, or nothing of it.
pub fn run(context: &Context, args: &args::Logs) -> Result<Exit, CliError> {
    let machine = context.machine(args.follow)?;
    let setup = context.setup(&machine, "logs", None)?;
    let reconciler = Reconciler::new(&machine, &setup)?;
    let target = Target::find(&reconciler, &setup, &args.target)?;
    // Without an answer of tmux there may still be what was kept.
    let pane = target.pane(&machine, &reconciler);
    let text = match &pane {
        Ok(Some(pane)) => Some(
            machine.capture(&target.socket, pane, args.lines).map_err(|error| CliError::Other(error.to_string()))?,
        ),
        _ if target.is_agent() => kept(&machine, &reconciler, &target.record)?,
        _ => None,
    };
    let Some(text) = text else {
        pane?;
        return Err(CliError::Other(format!("nothing is kept of `{}`", args.target)));
    };
    let lines = lines(&text, args.lines);
    context.output.data(&lines.join("\n"))?;
    if args.follow {
        let seen = pane.ok().flatten().map(|pane| (target, pane));
        Following {
            context,
            machine: &machine,
            reconciler: &reconciler,
            setup: &setup,
            args,
            shown: lines,
            anew: None,
        }
        .run(seen)?;
    }
    Ok(Exit::Ok)
}

/// The last lines of a text, as a terminal may show them.
fn lines(text: &str, most: u32) -> Vec<String> {
    let mut lines: Vec<String> = text.trim_end().lines().map(visible).collect();
    lines.drain(..lines.len().saturating_sub(usize::try_from(most).unwrap_or(usize::MAX)));
    lines
}

/// The last lines of the newest launch of which any were kept.
fn kept(machine: &Machine, reconciler: &Reconciler<'_>, record: &Record) -> Result<Option<String>, CliError> {
    let dir = reconciler.store().layout().logs(record.id);
    let names = machine.list(&dir).map_err(|error| CliError::Other(error.to_string()))?;
    let Some(newest) = names.iter().filter_map(|name| name.parse::<u32>().ok()).max() else { return Ok(None) };
    match machine.read(&dir.join(newest.to_string()), LIMIT) {
        Ok(text) => Ok(Some(String::from_utf8_lossy(&text).into_owned())),
        Err(error) if error.fault == DiskFault::Missing => Ok(None),
        Err(error) => Err(CliError::Other(error.to_string())),
    }
}

/// A terminal that is followed.
struct Following<'a> {
    context: &'a Context,
    machine: &'a Machine,
    reconciler: &'a Reconciler<'a>,
    setup: &'a Setup,
    args: &'a args::Logs,
    /// What it showed when it was last looked at.
    shown: Vec<String>,
    /// When nothing was left of what it showed before.
    anew: Option<Moment>,
}

impl Following<'_> {
    /// Prints what is new until the operator has seen enough. tmux is asked less often while nothing is.
    fn run(&mut self, mut seen: Option<(Target, PaneId)>) -> Result<(), CliError> {
        let most = self.args.lines.clamp(1, FOLLOWED);
        let mut pause = SOON;
        loop {
            self.machine.sleep(pause);
            if self.machine.interrupt() != Interrupt::None {
                return Ok(());
            }
            if self.began_anew(seen.as_ref()) {
                self.shown.clear();
                seen = self.find();
            }
            let text = seen.as_ref().map(|(target, pane)| self.machine.capture(&target.socket, pane, most));
            let fresh = match text {
                Some(Ok(text)) => self.fresh(lines(&text, most)),
                // Its pane is gone, or there is none yet: a later launch may have another.
                Some(Err(_)) | None => {
                    seen = self.find();
                    Vec::new()
                }
            };
            pause = if fresh.is_empty() { (pause * 2).min(LATE) } else { SOON };
            if !fresh.is_empty() {
                self.context.output.data(&fresh.join("\n"))?;
            }
        }
    }

    /// Whether another process runs in the terminal since, and what it shows was not seen to be new: it is, also where it
    /// looks the same.
    fn began_anew(&self, seen: Option<&(Target, PaneId)>) -> bool {
        let Some((old, _)) = seen.filter(|(target, _)| target.is_agent()) else { return false };
        let Some(now) = Target::find(self.reconciler, self.setup, &self.args.target).ok() else { return false };
        let Some(launch) = now.record.launch().filter(|launch| launch.process.is_some()) else { return false };
        let another = old.record.launch().and_then(|old| old.process) != launch.process;
        another && self.anew.is_none_or(|anew| anew.boot_ms < launch.at.boot_ms)
    }

    fn fresh(&mut self, now: Vec<String>) -> Vec<String> {
        let fresh = follow::fresh(&self.shown, &now).to_vec();
        if fresh.len() == now.len() {
            self.anew = Some(self.machine.now());
        }
        self.shown = now;
        fresh
    }

    /// The session's terminal, if it has one now.
    fn find(&self) -> Option<(Target, PaneId)> {
        let target = Target::find(self.reconciler, self.setup, &self.args.target).ok()?;
        let pane = target.pane(self.machine, self.reconciler).ok()??;
        Some((target, pane))
    }
}
