//! Tabs: opened while their session runs, closed when they are removed or changed, left alone when they ended.

use crate::config::desired::{EnvValue, Tab};
use crate::observe::observed::TabSeen;
use crate::spec::name::Name;
use crate::state::digest;
use crate::state::record::Record;

use super::action::{Action, Cost, Item};
use super::reason::Reason;
use super::verdict::{Case, Verdict, item};
use super::{Inputs, Trigger};

/// Hash of a tab's definition, as records keep it. The salt is the record's.
#[must_use]
pub fn definition(tab: &Tab, salt: &str) -> String {
    let mut parts = vec![salt.to_owned(), if tab.run.is_some() { "run" } else { "shell" }.to_owned()];
    parts.extend(tab.run.iter().flatten().cloned());
    parts.push("dir".to_owned());
    parts.extend(tab.dir.iter().map(|dir| dir.spelling.clone()));
    parts.push("env".to_owned());
    for (name, value) in &tab.env {
        parts.push(name.clone());
        parts.push(match value {
            EnvValue::Literal(text) => text.clone(),
            // A plain data type with string keys: serialising it cannot fail.
            EnvValue::Secret(reference) => serde_json::to_string(reference).unwrap_or_default(),
        });
    }
    digest::short("", &parts)
}

/// What is to be done about a session's tabs. `others`: the files are not the fleet's own, so that nothing is closed.
pub(super) fn items(case: &Case<'_>, inputs: &Inputs<'_>, others: Option<&Reason>) -> Vec<Item> {
    let (subject, verdict) = (&case.subject, &case.verdict);
    let Some(want) = subject.want else { return Vec::new() };
    let starting = verdict.goes() && matches!(verdict.action, Action::Launch(_) | Action::Restart(_));
    let ending = verdict.goes() && matches!(verdict.action, Action::Stop | Action::Reap);
    let running = starting || (subject.runs() && !ending);
    let record = subject.memory.as_ref().and_then(|memory| memory.record);
    let is_open = |tab: &Name| matches!(subject.seen.and_then(|s| s.tabs.get(tab)), Some(TabSeen::Open { .. }));
    let close = |tab: &Name, why| close(case, inputs, others, tab, why);
    let mut items = Vec::new();

    let seen = subject.memory.as_ref().and(subject.seen);
    for tab in seen.iter().flat_map(|seen| seen.tabs.keys()).filter(|tab| !want.tabs.contains_key(*tab)) {
        if is_open(tab) {
            items.push(close(tab, Reason::TabRemoved { tab: tab.clone() }));
        }
    }
    for (tab, wanted) in &want.tabs {
        let changed = record.is_some_and(|record| differs(record, tab, wanted));
        let known = record.is_some_and(|record| record.tabs.contains_key(tab));
        let mut why = Reason::TabMissing { tab: tab.clone() };
        if seen.is_some() && is_open(tab) {
            if !changed {
                continue;
            }
            why = Reason::TabChanged { tab: tab.clone() };
            items.push(close(tab, why.clone()));
            if items.last().is_some_and(|item| !item.action.effective()) {
                continue;
            }
        }
        // A missing tab is drift; `watch` leaves it until the next launch, unless it is a new one.
        if running && (starting || changed || !known || inputs.request.trigger != Trigger::Watch) {
            items.push(item(subject, Verdict::of(Action::OpenTab(tab.clone()), vec![why])));
        }
    }
    items
}

fn differs(record: &Record, name: &Name, tab: &Tab) -> bool {
    // A record rebuilt from stamps does not know; that is no difference.
    let known = record.tabs.get(name).filter(|known| !known.definition.is_empty());
    known.is_some_and(|known| known.definition != definition(tab, &record.salt))
}

fn close(case: &Case<'_>, inputs: &Inputs<'_>, others: Option<&Reason>, tab: &Name, why: Reason) -> Item {
    let mut verdict = Verdict::of(Action::CloseTab(tab.clone()), vec![why]);
    verdict.cost = Cost { destructive: true, ..Cost::default() };
    verdict.obstacles.extend(others.cloned());
    if case.subject.memory.as_ref().is_some_and(|memory| Some(memory.id) == inputs.inside) {
        verdict.obstacles.push(Reason::Inside);
    }
    item(&case.subject, verdict)
}
