//! `plan`

use crate::plan::text::{self, Style};
use crate::plan::{self as planning, Plan, Request, basis, exit};
use crate::reconcile::pass::{Reconciler, Situation};

use super::args;
use super::context::{Context, globs, selection};
use super::error::CliError;
use super::exit::Exit;

/// Prints the plan.
///
/// # Errors
/// When the fleet or the state cannot be read.
pub fn run(context: &Context, args: &args::Plan) -> Result<Exit, CliError> {
    let loaded = context.load(&args.files)?;
    let desired = &loaded.desired;
    let machine = context.machine(false)?;
    let setup = context.setup(&machine, "plan", Some(desired))?;
    let request = Request {
        selection: selection(&args.select)?,
        now: args.now,
        allow_fresh: globs(&args.allow_fresh)?,
        max_reap: args.max_reap,
        take_over: args.take_over,
        ..Request::default()
    };
    let reconciler = Reconciler::new(&machine, &setup)?;
    let situation = reconciler.look(desired)?;
    let plan = reconciler.plan(desired, &situation, &request);
    if args.json {
        context.output.json(&plan)?;
    } else {
        let style = Style { all: args.all, brief: args.brief, color: context.output.colored() };
        context.output.data(&text::render(&plan, &style))?;
    }
    if let Some(file) = &args.out {
        save(file, &plan, desired, &situation)?;
    }
    Ok(if args.detailed_exitcode { detailed(&plan) } else { Exit::Ok })
}

fn detailed(plan: &Plan) -> Exit {
    match exit::detailed(&plan.counters) {
        exit::Detail::Nothing => Exit::Ok,
        exit::Detail::Changes => Exit::Changes,
        exit::Detail::Destructive => Exit::Destructive,
        exit::Detail::Unknown => Exit::Unknown,
    }
}

fn save(
    file: &std::path::Path,
    plan: &Plan,
    desired: &crate::config::desired::Desired,
    situation: &Situation,
) -> Result<(), CliError> {
    let saved = planning::saved::SavedPlan {
        plan: plan.clone(),
        basis: basis::of(desired, &situation.observed, &situation.recorded),
    };
    let text = serde_json::to_string_pretty(&saved).map_err(|error| CliError::Other(error.to_string()))?;
    std::fs::write(file, text + "\n")
        .map_err(|error| CliError::Other(format!("cannot write the plan to {}: {error}", file.display())))
}
