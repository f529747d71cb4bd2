//! The truth table: from one session's three inputs to what is to be done about it.

use std::time::Duration;

use crate::config::desired::Session;
use crate::state::fields;
use crate::state::record::TOMBSTONE_DAYS;

use super::action::{Action, Cost, Item};
use super::aim::{self, Aim};
use super::begin::{Wanted, busy, ending};
use super::counters::Counters;
use super::reason::Reason;
use super::subject::{self, Life, Subject};
use super::verdict::{Case, Verdict};
use super::{Header, Inputs, PLAN_VERSION, Plan, Trigger, caps, lines, sources};

/// A launch whose shell has not reached it after this time is stuck.
pub const LAUNCH_STUCK: Duration = Duration::from_secs(30);

/// The plan of `inputs`. Pure: the same inputs give the same plan.
#[must_use]
pub fn plan(inputs: &Inputs<'_>) -> Plan {
    let subjects = subject::all(inputs);
    let others = sources::others(inputs, &subjects);
    let (selected, rest): (Vec<_>, Vec<_>) =
        subjects.into_iter().partition(|subject| inputs.request.selection.selects(subject.name, subject.want));
    let mut cases: Vec<Case<'_>> = selected
        .into_iter()
        .map(|subject| Case { verdict: verdict(&subject, inputs, others.as_ref()), subject })
        .collect();
    caps::apply(&mut cases, &rest, inputs);
    let items: Vec<Item> = cases.into_iter().flat_map(|case| lines::items(case, inputs, others.as_ref())).collect();
    let desired = inputs.desired;
    let header = Header {
        fleet: desired.fleet.clone(),
        sources: desired.sources.clone(),
        sources_stand: others.is_none(),
        revision: inputs.revision.clone(),
        sessions: desired.sessions.len(),
        socket: inputs.observed.socket.clone(),
        from_environment: desired.from_environment.clone(),
        at: inputs.now,
    };
    Plan { version: PLAN_VERSION, header, counters: Counters::of(&items), items }
}

/// What is to be done about one session, and what stands in the way.
fn verdict(subject: &Subject<'_>, inputs: &Inputs<'_>, others: Option<&Reason>) -> Verdict {
    if let Some(words) = subject.unknown(inputs) {
        return Verdict::unknown(words);
    }
    let mut verdict = match (aim::aim(subject, inputs), subject.want) {
        (Aim::Remove(why), _) => removed(subject, inputs, why),
        (Aim::Stop(why), _) => stopped(subject, why),
        (Aim::Run, Some(want)) => match unread(want, inputs) {
            Some(words) => return Verdict::unknown(words),
            None => running(&Wanted::new(subject, want, inputs)),
        },
        (Aim::Run, None) => Verdict::of(Action::Unchanged, Vec::new()),
    };
    if verdict.cost.destructive {
        verdict.obstacles.extend(others.cloned());
    }
    // A restart of what has ended reaps leftovers: what farhelm runs inside of may be among them.
    let ends = matches!(verdict.action, Action::Restart(_) | Action::Stop | Action::Reap);
    if ends && subject.memory.as_ref().is_some_and(|memory| Some(memory.id) == inputs.inside) {
        verdict.obstacles.push(Reason::Inside);
    }
    conflicts(subject, inputs, verdict)
}

/// What keeps farhelm's hands off a session altogether: somebody else's pane, two of it, or an operator's pause.
fn conflicts(subject: &Subject<'_>, inputs: &Inputs<'_>, mut verdict: Verdict) -> Verdict {
    let mut first = Vec::new();
    if let Some(pane) = subject.foreign.first() {
        first.push(Reason::OtherOwner { owner: pane.owner.clone(), pane: pane.pane.to_string() });
    }
    if let Some(what) = subject.several() {
        first.push(Reason::Several { what });
    }
    if let Some(pause) = aim::paused(subject, inputs) {
        if verdict.action == Action::Unchanged {
            verdict.why.insert(0, pause);
            verdict.frozen = true;
        } else {
            first.push(pause);
        }
    }
    verdict.frozen |= !first.is_empty();
    first.append(&mut verdict.obstacles);
    Verdict { obstacles: first, ..verdict }
}

/// A session that is in the files no more, or whose fleet goes down.
fn removed(subject: &Subject<'_>, inputs: &Inputs<'_>, why: Reason) -> Verdict {
    let Some(memory) = &subject.memory else { return Verdict::of(Action::Unchanged, vec![why]) };
    let policy = &inputs.desired.policy;
    let (prune, patient) = match inputs.request.trigger {
        // That was asked for; the files say nothing of it.
        _ if why == Reason::Dismissed => (true, false),
        Trigger::Apply => (policy.prune, false),
        Trigger::Watch => (policy.watch_prune, true),
        Trigger::Down => (true, false),
    };
    let mut verdict = Verdict::of(Action::Reap, vec![why]);
    if memory.record.is_none() {
        verdict.why.push(Reason::NoRecord);
    }
    let lasts = memory.conversation.is_some();
    verdict.cost = Cost {
        processes: subject.seen.map_or(0, |seen| seen.processes),
        memory: subject.seen.map_or(0, |seen| seen.memory),
        restorable_until_ms: lasts.then(|| inputs.now.wall_ms.saturating_add(TOMBSTONE_DAYS * 86_400_000)),
        destructive: true,
        ..ending(subject)
    };
    verdict.obstacles.extend(subject.protected().then_some(Reason::Protected));
    verdict.obstacles.extend((!prune).then_some(Reason::NoPrune));
    verdict.waits.extend(busy(subject).filter(|_| patient && subject.runs()));
    verdict
}

/// A session that is not to run.
fn stopped(subject: &Subject<'_>, why: Reason) -> Verdict {
    let leftovers = subject.memory.is_some() && subject.seen.is_some_and(|seen| !seen.leftovers.is_empty());
    let action = if subject.runs() || leftovers { Action::Stop } else { Action::Unchanged };
    Verdict { cost: ending(subject), ..Verdict::of(action, vec![why]) }
}

/// Why it is not known whether a file has changed whose change would restart the session.
fn unread(want: &Session, inputs: &Inputs<'_>) -> Option<String> {
    let paths = fields::watched(want).filter_map(fields::watched_path);
    paths.filter_map(|path| inputs.observed.contents.get(path)).find_map(|seen| seen.clone().err())
}

/// A session that is to run.
fn running(wanted: &Wanted<'_, '_>) -> Verdict {
    let nothing = |why| Verdict::of(Action::Unchanged, why);
    match wanted.subject.life() {
        Life::Several => nothing(Vec::new()),
        Life::Launching(_, since) if since <= LAUNCH_STUCK => wanted.under_way(since),
        Life::Launching(_, since) => wanted.stuck(since),
        Life::Alive(_) if wanted.changed.is_empty() && !wanted.subject.again => nothing(Vec::new()),
        Life::Alive(_) => wanted.replace(),
        Life::Never => wanted.first(),
        Life::Ended(end) => match wanted.rest(&end) {
            Some(rest) => nothing(vec![rest]),
            None => wanted.relaunch(&end),
        },
    }
}
