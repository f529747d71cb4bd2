//! `conversations`

use crate::plan::conversations::{self, Known};
use crate::plan::units;
use crate::reconcile::pass::{Reconciler, Setup};
use crate::spec::visible::visible;
use crate::state::record::Provenance;

use super::args;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::table;

/// Lists the stored conversations, those of reaped sessions too.
///
/// # Errors
/// When the fleet or the state cannot be read.
pub fn run(context: &Context, args: &args::Conversations) -> Result<Exit, CliError> {
    let loaded = context.load(&args.fleet.clone().into())?;
    let machine = context.machine(false)?;
    let setup = Setup { thorough: true, ..context.setup(&machine, "conversations", Some(&loaded.desired))? };
    let reconciler = Reconciler::new(&machine, &setup)?;
    let situation = reconciler.look(&loaded.desired)?;
    let known = conversations::all(&situation.observed, &situation.recorded);
    if args.json {
        context.output.json(&serde_json::json!({ "fleet": loaded.desired.fleet, "conversations": known }))?;
    } else {
        context.output.data(&text(&known, situation.observed.at.wall_ms))?;
    }
    Ok(Exit::Ok)
}

fn text(known: &[Known], now_ms: i64) -> String {
    let head = ["SESSION", "KIND", "CONVERSATION", "KNOWN", "STATE"].map(str::to_owned);
    let rows = known.iter().map(|one| {
        let state = if one.words.is_empty() { one.state.to_owned() } else { format!("{}: {}", one.state, one.words) };
        let session = if one.reaped { format!("{} (reaped)", one.session) } else { one.session.to_string() };
        let id = one.id.as_deref().map_or_else(|| "-".to_owned(), visible);
        [session, one.kind.to_string(), id, how(one, now_ms), visible(&state)]
    });
    table::lines(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
}

/// `reported 3h ago`.
pub(super) fn how(known: &Known, now_ms: i64) -> String {
    let word = match known.known {
        None => return "-".to_owned(),
        Some(Provenance::Reported) => "reported",
        Some(Provenance::Assigned) => "assigned",
    };
    known.at_ms.map_or_else(|| word.to_owned(), |at| format!("{word} {} ago", units::span(units::since(at, now_ms))))
}
