//! From one session's verdict to the lines of the plan.

use crate::observe::observed::Evidence;
use crate::observe::silence::Silence;

use crate::agents::kind::Kind;

use super::action::{Action, ConversationFate, Item};
use super::reason::Reason;
use super::subject::{Life, Subject};
use super::verdict::{Case, Verdict, item};
use super::{Inputs, Trigger, changes, conversation, tabs};

/// The lines of one session, in the order in which they are carried out.
pub(super) fn items(case: Case<'_>, inputs: &Inputs<'_>, others: Option<&Reason>) -> Vec<Item> {
    let mut notes = notes(&case.subject, inputs);
    notes.extend(case.subject.kind.filter(|kind| begins(&case.verdict) && loses(kind)).map(Kind::unidentified));
    let parent = case.subject.want.and_then(|want| want.parent.as_ref()).filter(|_| starts(&case.verdict));
    notes.extend(parent.map(|parent| format!("{parent} asked for it")));
    let mut items = Vec::new();
    if !case.verdict.frozen && case.subject.want.is_some() && inputs.request.trigger != Trigger::Down {
        items = beside(&case, inputs, others);
    }
    let main = item(&case.subject, case.verdict);
    if main.action != Action::Unchanged || items.is_empty() {
        // After the record is there and has its name, before what changes in place and the tabs.
        let before = items.iter().filter(|item| matches!(item.action, Action::Move { .. } | Action::Adopt)).count();
        items.insert(before, main);
        items[before].notes = notes;
    } else if let Some(last) = items.last_mut() {
        last.notes = notes;
    }
    items
}

fn starts(verdict: &Verdict) -> bool {
    matches!(verdict.action, Action::Launch(_) | Action::Restart(_))
}

/// A conversation begins, and none is said to be lost for that.
fn begins(verdict: &Verdict) -> bool {
    let lost = matches!(verdict.cost.conversation, ConversationFate::Lost(_));
    starts(verdict) && !lost
}

/// An agent, not just any program, and none of whose conversations can be resumed.
fn loses(kind: &Kind) -> bool {
    !kind.executables.is_empty() && !kind.identifies()
}

/// What is done beside the main action: move, adopt, adjust, tabs.
fn beside(case: &Case<'_>, inputs: &Inputs<'_>, others: Option<&Reason>) -> Vec<Item> {
    let subject = &case.subject;
    let mut items = Vec::new();
    let mut add = |action, why| items.push(item(subject, Verdict::of(action, why)));
    if let Some(memory) = &subject.memory {
        let renamed = (memory.name != subject.name).then(|| Reason::Moved { from: memory.name.clone() });
        let fleet = inputs.desired.fleet.as_ref().filter(|fleet| *fleet != memory.fleet);
        let refleeted = fleet.map(|_| Reason::FleetMoved { from: memory.fleet.clone() });
        let moved: Vec<Reason> = renamed.into_iter().chain(refleeted).collect();
        if memory.record.is_none() {
            add(Action::Adopt, vec![Reason::NoRecord]);
        }
        if !moved.is_empty() {
            add(Action::Move { from: memory.name.clone() }, moved);
        }
    }
    let adjusted = changes::adjusted(subject, &inputs.desired.sources, others.is_none());
    if !adjusted.is_empty() {
        add(Action::Adjust, adjusted);
    }
    items.extend(tabs::items(case, inputs, others));
    items
}

/// Remarks that change nothing.
fn notes(subject: &Subject<'_>, inputs: &Inputs<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if let (Some(want), Some(memory), Life::Alive(_)) = (subject.want, &subject.memory, subject.life()) {
        notes.extend(conversation::prompt_note(want, memory));
        if memory.fields.is_none() {
            notes
                .push("launched by another version of farhelm: changes are seen again after the next apply".to_owned());
        }
    }
    notes.extend(subject.seen.and_then(|seen| seen.silence.as_ref()).and_then(|silence| match silence {
        Silence::Starting(_) => None,
        said => Some(said.words(subject.name)),
    }));
    let record = subject.memory.as_ref().and_then(|memory| memory.record);
    notes.extend(record.and_then(|record| record.launch()?.contradicted.clone()));
    if let (Some(_), Some(Evidence::TakenBy(other))) = (&subject.memory, subject.seen.map(|seen| &seen.conversation)) {
        notes.push(format!("conversation taken by {other}"));
    }
    for agent in inputs.observed.unmanaged.get(subject.name).into_iter().flatten() {
        notes.push(format!("unmanaged agent in its directory: {agent}"));
    }
    notes
}
