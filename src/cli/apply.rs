//! `apply`

use std::path::Path;

use crate::config::desired::Desired;
use crate::plan::basis::{self, Saved};
use crate::plan::text::{self, Style};
use crate::plan::{Plan, Request, Trigger};
use crate::reconcile::ledger::Done;
use crate::reconcile::pass::{Outcome, Patience, Reconciler, Setup};
use crate::spec::visible::visible;

use super::args::{self, Files};
use super::context::{Context, globs, selection};
use super::error::CliError;
use super::exit::Exit;

/// Plans, asks, and carries the plan out.
///
/// # Errors
/// When the fleet or the state cannot be read, or the operator says no.
pub fn run(context: &Context, args: &args::Apply) -> Result<Exit, CliError> {
    let saved = saved_plan(&args.files)?;
    let files = match &saved {
        Some(saved) => Files { paths: saved.plan.header.sources.clone(), ..args.files.clone() },
        None => args.files.clone(),
    };
    let loaded = context.load(&files)?;
    let request = Request {
        selection: selection(&args.select)?,
        now: args.now,
        allow_fresh: globs(&args.allow_fresh)?,
        max_reap: args.max_reap,
        take_over: args.take_over,
        ..Request::default()
    };
    let run = Run {
        actor: "apply",
        yes: args.yes,
        json: args.json,
        patience: Patience { wait: args.wait, timeout: args.timeout.map(|period| period.0) },
        saved,
    };
    run.go(context, &loaded.desired, &request)
}

/// A saved plan, when the one path given is one.
fn saved_plan(files: &Files) -> Result<Option<Saved>, CliError> {
    let [path] = files.paths.as_slice() else { return Ok(None) };
    if path.extension().is_none_or(|extension| extension != "json" && extension != "plan") && !looks_saved(path) {
        return Ok(None);
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| CliError::Other(format!("cannot read {}: {error}", path.display())))?;
    let saved = serde_json::from_str(&text)
        .map_err(|error| CliError::Other(format!("{} is no saved plan: {error}", path.display())))?;
    Ok(Some(saved))
}

fn looks_saved(path: &Path) -> bool {
    use std::io::Read;
    let mut head = [0; 1];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == *b"{"
}

/// One run of a converging verb.
#[derive(Debug)]
pub struct Run {
    /// The verb.
    pub actor: &'static str,
    /// Do not ask.
    pub yes: bool,
    /// A document instead of text.
    pub json: bool,
    /// How long it may go on.
    pub patience: Patience,
    /// The plan to carry out exactly.
    pub saved: Option<Saved>,
}

impl Run {
    /// Plans, asks, converges, sums up.
    ///
    /// # Errors
    /// When no pass can be made, or the operator says no.
    pub fn go(&self, context: &Context, desired: &Desired, request: &Request) -> Result<Exit, CliError> {
        let machine = context.machine(true)?;
        let named = !request.again.is_empty();
        let unmanaged = request.trigger == Trigger::Apply && !named;
        let setup = context.setup(&machine, self.actor, Some(desired))?;
        let setup = Setup { unmanaged, thorough: named, ..setup };
        let reconciler = Reconciler::new(&machine, &setup)?;
        if !self.agreed(context, &reconciler, desired, request)? {
            context.output.message("nothing was done");
            return Ok(Exit::Error);
        }
        self.converge(context, &reconciler, desired, request)
    }

    /// Shows the plan and asks, again when it has changed meanwhile.
    fn agreed(
        &self,
        context: &Context,
        reconciler: &Reconciler<'_>,
        desired: &Desired,
        request: &Request,
    ) -> Result<bool, CliError> {
        let mut shown: Option<String> = None;
        loop {
            let mut situation = reconciler.look(desired)?;
            let plan = reconciler.plan_in_full(&mut situation, request);
            if let Some(saved) = &self.saved {
                let now = basis::basis(&reconciler.inputs(&situation, request), &plan);
                basis::check(&saved.basis, &now).map_err(|stale| CliError::Other(stale.to_string()))?;
            }
            let text = text::render(&plan, Style { color: context.output.colored(), ..Style::default() });
            let key = fingerprint(&plan);
            if shown.as_ref() == Some(&key) {
                return Ok(true);
            }
            if !self.json {
                context.output.data(&text)?;
            }
            if self.yes || !plan.items.iter().any(|item| item.action.effective()) {
                return Ok(true);
            }
            if !context.output.ask("Carry this out?")? {
                return Ok(false);
            }
            shown = Some(key);
        }
    }

    fn converge(
        &self,
        context: &Context,
        reconciler: &Reconciler<'_>,
        desired: &Desired,
        request: &Request,
    ) -> Result<Exit, CliError> {
        let quiet = self.json;
        let mut report = |done: &Done| {
            if !quiet {
                context.output.message(&line(done));
            }
        };
        let outcome = reconciler.converge(desired, request, self.patience, &mut report)?;
        if self.json {
            context.output.json(&summary(&outcome))?;
        } else {
            context.output.message(&closing(&outcome));
        }
        Ok(if outcome.interrupted {
            Exit::Interrupted
        } else if outcome.failed() || outcome.timed_out || outcome.plan.counters.unknown > 0 {
            Exit::SomeFailed
        } else {
            Exit::Ok
        })
    }
}

/// What a plan would do, without times: the same while an operator makes up their mind.
fn fingerprint(plan: &Plan) -> String {
    let items: Vec<_> = plan.items.iter().map(|item| (&item.session, &item.action)).collect();
    serde_json::to_string(&items).unwrap_or_default()
}

/// One thing done, as a line of progress.
#[must_use]
pub fn line(done: &Done) -> String {
    match &done.failure {
        None => format!("  ok      {:<16} {}", done.what, done.session),
        Some(words) => format!("  FAILED  {:<16} {}: {}", done.what, done.session, visible(words)),
    }
}

fn closing(outcome: &Outcome) -> String {
    let failed: Vec<&Done> = outcome.done.iter().filter(|done| done.failure.is_some()).collect();
    let mut lines = vec![format!("{} done, {} failed", outcome.done.len() - failed.len(), failed.len())];
    for done in failed {
        let words = done.failure.as_deref().map(visible).unwrap_or_default();
        lines.push(format!("  {} {}: {words}", done.what, done.session));
    }
    if outcome.plan.counters.unknown > 0 {
        let unknown = outcome.plan.counters.unknown;
        lines.push(format!("{unknown} could not be observed, and nothing was done to them; the plan says why"));
    }
    if outcome.interrupted {
        lines.push("interrupted: what had begun was finished; apply again for the rest".to_owned());
    }
    if outcome.timed_out {
        lines.push("timed out: apply again for the rest".to_owned());
    }
    lines.join("\n")
}

fn summary(outcome: &Outcome) -> serde_json::Value {
    serde_json::json!({
        "done": outcome.done,
        "failed": outcome.done.iter().filter(|done| done.failure.is_some()).count(),
        "interrupted": outcome.interrupted,
        "timed_out": outcome.timed_out,
    })
}
