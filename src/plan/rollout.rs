//! Rollouts: how many running agents a change may restart at once, and which of them first.
//!
//! Nothing is remembered for it. A change is proven when an agent of the kind already runs well with the very values; it
//! has failed when one that was started with them ended by itself. So an interrupted rollout goes on where it was.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::config::desired::Session;
use crate::spec::name::Name;
use crate::state::fields::{self, Field};
use crate::state::record::{EndedHow, Phase, Record};

use super::reason::Reason;
use super::subject::Life;
use super::verdict::Case;
use super::{Inputs, Trigger, changes};

/// A change that would restart so many is first tried on one of them.
const MANY: usize = 3;
/// An agent that has run for so long has come up.
pub(crate) const WELL: Duration = Duration::from_secs(10);

/// Makes those restarts wait that come later.
pub(super) fn apply(cases: &mut [Case<'_>], inputs: &Inputs<'_>) {
    if inputs.request.trigger == Trigger::Watch {
        canaries(cases, inputs);
    }
    max_unavailable(cases, inputs);
}

/// One of each group of sessions that a change concerns goes first.
fn canaries(cases: &mut [Case<'_>], inputs: &Inputs<'_>) {
    let mut groups: BTreeMap<Change, Vec<usize>> = BTreeMap::new();
    for (index, case) in cases.iter().enumerate() {
        if let Some(change) = change(case, inputs) {
            groups.entry(change).or_default().push(index);
        }
    }
    for (change, group) in groups.into_iter().filter(|(_, group)| group.len() >= MANY) {
        let wait = match tried(&change, cases, inputs) {
            Tried::Well => continue,
            Tried::Failed(session) => Reason::CanaryFailed { session },
            Tried::Begun(session) => Reason::Canary { session },
            Tried::Never => {
                let going = || group.iter().filter(|index| cases[**index].verdict.goes());
                // The one whose end was begun already, where there is one.
                let first = going().find(|index| is_begun(&cases[**index])).or_else(|| going().next());
                let Some(first) = first.copied() else { continue };
                let session = cases[first].subject.name.clone();
                for index in group.iter().filter(|index| **index != first) {
                    cases[*index].verdict.waits.push(Reason::Canary { session: session.clone() });
                }
                continue;
            }
        };
        for index in group {
            match wait {
                Reason::CanaryFailed { .. } => cases[index].verdict.obstacles.push(wait.clone()),
                _ => cases[index].verdict.waits.push(wait.clone()),
            }
        }
    }
}

/// A change: the kind, the fields, and what they are to be.
type Change = (Name, Vec<(Field, Option<String>)>);

/// What would restart a running agent; none for what an operator asks for.
fn change(case: &Case<'_>, inputs: &Inputs<'_>) -> Option<Change> {
    let want = case.subject.want.filter(|_| !case.subject.again)?;
    let Life::Alive(_) = case.subject.life() else { return None };
    let fields: Vec<Field> = case.verdict.why.iter().filter_map(changed_field).collect();
    (!fields.is_empty()).then(|| (want.kind.clone(), values(want, &fields, inputs)))
}

fn changed_field(reason: &Reason) -> Option<Field> {
    match reason {
        Reason::Changed { field, .. } => Some(field.clone()),
        _ => None,
    }
}

fn values(want: &Session, fields: &[Field], inputs: &Inputs<'_>) -> Vec<(Field, Option<String>)> {
    // One salt for all, so that equal values are equal here.
    let hashes = fields::hashes(want, "", &inputs.observed.contents);
    fields.iter().map(|field| (field.clone(), hashes.get(field).cloned())).collect()
}

/// What is known of a change.
enum Tried {
    Never,
    Begun(Name),
    Failed(Name),
    Well,
}

fn tried(change: &Change, cases: &[Case<'_>], inputs: &Inputs<'_>) -> Tried {
    let (kind, wanted) = change;
    let fields: Vec<Field> = wanted.iter().map(|(field, _)| field.clone()).collect();
    let mut known = Tried::Never;
    for case in cases {
        let (Some(want), Some(memory)) = (case.subject.want, &case.subject.memory) else { continue };
        let Some(record) = memory.record.filter(|_| want.kind == *kind) else { continue };
        if values(want, &fields, inputs) != *wanted
            || !changes::changed(want, memory, &inputs.observed.contents).is_empty()
        {
            continue;
        }
        let name = || case.subject.name.clone();
        known = match (state(case, record, inputs), known) {
            (State::Well, _) => return Tried::Well,
            (State::Failed, _) => Tried::Failed(name()),
            (State::Young, Tried::Never) => Tried::Begun(name()),
            (_, known) => known,
        };
    }
    known
}

enum State {
    Well,
    Young,
    Failed,
    Other,
}

fn state(case: &Case<'_>, record: &Record, inputs: &Inputs<'_>) -> State {
    let age = record.launch().map(|launch| inputs.now.since(&launch.at)).unwrap_or_default();
    match case.subject.life() {
        Life::Alive(_) if age >= WELL => State::Well,
        Life::Alive(_) | Life::Launching(..) => State::Young,
        Life::Ended(ended) => match ended.how {
            EndedHow::Exited(status) if status != 0 => State::Failed,
            EndedHow::LaunchFailed(_) => State::Failed,
            _ => State::Other,
        },
        Life::Never | Life::Several => State::Other,
    }
}

/// At most so many of the sessions that are to run are down at once because of a change.
fn max_unavailable(cases: &mut [Case<'_>], inputs: &Inputs<'_>) {
    let Some(limit) = inputs.desired.policy.max_unavailable else { return };
    // Whoever applies follows each launch until it has lived for a moment.
    let settled = if inputs.request.trigger == Trigger::Watch { WELL } else { Duration::ZERO };
    let down = cases.iter().filter(|case| is_down(case, inputs, settled)).count();
    let restarts = |case: &&mut Case<'_>| change(case, inputs).is_some() && case.verdict.goes();
    let mut restarts: Vec<&mut Case<'_>> = cases.iter_mut().filter(restarts).collect();
    restarts.sort_by_key(|case| !is_begun(case));
    for case in restarts.into_iter().skip(limit.saturating_sub(down)) {
        case.verdict.waits.push(Reason::MaxUnavailable { limit });
    }
}

/// Whether its end was begun already.
fn is_begun(case: &Case<'_>) -> bool {
    let record = case.subject.memory.as_ref().and_then(|memory| memory.record);
    record.and_then(Record::launch).is_some_and(|launch| launch.phase == Phase::Stopping && launch.ended.is_none())
}

/// Whether a session that is to run does not, or not yet for long.
fn is_down(case: &Case<'_>, inputs: &Inputs<'_>, settled: Duration) -> bool {
    let launch = case.subject.memory.as_ref().and_then(|memory| memory.record).and_then(Record::launch);
    match case.subject.life() {
        Life::Alive(_) => launch.is_some_and(|launch| inputs.now.since(&launch.at) < settled),
        Life::Launching(..) => true,
        Life::Ended(_) => case.verdict.goes(),
        Life::Never | Life::Several => false,
    }
}
