//! `children` and `dismiss`: what agents asked for, as an operator sees it.

use std::fmt::Write as _;

use crate::host::real::Machine;
use crate::plan::Request;
use crate::reconcile::pass::{Patience, Reconciler};
use crate::spec::name::Name;
use crate::spec::visible::visible;
use crate::state::children::Child;

use super::apply::Run;
use super::args::{Children, Named};
use super::context::{Context, globs};
use super::error::CliError;
use super::exit::Exit;
use super::{hold, session, table};

/// Lists what agents asked for, writes it as a fleet file would, or lets it stay.
///
/// # Errors
/// When the fleet or the state cannot be read, or a name is none of them.
pub fn run(context: &Context, args: &Children) -> Result<Exit, CliError> {
    let desired = context.load(&args.fleet.clone().into())?.desired;
    let machine: Machine = context.machine(false)?;
    let setup = context.setup(&machine, "children", Some(&desired))?;
    let reconciler = Reconciler::new(&machine, &setup)?;
    for (names, kept) in [(&args.keep, true), (&args.release, false)] {
        let names = names.iter().map(|text| Name::new(text.clone())).collect::<Result<Vec<_>, _>>();
        let names = names.map_err(|error| CliError::Usage(error.to_string()))?;
        if !names.is_empty() {
            known(&reconciler.keep(&desired, &names, kept)?)?;
        }
    }
    let children = reconciler.asked_for(&desired)?;
    if args.json {
        context.output.json(&children)?;
    } else if args.yaml {
        context.output.data(&yaml(&children))?;
    } else {
        context.output.data(&rows(&children))?;
    }
    Ok(Exit::Ok)
}

/// Ends what agents asked for; inside a session, what that session did.
///
/// # Errors
/// When a name is none of them; as `apply`.
pub fn dismiss(context: &Context, args: &Named) -> Result<Exit, CliError> {
    let names = hold::names(args)?;
    if session::is_inside(context) {
        return session::dismiss(context, &names);
    }
    let desired = context.load(&args.fleet.clone().into())?.desired;
    let machine = context.machine(false)?;
    let setup = context.setup(&machine, "dismiss", Some(&desired))?;
    known(&Reconciler::new(&machine, &setup)?.dismiss_any(&desired, &names)?)?;
    let mut request = Request::default();
    request.selection.only = globs(&args.names)?;
    let run = Run { actor: "dismiss", yes: true, json: false, patience: Patience::default(), saved: None };
    run.go(context, &desired, &request)
}

fn known(strange: &[Name]) -> Result<(), CliError> {
    match strange.first() {
        None => Ok(()),
        Some(name) => {
            Err(CliError::Other(format!("no agent asked for a session `{name}`; `farhelm children` lists those")))
        }
    }
}

fn rows(children: &[Child]) -> String {
    let mut rows = vec![["SESSION", "ASKED BY", "PROFILE", "STAYS", "DIR"].map(str::to_owned)];
    for child in children {
        let stays = if child.kept { "always" } else { "with it" };
        let dir = visible(&child.dir.display().to_string());
        rows.push([child.name.to_string(), child.parent.to_string(), child.profile.to_string(), stays.to_owned(), dir]);
    }
    table::lines(&rows)
}

/// The sessions as a fleet file has them. JSON's texts are YAML's, and `$` begins a variable there.
fn yaml(children: &[Child]) -> String {
    let text = |text: &str| serde_json::Value::from(text.replace('$', "$$")).to_string();
    let mut out = "sessions:\n".to_owned();
    for child in children {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {}:  # {} asked for it", child.name, child.parent);
        let _ = writeln!(out, "    profile: {}", text(child.profile.as_str()));
        let _ = writeln!(out, "    dir: {}", text(&child.dir.display().to_string()));
        for (key, value) in [("prompt", &child.prompt), ("title", &child.title)] {
            if let Some(value) = value {
                let _ = writeln!(out, "    {key}: {}", text(value));
            }
        }
    }
    if children.is_empty() { "sessions: {}\n".to_owned() } else { out }
}
