//! `plan`

use std::path::Path;
use std::sync::Arc;

use crate::plan::basis::{self, Saved};
use crate::plan::text::{self, Style};
use crate::plan::{Plan, Request};
use crate::reconcile::pass::{Reconciler, Setup};

use super::args;
use super::context::{Context, globs, selection};
use super::early::Early;
use super::error::CliError;
use super::exit::Exit;

/// Prints the plan.
///
/// # Errors
/// When the fleet or the state cannot be read.
pub fn run(context: &Context, args: &args::Plan) -> Result<Exit, CliError> {
    let machine = Arc::new(context.machine(false)?);
    let early = Early::begin(&machine, &context.state_dir(), context.socket());
    let loaded = context.load(&args.files)?;
    let desired = &loaded.desired;
    let setup = Setup { unmanaged: true, ..context.setup(&machine, "plan", Some(desired))? };
    let request = Request {
        selection: selection(&args.select)?,
        now: args.now,
        allow_fresh: globs(&args.allow_fresh)?,
        max_reap: args.max_reap,
        take_over: args.take_over,
        ..Request::default()
    };
    let reconciler = Reconciler::new(&*machine, &setup)?;
    let mut situation = reconciler.look_from(desired, || early.reading())?;
    let plan = reconciler.plan_in_full(&mut situation, &request);
    if args.json {
        context.output.json(&plan)?;
    } else {
        let style = Style { all: args.all, brief: args.brief, color: context.output.colored() };
        context.output.data(&text::render(&plan, style))?;
    }
    if let Some(file) = &args.out {
        let basis = basis::basis(&reconciler.inputs(&situation, &request), &plan);
        save(file, &Saved { plan: plan.clone(), basis })?;
    }
    Ok(if args.detailed_exitcode { detailed(&plan) } else { Exit::Ok })
}

fn detailed(plan: &Plan) -> Exit {
    [Exit::Changes, Exit::Destructive, Exit::Unknown]
        .into_iter()
        .find(|exit| exit.code() == plan.counters.detailed_exit_code())
        .unwrap_or(Exit::Ok)
}

fn save(file: &Path, saved: &Saved) -> Result<(), CliError> {
    let text = serde_json::to_string_pretty(saved).map_err(|error| CliError::Other(error.to_string()))?;
    std::fs::write(file, text + "\n")
        .map_err(|error| CliError::Other(format!("cannot write the plan to {}: {error}", file.display())))
}
